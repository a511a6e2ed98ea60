"""The order in which a run's operations are traced to steps.

Operations run in the order of their creation, within data and control dependencies. Three
behaviours of TensorFlow's executor ask for another order, and each module here adds its own to the
one model: reads and writes of a variable that nothing orders (`variable_accesses`), enqueues and
dequeues of one run (`queue_rendezvous`), and summaries that run as soon as they can (`overlap`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.schedule.dependencies import Group, Strength, inherit, schedule
from stillflow.runtime.schedule.overlap import as_soon_as_ready
from stillflow.runtime.schedule.prune import sources
from stillflow.runtime.schedule.queue_rendezvous import Rendezvous, rendezvous
from stillflow.runtime.schedule.variable_accesses import Pairs, Races, races


def scheduled(
    ops: list[Operation], fed: Collection[Tensor], fetched: Sequence[Tensor]
) -> tuple[list[Operation], Collection[Operation]]:
    """Return the operations of a run in the order in which they run.

    Args:
      ops: in the order of creation, within dependencies.
      fed: tensors that are not computed.
      fetched: the results.

    Returns:
      The operations, the very list if nothing asks for another order; and the enqueues that only
      begin where they stand, and are to be waited for at the end.
    """
    accesses = races(ops, fed)
    changed = {} if accesses is None else accesses.changed()
    early, queues = as_soon_as_ready(ops, fetched, fed), rendezvous(ops)
    if changed or early or queues is not None:
        ops = _sorted(ops, fed, _wishes(accesses, changed, early), early, queues)
    return ops, () if queues is None else queues.begun


def by_accesses(ops: list[Operation], fed: Collection[Tensor]) -> list[Operation]:
    """Return the operations with a variable's reads and writes in TensorFlow's order.

    This is the order of runs in several tasks, and of loops.
    """
    accesses = races(ops, fed)
    changed = {} if accesses is None else accesses.changed()
    return _sorted(ops, fed, _wishes(accesses, changed, ()), {}, None) if changed else ops


def _wishes(accesses: Races | None, changed: Pairs, early: Collection[Operation]) -> Pairs:
    """Return for each operation the others on its variables that it follows."""
    if accesses is None:
        return {}
    kept = accesses.kept(early)
    return {op: {**kept.get(op, {}), **changed.get(op, {})} for op in (*kept, *changed)}


def _sorted(
    ops: Sequence[Operation], fed: Collection[Tensor], wishes: Pairs,
    early: dict[Operation, int], queues: Rendezvous | None,
) -> list[Operation]:  # fmt: skip
    """Return the operations scheduled by their dependencies and by these constraints."""
    place = {op: number for number, op in enumerate(ops)}
    before = [
        {place[s] for s in sources(op, fed) if s in place and not _closes(op, s)} for op in ops
    ]
    preferred = [{place[other]: Strength.ACCESS for other in wishes.get(op, ())} for op in ops]
    keys = [(early[op], 1) if op in early else (number, 0) for number, op in enumerate(ops)]
    urgent = inherit([{*own, *more} for own, more in zip(before, preferred)], keys)
    if queues is None:
        return [ops[number] for number in schedule(before, urgent, None, preferred)]
    for op, puts in queues.met.items():
        preferred[place[op]].update({place[put]: Strength.RENDEZVOUS for put in puts})
    groups = [Group.LAST if op in queues.late else None for op in ops]
    return [ops[number] for number in schedule(before, urgent, groups, preferred)]


def _closes(op: Operation, source: Operation) -> bool:
    """Return True if `source` is the previous iteration's value for `op`."""
    return op.card.flow == "merge" and source.card.flow == "next iteration"
