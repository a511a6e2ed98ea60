"""The training of an estimator of `tf.contrib.learn`: the session, its hooks and the loop."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import add_to_collection, get_collection
from stillflow.graph.graph_keys import GraphKeys
from stillflow.train.logging_hooks import LoggingTensorHook, NanTensorHook
from stillflow.train.monitored_session import MonitoredTrainingSession
from stillflow.train.saver import Saver
from stillflow.train.saving_hooks import CheckpointSaverHook
from stillflow.train.scaffold import Scaffold


def train(
    config: Any, session_config: Any, model_dir: str, model: Any, hooks: list[Any], step: Any
) -> Any:
    """Make steps until a hook or the input ends it.

    Args:
      config: the settings of the run.
      session_config: the `ConfigProto` of the session.
      model_dir: the folder of checkpoints and event files.
      model: the `ModelFnOps`.
      hooks: of the caller.
      step: the tensor of the global step.

    Returns:
      The loss of the last step; None if there was none.
    """
    add_to_collection(GraphKeys.LOSSES, model.loss)
    watched = {"loss": model.loss, "step": step}
    hooks = [*hooks, NanTensorHook(model.loss), LoggingTensorHook(watched, every_n_iter=100)]
    scaffold = model.scaffold or Scaffold()
    if not (scaffold.saver or get_collection(GraphKeys.SAVERS)):
        saver = Saver(
            sharded=True, max_to_keep=config.keep_checkpoint_max,
            keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours, defer_build=True,
            save_relative_paths=True,
        )  # fmt: skip
        add_to_collection(GraphKeys.SAVERS, saver)
    secs, steps = config.save_checkpoints_secs, config.save_checkpoints_steps
    given = [*hooks, *model.training_hooks, *model.training_chief_hooks]
    chief_hooks = []
    if (secs or steps) and not any(isinstance(hook, CheckpointSaverHook) for hook in given):
        chief_hooks.append(
            CheckpointSaverHook(model_dir, save_secs=secs, save_steps=steps, scaffold=scaffold)
        )
    with MonitoredTrainingSession(
        master=config.master, is_chief=config.is_chief, checkpoint_dir=model_dir,
        scaffold=scaffold, hooks=[*hooks, *model.training_hooks],
        chief_only_hooks=[*chief_hooks, *model.training_chief_hooks], save_checkpoint_secs=0,
        save_summaries_steps=config.save_summary_steps, config=session_config,
        max_wait_secs=config.session_creation_timeout_secs,
    ) as session:  # fmt: skip
        loss = None
        while not session.should_stop():
            _, loss = session.run([model.train_op, model.loss])
    return loss
