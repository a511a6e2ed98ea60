"""Base of optimizers that apply gradients by another one."""

from __future__ import annotations

from typing import Any

from stillflow.train.optimizer import Optimizer


class WrappingOptimizer(Optimizer):
    """An optimizer whose gradients and slots are those of another one.

    Args:
      opt: the other optimizer.
      use_locking: whether updates hold the variable's lock.
      name: of the operations.
    """

    def __init__(self, opt: Any, use_locking: bool, name: str) -> None:
        super().__init__(use_locking, name)
        self._opt = opt

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Those of the other optimizer."""
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """Return a slot of the other optimizer."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """Return the names of the other optimizer's slots."""
        return self._opt.get_slot_names(*args, **kwargs)
