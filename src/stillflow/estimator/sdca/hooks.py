"""Hook that gives variables the trained weights."""

from __future__ import annotations

from typing import Any

from stillflow.train.session_run_hook import SessionRunArgs, SessionRunHook


class UpdateWeightsHook(SessionRunHook):
    """Updates the weights of a model after each step; only the chief needs it.

    Args:
      model: has `update_weights`.
      train_op: what its `minimize` returned.
    """

    def __init__(self, model: Any = None, train_op: Any = None) -> None:
        self.set_parameters(model, train_op)

    def set_parameters(self, model: Any, train_op: Any) -> None:
        """Set the missing arguments of the constructor."""
        self._model, self._train_op = model, train_op

    def begin(self) -> None:
        """Make the operation."""
        self._update_op = self._model.update_weights(self._train_op)

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Asks for it."""
        return SessionRunArgs(self._update_op)
