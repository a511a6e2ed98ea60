"""Optimizers of `tf.train` in models of Keras."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import name_scope
from stillflow.keras.backend.variables import variable
from stillflow.train.tracking.base import Trackable


class TFOptimizer(Trackable):
    """An optimizer of `tf.train` with the interface of Keras' optimizers.

    Args:
      optimizer: the optimizer.
      iterations: the variable that counts steps; a new one by default.
    """

    def __init__(self, optimizer: Any, iterations: Any = None) -> None:
        self.optimizer = optimizer
        self.updates: list[Any] = []
        self._track_trackable(optimizer, name="optimizer")
        if iterations is None:
            with name_scope(type(self).__name__):
                iterations = variable(0, dtype="int64", name="iterations")
        self.iterations = iterations
        self._track_trackable(iterations, name="global_step")

    def get_grads(self, loss: Any, params: Any) -> Any:
        """Pairs (gradient, variable)."""
        return self.optimizer.compute_gradients(loss, params)

    def apply_gradients(self, grads: Any) -> None:
        """Apply gradients and count the step."""
        self.optimizer.apply_gradients(grads, global_step=self.iterations)

    def get_updates(self, loss: Any, params: Any) -> list[Any]:
        """Return the updates of the variables that reduce the loss."""
        if not params:
            self.updates = [self.iterations.assign_add(1)]
        else:
            grads = self.optimizer.compute_gradients(loss, params)
            applied = self.optimizer.apply_gradients(grads, global_step=self.iterations)
            self.updates = [applied]
        return self.updates

    @property
    def weights(self) -> list[Any]:
        """Not known: the optimizer makes its variables when it is first used.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError

    def from_config(self, config: Any) -> Any:
        """Not known.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Not known.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError
