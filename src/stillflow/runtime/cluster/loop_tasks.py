"""Task of each loop as a whole: that of its arrays, or of most of its operations.

Objects that live for one step only, stacks and tensor arrays, are placed with the loops that use
them, and so are other loops that use them, as the backward pass of a loop does with the stacks of
the forward pass. Other operations on handles do not count: the placer puts them where the variable
is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.loops.frames import Frame

_CONTAINERS = ("stack", "tensor array")
Unit = Operation | Frame


class _Together:
    """Loops, and operations outside of them, that have to be in one task."""

    def __init__(self) -> None:
        self._leaders: dict[Unit, Unit] = {}

    def leader(self, unit: Unit) -> Unit:
        while unit in self._leaders:
            unit = self._leaders[unit]
        return unit

    def join(self, one: Unit, other: Unit) -> None:
        one, other = self.leader(one), self.leader(other)
        if one is not other:
            self._leaders[other] = one


def device_of_loops(units: Sequence[Unit], devices: dict[Operation, str]) -> dict[Operation, str]:
    """Return the devices of operations that must be with a loop.

    `units` are operations, and loops as a whole, in the order in which they run; the placer has put
    each operation on its device in `devices`.
    """
    unit_of: dict[Operation, Unit] = {}
    for unit in units:
        unit_of.update(dict.fromkeys(_ops(unit), unit))
    together, contained = _Together(), set[Tensor]()
    for op, unit in unit_of.items():
        held = [tensor for tensor in op._inputs if tensor in contained]
        for tensor in held:
            together.join(unit_of[tensor.op], unit)
        if held or op.card.handle in _CONTAINERS:
            contained.update(t for t in op._outputs if t.dtype.name == "resource")
    groups: dict[Unit, list[Unit]] = {}
    for unit in units:
        groups.setdefault(together.leader(unit), []).append(unit)
    found: dict[Operation, str] = {}
    for group in groups.values():
        inside = [op for unit in group if isinstance(unit, Frame) for op in unit.all_ops()]
        if inside:
            outside = [unit for unit in group if isinstance(unit, Operation)]
            arrays = {devices[op] for op in outside if op.card.gives == "tensor array"}
            counted = [op for op in inside if not _has_handles(op)] or inside
            ((device, _),) = Counter(devices[op] for op in counted).most_common(1)
            if len(arrays) == 1:
                (device,) = arrays
            found.update(dict.fromkeys((op for unit in group for op in _ops(unit)), device))
    return found


def _ops(unit: Unit) -> list[Operation]:
    return list(unit.all_ops()) if isinstance(unit, Frame) else [unit]


def _has_handles(op: Operation) -> bool:
    return any(tensor.dtype.name == "resource" for tensor in (*op._inputs, *op._outputs))
