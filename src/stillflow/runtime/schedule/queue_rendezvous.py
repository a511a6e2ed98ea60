"""Runs that enqueue and dequeue: enqueues do not wait for dequeues.

TensorFlow runs operations concurrently, so a run may dequeue elements that it enqueues itself, in
any order of creation, and enqueue where only its own dequeues make room. A plan runs one operation
after another. So dequeues, and all their consumers, come last, and after the enqueues of their
queue; and an enqueue only begins in place, and is waited for at the end.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import Any

from stillflow.graph.operation import Operation
from stillflow.ops.queues.attempts import Begun
from stillflow.runtime.plan.prune import sources
from stillflow.runtime.schedule.dependencies import Dependencies

_QUEUES = ("queue", "rendezvous")


def takes_last(ops: Sequence[Operation]) -> tuple[list[Operation], Collection[Operation]]:
    """Return the operations in an order in which dequeues come as late as possible.

    Args:
      ops: in the order in which they would run.

    Returns:
      The operations; and the enqueues, which are to be waited for at the end.
    """
    unchanged = list(ops), ()
    puts = [op for op in ops if op.card.access == "put" and op.card.handle == "queue"]
    if not puts or not any(_takes(op) for op in ops):
        return unchanged
    late: set[Operation] = set()
    for op in ops:
        if _takes(op) or not late.isdisjoint(sources(op)):
            late.add(op)
    waited_for = _waited_for(ops)
    puts = [op for op in puts if op not in waited_for]
    met = _meetings(ops, puts)
    begun = {op for op in puts if op not in late}.union(*met.values())
    if not begun:
        return unchanged
    return _ordered(ops, late, met), begun


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


def _meetings(
    ops: Sequence[Operation], puts: Sequence[Operation]
) -> dict[Operation, list[Operation]]:
    """Return the enqueues into the queue of each dequeue."""
    by_queue = defaultdict(list)
    for put in puts:
        by_queue[put._inputs[0]].append(put)
    takes = (op for op in ops if _takes(op, of=("queue",)))
    return {op: by_queue[op._inputs[0]] for op in takes if op._inputs[0] in by_queue}


def _ordered(
    ops: Sequence[Operation], late: set[Operation], met: dict[Operation, list[Operation]]
) -> list[Operation]:
    """Return the operations, late ones last and dequeues after enqueues, otherwise in order."""
    places = {op: place for place, op in enumerate(ops)}
    given = [{places[s] for s in sources(op) if s in places} for op in ops]
    puts = {places[op]: {places[put] for put in met[op]} for op in met}
    waits = Dependencies([own | puts.get(place, set()) for place, own in enumerate(given)])

    def rank(place: int) -> tuple[bool, int]:
        return ops[place] in late, place

    ready = [rank(place) for place in waits.free()]
    found: dict[int, Operation] = {}
    while len(found) < len(ops):
        if not ready:  # enqueues depend on dequeues: the first of these has to find an element
            free = min(p for p in puts if p not in found and given[p] <= found.keys())
            waits.let_go(free)
            ready.append(rank(free))
        _, place = heapq.heappop(ready)
        found[place] = ops[place]
        for other in waits.done(place):
            heapq.heappush(ready, rank(other))
    return list(found.values())


def waiting_at_the_end(function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Return the plan's function, which waits at its end for the enqueues it began."""

    def run(*arrays: Any) -> list[Any]:
        with Begun():
            return function(*arrays)

    return run
