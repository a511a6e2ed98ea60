"""Saved positions of iterators: in a model's checkpoint, or in a separate one."""

from __future__ import annotations

from typing import Any

from stillflow.data.iterator import GLOBAL_ITERATORS, IteratorSaveable
from stillflow.graph.api import get_collection
from stillflow.graph.export import export
from stillflow.train.checkpoint_management import latest_checkpoint
from stillflow.train.saver import Saver
from stillflow.train.saving_hooks import CheckpointSaverHook
from stillflow.train.session_run_hook import SessionRunHook


def _saveable(iterator_resource: Any) -> IteratorSaveable:
    return IteratorSaveable(iterator_resource, iterator_resource.name, "-state")


@export("data.experimental.make_saveable_from_iterator", "contrib.data.make_saveable_from_iterator")
def make_saveable_from_iterator(iterator: Any) -> IteratorSaveable:
    """Return a saveable of an iterator's position for `tf.train.Saver`.

    Add it to the collection `SAVEABLE_OBJECTS`, or pass it to the saver. A restored iterator goes
    on where the saved one was; it has to be initialized before.

    Args:
      iterator: a `tf.data.Iterator`.
    """
    return _saveable(iterator._iterator_resource)


class _StateFileSaver(Saver):
    """A saver whose list of checkpoints is in a file of its own."""

    def __init__(self, saveables: Any, latest_filename: str) -> None:
        super().__init__(saveables)
        self._latest_filename = latest_filename

    def save(
        self, sess: Any, save_path: Any, global_step: Any = None, latest_filename: Any = None,
        *args: Any, **kwargs: Any,
    ) -> str | None:  # fmt: skip
        latest = latest_filename or self._latest_filename
        return super().save(sess, save_path, global_step, latest, *args, **kwargs)


@export("data.experimental.CheckpointInputPipelineHook", "contrib.data.CheckpointInputPipelineHook")
class CheckpointInputPipelineHook(SessionRunHook):
    """Hook that saves the positions of a graph's iterators next to the model's checkpoints.

    Training that is resumed then goes on with the elements that follow. The checkpoints hold
    nothing but the iterators: `input.ckpt-<step>`, listed in `checkpoint_input`.
    """

    def __init__(self, estimator: Any) -> None:
        """Make a hook that saves as often and where an estimator saves its model.

        Args:
          estimator: a `tf.estimator.Estimator`.

        Raises:
          ValueError: unless the estimator's configuration says how often to save.
        """
        config = estimator._config
        prefix = "input"
        if config.num_worker_replicas > 1:
            prefix += f"_{config.task_type}_{config.task_id}"
        # A part and no base class: estimators look for hooks of that class.
        self._checkpoint_saver_hook = CheckpointSaverHook(
            estimator.model_dir,
            save_secs=config.save_checkpoints_secs,
            save_steps=config.save_checkpoints_steps,
            checkpoint_basename=f"{prefix}.ckpt",
        )
        self._latest_filename = f"checkpoint_{prefix}"
        self._first_run = True

    def begin(self) -> None:
        hook = self._checkpoint_saver_hook
        if hook._saver is None and hook._scaffold is None:
            saveables = [_saveable(resource) for resource in get_collection(GLOBAL_ITERATORS)]
            hook._saver = _StateFileSaver(saveables, self._latest_filename)
        hook.begin()

    def _restore_or_save_first(self, session: Any) -> None:
        hook = self._checkpoint_saver_hook
        path = latest_checkpoint(hook._checkpoint_dir, latest_filename=self._latest_filename)
        if path:
            hook._get_saver().restore(session, path)
            return
        step = session.run(hook._global_step_tensor)
        hook._save(session, step)
        hook._timer.update_last_triggered_step(step)

    def before_run(self, run_context: Any) -> Any:
        if self._first_run:  # other hooks have started the iterators by now
            self._restore_or_save_first(run_context.session)
            self._first_run = False
        return self._checkpoint_saver_hook.before_run(run_context)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._checkpoint_saver_hook.after_run(run_context, run_values)

    def end(self, session: Any) -> None:
        self._checkpoint_saver_hook.end(session)
