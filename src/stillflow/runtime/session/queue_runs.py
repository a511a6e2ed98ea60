"""Turns of a queue runner: read a record, compute an element of it, put it into a queue.

    turn = turns(session, enqueue_op, stopped)
    while not stopped(): turn()

One call runs one iteration or, where the computation is pure, several at once. The difference shows
only in the time: no more records are read than the open file holds, they are counted when their
element is about to be enqueued, elements are enqueued one after the other as long as there is room,
and unused records go back to the reader.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from stillflow.graph.operation import Operation
from stillflow.ops.data.run_length import RunLength
from stillflow.ops.io.readers.reader import Reader
from stillflow.ops.io.readers.records import Record
from stillflow.ops.kernel_errors import as_op_error, raise_from
from stillflow.ops.queues.queue import Queue
from stillflow.runtime.host.denormals import flushed
from stillflow.runtime.interrupts import Waits
from stillflow.runtime.ir.facts import Facts
from stillflow.runtime.loops.rows import RowPlan, row_plan
from stillflow.runtime.plan.trace import Tracer
from stillflow.runtime.resources import Resources
from stillflow.runtime.schedule.prune import needed_ops
from stillflow.runtime.session.interactive_session import InteractiveSession
from stillflow.runtime.session.session import Session
from stillflow.util.interpreter_exit import at_work

_ENQUEUES = ("QueueEnqueue", "QueueEnqueueV2")
_MAX_FAILURES = 3  # of several iterations at once, before they run one by one


def turns(session: Any, enqueue: Any, stopped: Callable[[], bool]) -> Callable[[], Any]:
    """Return a function that runs an operation, or fetches, once, or several times if it can.

    `stopped` says whether no more turns are to begin.
    """
    once: Callable[[], Any] = session.make_callable(enqueue)
    plain = type(session) in (Session, InteractiveSession) and session._plain_runs
    if not plain or not isinstance(enqueue, Operation) or enqueue.type not in _ENQUEUES:
        return once
    return _Turns(session, enqueue, once, stopped)


class _Parts(NamedTuple):
    """Parts of an iteration."""

    reader: Reader
    plan: RowPlan
    queue: Queue
    waits: Waits


class _Turns:
    def __init__(
        self, session: Any, enqueue: Operation, once: Callable[[], Any], stopped: Callable[[], bool]
    ) -> None:
        self._session = session
        self._enqueue = enqueue
        self._once = once
        self._stopped = stopped
        self._edition = -1  # of the graph, when the parts were found
        self._parts: _Parts | None = None
        self._run = RunLength()
        self._failures = 0

    def __call__(self) -> None:
        session = self._session
        if session._closed or session._edition != self._edition:
            self._once()  # raises the operation's error, if there is one
            self._find_parts()
        elif self._parts is None or not self._several(self._parts):
            self._once()

    def _find_parts(self) -> None:
        session = self._session
        with session._lock:
            self._edition = session._edition
            alone = session._runs_alone(self._enqueue)
            self._parts = _parts(session._get_resources(), self._enqueue) if alone else None

    def _several(self, parts: _Parts) -> bool:
        """Run iterations, more than one if possible."""
        before = time.perf_counter_ns()
        with at_work, torch.inference_mode(), flushed:
            records = parts.reader.read_ahead(max(2, self._run.size))
            elements = self._elements(parts, records) if len(records) > 1 else None
            if elements is None:
                parts.reader.give_back(records)
                return False
            self._run.took(time.perf_counter_ns() - before, len(records))
            self._put(parts, records, elements)
        return True

    def _elements(self, parts: _Parts, records: Sequence[Record]) -> Any:
        """Return the results for records; None if each needs its own computation."""
        columns = np.empty((2, len(records)), object)
        columns[:] = list(zip(*records, strict=True))
        try:
            elements = parts.plan(*columns)
            parts.queue.check_element(elements[0])
        except Exception:  # the operation says it better
            self._failures += 1
            if self._failures == _MAX_FAILURES:
                self._parts = None
            return None
        return elements

    def _put(self, parts: _Parts, records: Sequence[Record], elements: Any) -> None:
        reader, queue = parts.reader, parts.queue
        done = 0
        try:
            while done < len(elements) and not self._stopped():
                ready = queue.enqueue_ready(elements[done:])
                if ready:
                    done += ready
                    reader.count(ready)
                else:
                    done += 1
                    reader.count(1)
                    queue.enqueue(elements[done - 1], parts.waits)
        except Exception as error:
            raise_from(as_op_error(error, self._enqueue), error)
        finally:
            reader.give_back(records[done:])


def _parts(resources: Resources, enqueue: Operation) -> _Parts | None:
    """Return the parts of an operation; None if its kind cannot run several iterations."""
    if resources.several:
        return None
    needed = set(needed_ops((), [enqueue], ()))
    reads = [op for op in needed if op.type in ("ReaderRead", "ReaderReadV2")]
    if len(reads) != 1:
        return None
    (read,) = reads
    target, *components = enqueue._inputs
    feeds: dict[Any, Any] = dict.fromkeys(read._outputs, ())
    makers = {tensor.op for tensor in (target, *read._inputs)}
    if needed != {enqueue, read, *makers, *needed_ops(components, (), feeds)}:
        return None
    plan = row_plan(resources, feeds, (), components)
    facts = Facts(resources, {})
    Tracer(facts).run([*makers])
    reader, queue = facts.handles.get(read._inputs[0]), facts.handles.get(target)
    if plan is None or not isinstance(reader, Reader) or not isinstance(queue, Queue):
        return None
    return _Parts(reader, plan, queue, Waits(resources.interrupt))
