"""Distribution of a batch's results to its runs, and collection of gradients."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from stillflow import errors
from stillflow.graph.arrays import Array
from stillflow.graph.lazy import torch

_MICRO = 1e-6


class _Waiter:
    """Run that waits for the results of its key."""

    def __init__(self) -> None:
        self.value: Any = None
        self.error: errors.OpError | None = None
        self.done = threading.Lock()
        self.done.acquire()

    def get(self, waits: Any, cancel: Any) -> Any:
        """Return the value, once it is there."""
        waits.wait(self.done, cancel)
        if self.error is not None:
            raise self.error
        return self.value


def _message(kind: Any, text: str) -> errors.OpError:
    error: errors.OpError = kind(None, None, text)
    return error


class Parts:
    """Parts of batches by the keys of the runs that they belong to.

    Args:
      timeout_micros: how long runs wait for parts, and parts for runs.
    """

    def __init__(self, timeout_micros: int) -> None:
        self._seconds = timeout_micros * _MICRO
        self._lock = threading.Lock()
        self._parts: dict[int, Any] = {}
        self._waiting: dict[int, _Waiter] = {}

    def take(self, key: int, parts: dict[int, Any], waits: Any) -> torch.Tensor | Array:
        """Return the part of a run.

        Args:
          key: of the run.
          parts: those of all runs of the batch, where this run has them.
          waits: how the run waits.

        Raises:
          AlreadyExistsError: if there are two runs, or two parts, of a key.
          DeadlineExceededError: if the part does not come in time.
        """
        with self._lock:
            if key in self._parts:
                return self._parts.pop(key)
            if key in self._waiting:
                raise _message(
                    errors.AlreadyExistsError, "Multiple session runs with the same batch key."
                )
            waiter = self._waiting[key] = _Waiter()
            late = self._hand_out(parts)
        if late:
            self._later(lambda: self._forget(late))
        if waiter.value is None:
            timeout = _message(
                errors.DeadlineExceededError, "Batched data did not arrive within timeout window."
            )
            self._later(lambda: self._cancel(key, waiter, timeout))
        return waiter.get(waits, lambda error: self._cancel(key, waiter, error))

    def _hand_out(self, parts: dict[int, Any]) -> dict[int, Any]:
        """Give parts to waiting runs; return the parts for which no run waits yet."""
        late = {}
        for key, part in parts.items():
            waiter = self._waiting.pop(key, None)
            if waiter is not None:
                waiter.value = part
                waiter.done.release()
            elif key in self._parts:
                raise _message(
                    errors.AlreadyExistsError, "Multiple tensors returned for same batch key."
                )
            else:
                late[key] = self._parts[key] = part
        return late

    def _later(self, call: Any) -> None:
        timer = threading.Timer(self._seconds, call)
        timer.daemon = True
        timer.start()

    def _forget(self, parts: dict[int, Any]) -> None:
        """Discard parts whose runs have not come."""
        with self._lock:
            for key, part in parts.items():
                if self._parts.get(key) is part:
                    del self._parts[key]

    def _cancel(self, key: int, waiter: _Waiter, error: errors.OpError) -> None:
        with self._lock:
            if self._waiting.get(key) is not waiter:
                return
            del self._waiting[key]
            waiter.error = error
        waiter.done.release()


@dataclass
class _Wish:
    """A batch whose run waits for gradients of other runs."""

    keys: list[int]
    waiter: _Waiter = field(default_factory=_Waiter)


class Gathering:
    """Gradients of runs, combined in the run that computed their batch."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._grads: dict[int, Any] = {}
        self._wishes: dict[int, _Wish] = {}  # by the key of the run that waits

    def add(self, key: int, grad: Any, keys: list[int] | None, waits: Any) -> list[Any] | None:
        """Add the gradient of a run; give those of its batch if it has computed it, else None.

        Args:
          key: of the run.
          grad: its gradient.
          keys: those of all runs of the batch, where this run computed it.
          waits: how the run waits.

        Raises:
          InvalidArgumentError: if there are two runs of a key.
        """
        with self._lock:
            if key in self._grads:
                raise errors.invalid_argument("Two runs with the same batch key.")
            self._grads[key] = grad
            if keys is not None:
                wish = self._wishes[key] = _Wish(keys)
            for owner, each in list(self._wishes.items()):
                if all(one in self._grads for one in each.keys):
                    each.waiter.value = [self._grads.pop(one) for one in each.keys]
                    each.waiter.done.release()
                    del self._wishes[owner]
        if keys is None:
            return None
        found: list[Any] = wish.waiter.get(waits, lambda error: self._cancel(key, wish, error))
        return found

    def _cancel(self, key: int, wish: _Wish, error: errors.OpError) -> None:
        with self._lock:
            if self._wishes.get(key) is not wish:
                return
            del self._wishes[key]
            wish.waiter.error = error
        wish.waiter.done.release()
