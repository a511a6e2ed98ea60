"""One run of several tasks: all begin at once, and when one fails the others end too."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stillflow import errors
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Tensor
from stillflow.runtime.cluster import metrics
from stillflow.runtime.cluster.access import Direct, Remote, fetched
from stillflow.runtime.cluster.links import Answer
from stillflow.runtime.cluster.remote_worker import TensorFlowTask
from stillflow.runtime.interrupts import Interrupt, current_interrupt

Access = Direct | Remote | TensorFlowTask


class PartOfRun(NamedTuple):
    """Part of a run, with its task.

    Attributes:
      access: how to reach it.
      number: of the part, in that task.
      graph: the part, a `GraphDef`.
      places: where what it is fed stands among all that is fed.
      fed: the tensors that it is fed for.
      fetches: what it gives back.
    """

    access: Access
    number: int
    graph: Any
    places: list[int]
    fed: list[Tensor]
    fetches: list[Tensor]


class Run:
    """One run.

    Args:
      parts: the part of each task.
      arrays: the feeds.
      options: a `RunOptions` if it is to be traced.

    Attributes:
      metadata: what tasks tell of a traced run, `RunMetadata` messages.
    """

    def __init__(
        self, parts: Sequence[PartOfRun], arrays: Sequence[np.ndarray], options: Any = None
    ) -> None:
        self.arrays = arrays
        self.metadata: list[Any] = []
        self._parts, self._options = parts, options
        self._step = secrets.randbits(63)
        self._lock = threading.Lock()
        self._failed: tuple[Access | None, BaseException] | None = None

    def values(self, session: Interrupt, graph: Graph) -> dict[Tensor, Any]:
        """Run; return the fetched values.

        Args:
          session: ends all runs of the session.
          graph: the session's, to name operations that fail.

        Raises:
          tf.errors.OpError: the first error.
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
            for part in self._parts:
                if isinstance(part.access, TensorFlowTask):
                    part.access.end(self._step)
        if self._failed is not None:
            access, cause = self._failed
            raise _as_raised(None if access is None else access.name, cause, graph)
        return found

    def _run(self) -> dict[Tensor, Any]:
        found: dict[Tensor, Any] = {}
        answers = [
            (part, self._begin(part, part.access))
            for part in self._parts
            if not isinstance(part.access, Direct)
        ]
        for part in self._parts:
            if isinstance(part.access, Direct):
                found.update(self._do(part, part.access))
        for part, answer in answers:
            try:
                answer.wait()
            except errors.OpError:
                continue  # `_fail` knows it
            if self._options is not None:
                self.metadata.append(answer.content.metadata)
            for tensor, array in zip(part.fetches, answer.tensors, strict=True):
                found[tensor] = fetched(tensor, array)
        return found

    def _begin(self, part: PartOfRun, access: Remote | TensorFlowTask) -> Answer:
        def settled(answer: Answer) -> None:
            if answer.error is not None:
                self._fail(access, answer.error)

        arrays = [self.arrays[place] for place in part.places]
        return access.begin(part.number, self._step, arrays, part.fed, self._options, settled)

    def _do(self, part: PartOfRun, access: Direct) -> dict[Tensor, Any]:
        arrays = [self.arrays[place] for place in part.places]
        try:
            values, metadata = access.guest.run(part.number, self._step, arrays, self._options)
        except errors.OpError as error:
            self._fail(access, error)
            return {}
        if metadata is not None:
            self.metadata.append(metadata)
        return dict(zip(part.fetches, values, strict=True))

    def _stop(self, error: errors.OpError) -> None:
        self._fail(None, error)

    def _fail(self, access: Access | None, error: BaseException) -> None:
        """Abort the run in all tasks; only the first error counts."""
        with self._lock:
            if self._failed is not None:
                return
            self._failed = access, error
        for part in self._parts:
            if part.access is not access:
                part.access.abort(self._step)


def by_itself(
    plan: Callable[..., list[Any]], task: str, session: Interrupt, graph: Graph
) -> Callable[..., list[Any]]:
    """Return a plan that needs no other task, which fails as a run of several tasks does.

    It is of the session's own process, whose task is `task`; `session` ends all its runs.
    """

    def run(*arrays: np.ndarray) -> list[Any]:
        try:
            shown = metrics.shown
            if shown is None:
                return plan(*arrays)
            with shown.step(task):
                return plan(*arrays)
        except errors.OpError as error:
            ended = session.error or current_interrupt().error
            raise _as_raised(None if ended else task, ended or error, graph) from error

    return run


_CLOSED = "Step was cancelled by an explicit call to `Session::Close()`."


def _as_raised(task: str | None, error: BaseException, graph: Graph) -> BaseException:
    """Return an error with the operation of the session's graph, and the task that it is from."""
    if not isinstance(error, errors.OpError):
        return error
    message = error.message if task is None else f"From {task}:\n{error.message}"
    if task is None and isinstance(error, errors.CancelledError):
        message = _CLOSED
    name = getattr(error.op, "name", error.op)
    op = graph._by_name.get(name) if name else None
    kind: Any = type(error)
    raised: BaseException = kind(None if op is None else op.node_def, op, message)
    return raised.with_traceback(error.__traceback__)
