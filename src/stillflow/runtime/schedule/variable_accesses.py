"""Order of a variable's reads and writes that nothing orders explicitly.

A program may read a variable and assign it in one run without an explicit order, as BERT's
optimizer does with the global step, or `sess.run([accuracy, update_op])`. TensorFlow runs
operations when they are ready, so the order follows from their dependencies, not from their
creation:

* a read is ready at once, and comes before a write that waits for a model's results;
* a write that waits for variables and constants alone is done before the model begins, and before
  any read that it does not need itself. (Its kernels run one after the other in one thread; the
  other consumers of the variable are handed to other threads, which have to wake up.) But a model
  created before has read a resource when the write computes with the variable's own value.

TensorFlow 1.15.5 does so in most sessions, with one thread and with two: the golden programs
`unordered_variables` have it on record. After some 95 runs it begins to take small kernels for
cheap, and reads a global step before it is assigned; that is not followed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.schedule.prune import sources

_TURNS = 1000  # a loop's count in operations
_ASSIGN = ("write", "replace", "add", "subtract")

# Dependencies of an operation, in rising order: variables and constants; feeds; a model.
_NOTHING, _FEEDS, _MODEL = range(3)


# Pairs of operations: what each has to follow.
Pairs = dict[Operation, dict[Operation, None]]


def races(ops: Sequence[Operation], fed: Collection[Tensor]) -> Races | None:
    """Return the accesses to the variables that a run writes; None if it writes none.

    None as well for a run whose order is given: by a lock, or by the other parts of a run.

    Args:
      ops: in an order in which they may run.
      fed: tensors that are not computed.
    """
    writes: dict[Operation, list[Operation]] = {}
    for op in ops:
        if (op.card.writes or op.card.access == "replace") and (written := _written(op)):
            writes[op] = written
    if not writes or any(_is_ordered(op) for op in ops):
        return None
    return Races(ops, fed, writes)


class Races:
    """Operations on one variable, which the graph need not order."""

    def __init__(
        self,
        ops: Sequence[Operation],
        fed: Collection[Tensor],
        writes: Mapping[Operation, list[Operation]],
    ) -> None:
        self._place = {op: number for number, op in enumerate(ops)}
        self._fed = fed
        self._writes = writes
        self._waits = _waits(ops, fed)
        self._changed: set[tuple[Operation, Operation]] = set()
        self._takers = self._find_takers(ops)

    @cached_property
    def _depth(self) -> dict[Operation, int]:
        """After how many others each operation can run."""
        depths: dict[Operation, int] = {}
        after: dict[Operation, int] = {}
        for op in self._place:
            # The back edge of a loop comes later.
            depth = max([after.get(source, 0) for source in sources(op, self._fed)], default=0)
            depths[op] = depth + (_TURNS if op.card.flow == "exit" else 0)
            after[op] = depths[op] + (op.card.latency != "none")
        return depths

    def _find_takers(self, ops: Sequence[Operation]) -> dict[Operation, list[Operation]]:
        """Return the operations that read or write each variable that this run writes."""
        variables = [each for written in self._writes.values() for each in written]
        takers: dict[Operation, list[Operation]] = {each: [] for each in variables}
        held: dict[Tensor, Operation] = {}
        for op in ops:
            for tensor in op._inputs:
                variable = held.get(tensor)
                if variable is None:
                    continue
                if op.card.view or _is_alias(op) or op.card.writes:
                    held.update((t, variable) for t in op._outputs if t not in self._fed)
                if not _looks_away(op):  # other views are computed by TensorFlow
                    takers[variable].append(op)
            if op in takers and op._outputs[0] not in self._fed:
                held[op._outputs[0]] = op
        return takers

    def changed(self) -> Pairs:
        """Return the pairs of which the later one comes first in TensorFlow."""
        before: Pairs = {}
        needed = self._needed_at_once()
        trains = _MODEL in self._waits.values()
        for write, takers in self._pairs():
            for taker in takers:
                if self._reads_at_once(taker, write):
                    before.setdefault(write, {})[needed.get(taker, taker)] = None
                    self._changed.add((write, taker))
                elif trains and self._written_at_once(write, taker) and taker not in needed:
                    before.setdefault(taker, {})[write] = None
                    self._changed.add((taker, write))
        return before

    def kept(self, free: Collection[Operation]) -> Pairs:
        """Return the other pairs, in their order; updates need not come before free readers."""
        before: Pairs = {}
        for write, takers in self._pairs():
            for taker in takers:
                first, second = sorted((write, taker), key=self._place.__getitem__)
                if (first, second) in self._changed:
                    continue
                if first is not write or second not in free or is_assignment(write):
                    before.setdefault(second, {})[first] = None
        return before

    def _pairs(self) -> Iterator[tuple[Operation, list[Operation]]]:
        """Yield each write with the operations that look at its variables, in order."""
        for write, written in self._writes.items():
            takers = {taker for variable in written for taker in self._takers[variable]}
            yield write, sorted(takers - {write}, key=self._place.__getitem__)

    def _needed_at_once(self) -> dict[Operation, Operation]:
        """Return the dependencies of writes that wait for nothing, with one of these writes."""
        needed: dict[Operation, Operation] = {}
        for write in self._writes:
            stack = [write] if self._waits[write] == _NOTHING else []
            while stack:
                for source in sources(stack.pop(), self._fed):
                    if source not in needed and source in self._waits:
                        needed[source] = write
                        stack.append(source)
        return needed

    def _reads_at_once(self, taker: Operation, write: Operation) -> bool:
        """Return True if a later operation is ready long before a write."""
        if self._place[taker] < self._place[write]:
            return False
        # Reads of resources run in a thread of their own: they are late for quick operations.
        if self._waits[write] < (_MODEL if _is_resource(write) else _FEEDS):
            return False
        return self._depth[taker] < self._depth[write]

    def _written_at_once(self, write: Operation, taker: Operation) -> bool:
        """Return True if a later write is ready long before the operation is done."""
        if self._place[write] < self._place[taker] or self._waits[write] != _NOTHING:
            return False
        # A resource is read for a model before a decay, which reads it for itself, is computed.
        is_early = _is_resource(write) and taker in self._of_model
        return not is_early or self._depth[taker] >= self._depth[write]

    @cached_property
    def _of_model(self) -> set[Operation]:
        """The operations whose results go into others that wait for feeds or a model."""
        return {tensor.op for op in self._place if self._waits[op] for tensor in op._inputs}


def _is_ordered(op: Operation) -> bool:
    """Return True for a lock, and in a part of a run, which keeps the order that all have."""
    handle, access = op.card.handle, op.card.access
    return access == "lock" or (handle == "rendezvous" and access == "take")


def _is_alias(op: Operation) -> bool:
    """Return True if it hands its input on, with the memory of the variable."""
    return op.card.aliases and op.card.latency == "none"


def _looks_away(op: Operation) -> bool:
    """Return True if it looks at no value, or is done before anything can be written."""
    card = op.card
    return _is_alias(op) or card.flow in ("enter", "switch") or card.access == "is initialized"


def _waits(ops: Sequence[Operation], fed: Collection[Tensor]) -> dict[Operation, int]:
    """Return the dependencies of each operation."""
    waits: dict[Operation, int] = {}
    by_card: dict[Any, int] = {}
    for op in ops:
        if (found := by_card.get(op.card)) is None:
            found = by_card[op.card] = _own_wait(op)
        if found != _MODEL:
            for tensor in op._inputs:
                if tensor in fed:  # from a program, or from iterators and queues
                    other = _FEEDS if tensor.op.type.startswith("Placeholder") else _MODEL
                else:
                    other = waits.get(tensor.op, _NOTHING)
                if other > found:
                    found = other
            for control in op._control_inputs:
                found = max(found, waits.get(control, _NOTHING))
        waits[op] = found
    return waits


def _own_wait(op: Operation) -> int:
    """Return the dependencies of an operation by itself."""
    if op.card.flow == "exit" or op.card.latency == "long":
        return _MODEL
    if not (op.card.foldable or _places(op) or op.card.latency in ("none", "brief")):
        return _MODEL  # iterators, queues, random numbers, Python functions
    return _NOTHING


def _written(op: Operation) -> list[Operation]:
    """Return the variables that an operation writes."""
    found = [_variable(op._inputs[place]) for place in _places(op) if place < len(op._inputs)]
    return [variable for variable in found if variable is not None]


def _places(op: Operation) -> Sequence[int]:
    """Return the inputs that an operation changes, or puts something else in the place of."""
    return (0,) if op.card.access == "replace" else op.card.writes


def _variable(tensor: Tensor) -> Operation | None:
    while tensor.op.card.gives != "variable":
        source = tensor.op
        if not _is_alias(source) and not source.card.writes:
            return None
        tensor = source._inputs[source.card.writes[0] if source.card.writes else 0]
    return tensor.op


def _is_resource(write: Operation) -> bool:
    return not write._inputs[_places(write)[0]].dtype._is_ref_dtype


def is_assignment(op: Operation) -> bool:
    """Return True for an assignment that the program makes, other than an optimizer's update."""
    return op.card.handle == "variable" and op.card.access in _ASSIGN
