"""Hooks of training: final operations, and early stopping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow.train.session_run_hook import SessionRunHook

LOSS_NAME = "rf_training_loss"


@export("contrib.tensor_forest.random_forest.TensorForestRunOpAtEndHook")
class TensorForestRunOpAtEndHook(SessionRunHook):
    """Hook that runs operations before a session ends, and logs their results.

    Args:
      op_dict: operations or tensors; they run in the order of their names.
    """

    def __init__(self, op_dict: Mapping[str, Any]) -> None:
        self._ops = op_dict

    def end(self, session: Any) -> None:
        for name in sorted(self._ops):
            logging.info(f"{name}: {session.run(self._ops[name])}")


@export("contrib.tensor_forest.random_forest.TensorForestLossHook")
class TensorForestLossHook(SessionRunHook):
    """Hook that stops training when the loss has ceased to fall.

    Args:
      early_stopping_rounds: after how many steps.
      early_stopping_loss_threshold: by which share a loss has to be smaller to count.
      loss_op: the loss; the tensor of the operation `rf_training_loss` if None.
    """

    def __init__(
        self, early_stopping_rounds: int, early_stopping_loss_threshold: Any = None,
        loss_op: Any = None,
    ) -> None:  # fmt: skip
        self.early_stopping_rounds = early_stopping_rounds
        self.early_stopping_loss_threshold = early_stopping_loss_threshold
        self.loss_op = loss_op
        self.min_loss: Any = None
        self.last_step: Any = -1
        self.steps = 0  # how many steps the loss has not fallen

    def before_run(self, run_context: Any) -> Any:
        loss = self.loss_op
        if loss is None:
            loss = run_context.session.graph.get_operation_by_name(LOSS_NAME).outputs[0]
        return tf.train.SessionRunArgs(
            {"global_step": tf.train.get_global_step(), "current_loss": loss}
        )

    def after_run(self, run_context: Any, run_values: Any) -> None:
        loss, step = run_values.results["current_loss"], run_values.results["global_step"]
        self.steps += 1
        if self.last_step == -1 or self.last_step > step:  # the first one, or after a recovery
            logging.info("TensorForestLossHook resetting last_step.")
            self.last_step, self.steps, self.min_loss = step, 0, None
            return
        self.last_step = step
        share = self.early_stopping_loss_threshold
        if self.min_loss is None or loss < self.min_loss - self.min_loss * share:
            self.min_loss, self.steps = loss, 0
        if self.steps > self.early_stopping_rounds:
            logging.info("TensorForestLossHook requesting stop.")
            run_context.request_stop()
