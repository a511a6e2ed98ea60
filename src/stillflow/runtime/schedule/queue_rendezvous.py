"""Runs that enqueue and dequeue: enqueues do not wait for dequeues.

TensorFlow runs operations concurrently, so a run may dequeue elements that it enqueues itself, in
any order of creation, and enqueue where only its own dequeues make room. A plan runs one operation
after another. So dequeues, and all their consumers, come last, and after the enqueues of their
queue; and an enqueue only begins in place, and is waited for at the end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from stillflow.graph.operation import Operation
from stillflow.ops.queues.attempts import Begun
from stillflow.runtime.schedule.prune import sources

_QUEUES = ("queue", "rendezvous")


class Rendezvous(NamedTuple):
    """The operations of a run that enqueue and dequeue.

    Attributes:
      late: dequeues, and all their consumers.
      met: the enqueues into the queue of each dequeue.
      begun: enqueues that are to be waited for at the end of the run.
    """

    late: Collection[Operation]
    met: Mapping[Operation, Sequence[Operation]]
    begun: Collection[Operation]


def rendezvous(ops: Sequence[Operation]) -> Rendezvous | None:
    """Return the enqueues and dequeues of a run; None if no enqueue may have to wait for it.

    Args:
      ops: in an order in which they may run.
    """
    puts = [op for op in ops if op.card.access == "put" and op.card.handle == "queue"]
    if not puts or not any(_takes(op) for op in ops):
        return None
    late: set[Operation] = set()
    for op in ops:
        if _takes(op) or not late.isdisjoint(sources(op)):
            late.add(op)
    waited_for = _waited_for(ops)
    puts = [op for op in puts if op not in waited_for]
    met = _met(ops, puts)
    begun = {op for op in puts if op not in late}.union(*met.values())
    return Rendezvous(late, met, begun) if begun else None


def _takes(op: Operation, of: Collection[str] = _QUEUES) -> bool:
    """Return True for dequeues.

    A receive from another task may depend on one here, so it counts.
    """
    return op.card.access == "take" and op.card.handle in of


def _waited_for(ops: Sequence[Operation]) -> set[Operation]:
    """Return the operations after whose end others run.

    A group at the end of a run is none of these.
    """
    found: set[Operation] = set()
    for op in reversed(ops):
        if op.type != "NoOp" or op in found:
            found.update(op._control_inputs)
    return found


def _met(ops: Sequence[Operation], puts: Sequence[Operation]) -> dict[Operation, list[Operation]]:
    """Return the enqueues into the queue of each dequeue."""
    by_queue = defaultdict(list)
    for put in puts:
        by_queue[put._inputs[0]].append(put)
    takes = (op for op in ops if _takes(op, of=("queue",)))
    return {op: by_queue[op._inputs[0]] for op in takes if op._inputs[0] in by_queue}


def waiting_at_the_end(function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Return the plan's function, which waits at its end for the enqueues it began."""

    def run(*arrays: Any) -> list[Any]:
        with Begun():
            return function(*arrays)

    return run
