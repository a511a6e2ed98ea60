"""Hooks that look at values: LoggingTensorHook, NanTensorHook, FinalOpsHook, FeedFnHook."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.platform import tf_logging as logging
from stillflow.train.hook_timer import HookTimer, NeverTriggerTimer, SecondOrStepTimer
from stillflow.train.session_run_hook import SessionRunArgs, SessionRunHook


@export("train.LoggingTensorHook")
class LoggingTensorHook(SessionRunHook):
    """Logs the values of tensors.

    Args:
      tensors: a dict of tensors, or names of them, by label; or a list of names.
      every_n_iter: how often, in runs.
      every_n_secs: how often, in seconds.
      at_end: whether to log at the end.
      formatter: makes the text of a dict of values; a list of labels and values if None.

    Raises:
      ValueError: if it is not said when to log, or said twice.
    """

    def __init__(
        self, tensors: Any, every_n_iter: int | None = None, every_n_secs: float | None = None,
        at_end: bool = False, formatter: Any = None,
    ) -> None:  # fmt: skip
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be "
                "provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        is_dict = isinstance(tensors, dict)
        self._tag_order = sorted(tensors.keys()) if is_dict else tensors
        self._tensors = tensors if is_dict else {item: item for item in tensors}
        self._formatter = formatter
        self._timer: HookTimer = NeverTriggerTimer()
        if not only_at_end:
            self._timer = SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_iter)
        self._log_at_end = at_end

    def begin(self) -> None:
        self._timer.reset()
        self._iter_count = 0
        self._current_tensors = {
            tag: _as_graph_element(tensor) for tag, tensor in self._tensors.items()
        }

    def before_run(self, run_context: Any) -> Any:
        self._should_trigger = self._timer.should_trigger_for_step(self._iter_count)
        return SessionRunArgs(self._current_tensors) if self._should_trigger else None

    def _log_tensors(self, tensor_values: Any) -> None:
        elapsed, _ = self._timer.update_last_triggered_step(self._iter_count)
        with np.printoptions(suppress=True):
            if self._formatter:
                logging.info(self._formatter(tensor_values))
                return
            text = ", ".join(f"{tag} = {tensor_values[tag]!s}" for tag in self._tag_order)
            if elapsed is None:
                logging.info("%s", text)
            else:
                logging.info("%s (%.3f sec)", text, elapsed)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if self._should_trigger:
            self._log_tensors(run_values.results)
        self._iter_count += 1

    def end(self, session: Any) -> None:
        if self._log_at_end:
            self._log_tensors(session.run(self._current_tensors))


@export("train.NanLossDuringTrainingError")
class NanLossDuringTrainingError(RuntimeError):
    """Error of a training whose loss is NaN."""

    def __str__(self) -> str:
        return "NaN loss during training."


@export("train.NanTensorHook")
class NanTensorHook(SessionRunHook):
    """Hook that ends training when the loss is NaN.

    Args:
      loss_tensor: the loss.
      fail_on_nan_loss: whether that is an error.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss_tensor = loss_tensor
        self._fail_on_nan_loss = fail_on_nan_loss

    def before_run(self, run_context: Any) -> Any:
        return SessionRunArgs(self._loss_tensor)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if not np.isnan(run_values.results):
            return
        message = "Model diverged with loss = NaN."
        if self._fail_on_nan_loss:
            logging.error(message)
            raise NanLossDuringTrainingError
        logging.warning(message)
        run_context.request_stop()


@export("train.FinalOpsHook")
class FinalOpsHook(SessionRunHook):
    """Hook that runs tensors at the end.

    Args:
      final_ops: what to run, in any structure.
      final_ops_feed_dict: fed to it.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._final_ops = final_ops
        self._final_ops_feed_dict = final_ops_feed_dict
        self._final_ops_values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values of the final operations; None before the end."""
        return self._final_ops_values

    def end(self, session: Any) -> None:
        if self._final_ops is None:
            return
        try:
            self._final_ops_values = session.run(
                self._final_ops, feed_dict=self._final_ops_feed_dict
            )
        except (errors.OutOfRangeError, StopIteration):
            logging.warning(
                "An OutOfRangeError or StopIteration exception is raised by the operations of a "
                "FinalOpsHook: they have a dependency back to some input source, which has ended. "
                "They should depend on variables only: in tf.metrics, on `value_op`, not on "
                "`update_op`."
            )
            raise


@export("train.FeedFnHook")
class FeedFnHook(SessionRunHook):
    """Hook that feeds the result of a function.

    Args:
      feed_fn: returns a dict of values by tensor, called for each run.
    """

    def __init__(self, feed_fn: Any) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: Any) -> Any:
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())


def _as_graph_element(obj: Any) -> Any:
    """Return the tensor of a name, the first output if it is one of an operation."""
    graph = get_default_graph()
    if not isinstance(obj, str):
        if getattr(obj, "graph", None) != graph:
            raise ValueError(
                f"Passed {obj} should have graph attribute that is equal to current graph {graph}."
            )
        return obj
    if ":" in obj:
        return graph.as_graph_element(obj)
    element = graph.as_graph_element(f"{obj}:0")
    try:
        graph.as_graph_element(f"{obj}:1")
    except (KeyError, ValueError):
        return element
    raise ValueError(
        f"Name {obj} is ambiguous, as this `Operation` has multiple outputs (at least 2)."
    )
