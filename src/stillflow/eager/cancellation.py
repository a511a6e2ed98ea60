"""`tensorflow.python.eager.cancellation`: calls of functions that another thread can end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import errors
from stillflow.runtime.interrupts import Interrupt, interrupted_by


class CancellationManager:
    """Cancellation of waiting function calls, and of all later ones that it has wrapped."""

    def __init__(self) -> None:
        self._interrupt = Interrupt()

    @property
    def is_cancelled(self) -> bool:
        """True once `start_cancel` was called."""
        return self._interrupt.error is not None

    def start_cancel(self) -> None:
        """Cancel all calls."""
        if not self.is_cancelled:
            self._interrupt.leave(errors.cancelled("Function execution was cancelled"))

    def get_cancelable_function(self, concrete_function: Any) -> Callable[..., Any]:
        """Return a function whose calls raise `CancelledError` once this manager has cancelled.

        Args:
          concrete_function: the function to call.
        """

        def cancelable(*args: Any, **kwargs: Any) -> Any:
            self._interrupt.check()
            with interrupted_by(self._interrupt):
                return concrete_function(*args, **kwargs)

        return cancelable
