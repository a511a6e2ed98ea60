"""One run of several tasks: all begin at once, and when one fails the others end too."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stillflow import errors
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.distributed.access import Access, Direct, Remote, fetched
from stillflow.runtime.distributed.links import Answer
from stillflow.runtime.interrupts import Interrupt, current_interrupt


class PartOfRun(NamedTuple):
    """What one task does.

    Attributes:
      access: how to reach it.
      number: of the part, in that task.
      places: where what it is fed stands among all that is fed.
      fed: the tensors that it is fed for.
      fetches: what it gives back.
    """

    access: Access
    number: int
    places: list[int]
    fed: list[Tensor]
    fetches: list[Tensor]


class Run:
    """One run.

    Args:
      parts: what each task does.
      arrays: what is fed.
    """

    def __init__(self, parts: Sequence[PartOfRun], arrays: Sequence[np.ndarray]) -> None:
        self._parts, self._arrays = parts, arrays
        self._step = secrets.randbits(63)
        self._lock = threading.Lock()
        self._failed: tuple[Access | None, BaseException] | None = None

    def values(self, session: Interrupt, graph: Graph) -> dict[Tensor, Any]:
        """Runs; gives what was fetched.

        Args:
          session: what ends all runs of the session.
          graph: the session's, to name operations that fail.

        Raises:
          tf.errors.OpError: what went wrong first.
        """
        watched = {session, current_interrupt()}
        for interrupt in watched:
            interrupt.watch(self._stop)
        try:
            found = self._run()
        except BaseException as error:  # Ctrl-C, while this thread waited
            self._fail(None, error)
            raise
        finally:
            for interrupt in watched:
                interrupt.forget(self._stop)
        if self._failed is not None:
            raise _as_raised(*self._failed, graph)
        return found

    def _run(self) -> dict[Tensor, Any]:
        found: dict[Tensor, Any] = {}
        answers = [
            (part, self._begin(part, part.access))
            for part in self._parts
            if isinstance(part.access, Remote)
        ]
        for part in self._parts:
            if isinstance(part.access, Direct):
                found.update(self._do(part, part.access))
        for part, answer in answers:
            try:
                answer.wait()
            except errors.OpError:
                continue  # `_fail` knows it
            for tensor, array in zip(part.fetches, answer.tensors, strict=True):
                found[tensor] = fetched(tensor, array)
        return found

    def _begin(self, part: PartOfRun, access: Remote) -> Answer:
        def settled(answer: Answer) -> None:
            if answer.error is not None:
                self._fail(access, answer.error)

        arrays = [self._arrays[place] for place in part.places]
        return access.begin(part.number, self._step, arrays, part.fed, settled)

    def _do(self, part: PartOfRun, access: Direct) -> dict[Tensor, Any]:
        arrays = [self._arrays[place] for place in part.places]
        try:
            values = access.guest.run(part.number, self._step, arrays)
        except errors.OpError as error:
            self._fail(access, error)
            return {}
        return dict(zip(part.fetches, values, strict=True))

    def _stop(self, error: errors.OpError) -> None:
        if isinstance(error, errors.DeadlineExceededError):
            error = errors.DeadlineExceededError(None, None, "Operation timed out.")
        self._fail(None, error)

    def _fail(self, access: Access | None, error: BaseException) -> None:
        """Ends the run in all tasks; only what comes first counts."""
        with self._lock:
            if self._failed is not None:
                return
            self._failed = access, error
        for part in self._parts:
            if part.access is not access:
                part.access.abort(self._step)


def _as_raised(access: Access | None, error: BaseException, graph: Graph) -> BaseException:
    """An error with the operation of the session's graph, and the task that it is from."""
    if not isinstance(error, errors.OpError):
        return error
    name = getattr(error.op, "name", error.op)
    op = graph._by_name.get(name) if name else None
    node_def = op.node_def if isinstance(op, Operation) else None
    where = "" if access is None else f"From {access.name}:\n"
    kind: Any = type(error)
    raised: BaseException = kind(node_def, op, where + error.message)
    return raised.with_traceback(error.__traceback__)
