"""Values between tasks of which one is TensorFlow's: it asks for them, by step and key."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from functools import partial
from typing import Any, NamedTuple

from stillflow import errors
from stillflow.ops.send_recv import arrival_name
from stillflow.runtime.cluster import tensor_coding
from stillflow.runtime.cluster.grpc_client import as_error, caller
from stillflow.runtime.cluster.grpc_port import WORKER, file
from stillflow.runtime.interrupts import current_interrupt
from stillflow.runtime.plan.crossings import DEAD
from stillflow.util.interpreter_exit import Resting

# Finished steps, whose late values are discarded; older ones are forgotten.
_REMEMBERED = 4096
# The error of another task's step comes from the master, too, which names its cause.
_MASTER_SECONDS = 2.0

_Sent = Future[bytes]


class Rendezvous:
    """Values that this task has sent, as the answers to other tasks that ask for them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: dict[int, dict[str, _Sent]] = {}
        self._over: OrderedDict[int, None] = OrderedDict()

    def put(self, step: int, key: str, answer: bytes) -> None:
        """Store a value."""
        place = self._place(step, key)
        if place is not None:
            with contextlib.suppress(InvalidStateError):
                place.set_result(answer)

    def take(self, step: int, key: str) -> bytes:
        """Remove and return a value; waits for it, as the call in this thread may.

        Raises:
          tf.errors.OpError: if the step ends first.
        """
        place = self._place(step, key)
        if place is None:
            raise errors.aborted("Step is over")
        limit = current_interrupt()

        def end(error: errors.OpError) -> None:
            with contextlib.suppress(InvalidStateError):
                place.set_exception(error)

        limit.watch(end)
        try:
            with Resting():
                return place.result()
        finally:
            limit.forget(end)
            with self._lock:
                left = self._steps.get(step, {})
                left.pop(key, None)
                if not left:
                    self._steps.pop(step, None)

    def end(self, step: int) -> None:
        """Forget the values of a step."""
        with self._lock:
            left = self._steps.pop(step, {})
            self._over[step] = None
            if len(self._over) > _REMEMBERED:
                self._over.popitem(last=False)
        for place in left.values():
            with contextlib.suppress(InvalidStateError):
                place.set_exception(errors.aborted("Step is over"))

    def _place(self, step: int, key: str) -> _Sent | None:
        with self._lock:
            if step in self._over:
                return None
            return self._steps.setdefault(step, {}).setdefault(key, Future())


class Pull(NamedTuple):
    """A value that this task asks another one for.

    Attributes:
      address: of the other task.
      key: of the value in its rendezvous.
      in_loop: whether it is asked for in each iteration, by the key of the iteration.
    """

    address: str
    key: str
    in_loop: bool


@contextlib.contextmanager
def pulling(pulls: Sequence[Pull], number: int, step: Any) -> Iterator[None]:
    """Return a context in which values come in from other tasks.

    Args:
      pulls: the values.
      number: of the step.
      step: the `TaskStep` that takes them.
    """
    if not pulls:
        yield
        return
    request = file("tensorflow/core/protobuf/worker.proto")["RecvTensorRequest"]
    addresses = {pull.key.rpartition(";")[0]: pull.address for pull in pulls}
    asked = []

    def ask(key: str) -> None:
        address = addresses.get(key.rpartition(";")[0])
        if address is not None:
            asked.append(caller(address, WORKER).begin(
                "RecvTensor", request(step_id=number, rendezvous_key=key),
                partial(_arrived, step, arrival_name(key)),
            ))  # fmt: skip

    step.ask = ask
    for pull in pulls:
        if not pull.in_loop:
            ask(pull.key)
    try:
        yield
    finally:
        for each in asked:
            each.cancel()


def _arrived(step: Any, name: str, future: Any) -> None:
    if future.cancelled():
        return
    failure = future.exception()
    if failure is None:
        try:
            value = tensor_coding.received(future.result())
            step.put(name, DEAD if value is None else value)
        except errors.OpError as malformed:
            step.leave(malformed)
        return
    error = as_error(failure)
    if isinstance(error, errors.UnavailableError):
        step.leave(error)
        return
    later = threading.Timer(_MASTER_SECONDS, step.leave, (error,))
    later.daemon = True
    later.start()
