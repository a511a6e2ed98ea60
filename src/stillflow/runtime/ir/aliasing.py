"""Reads of resources that outlive a write must copy; values that are kept must be owned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stillflow.graph import dtypes
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.ir.steps import Memory, Name, Roots, Step, Value, may_meet

_OBJECTS = (dtypes.resource, dtypes.variant)


def protect(
    steps: list[Step],
    values: dict[Tensor, Value],
    memory: Memory,
    fetched: list[Value],
) -> tuple[list[Step], dict[str, Roots]]:
    """Mark reads that must copy, and insert copies before ops that keep an input's memory.

    A plan changes variables in place. Where a value that was read through a resource and shares
    the variable's memory is used after (or by) a step that writes it, the read it came from
    copies; nowhere else. (Reads through references are not snapshots in TF either.)

    Returns:
      The steps, and the memory of every value by name.
    """
    roots = roots_by_name(steps, values, memory)
    born, last = live_ranges(steps, roots)
    for value in fetched:
        for root in value.roots:
            last[root] = len(steps)
    for number, step in enumerate(steps):
        for root in memory.snapshots if step.writes else ():
            is_live = born.get(root, number) < number <= last.get(root, -1)
            if is_live and may_meet(step.writes, (memory.buffers[root],)):
                memory.readers[root].copies = True
    return _own_kept(steps, roots, memory, last), roots


def live_ranges(
    steps: Sequence[Step], roots: Mapping[str, Roots]
) -> tuple[dict[int, int], dict[int, int]]:
    """Return the positions of the first and of the last step that uses each root."""
    born: dict[int, int] = {}
    last: dict[int, int] = {}
    for number, step in enumerate(steps):
        for name in (*step.inputs, *step.outputs):
            for root in roots.get(name, ()):
                last[root] = number
                born.setdefault(root, number)
    return born, last


def roots_by_name(
    steps: list[Step], values: dict[Tensor, Value], memory: Memory
) -> dict[str, Roots]:
    """Return the memory of every value, by its name."""
    roots = {value.name: value.roots for value in values.values()}
    for step in steps:
        if step.kind == "read":
            read = frozenset(root for root, reader in memory.readers.items() if reader is step)
            roots.setdefault(step.outputs[0], read)
        elif step.kind == "move":
            roots.setdefault(step.outputs[0], memory.fresh())
    return roots


def _own_kept(
    steps: list[Step],
    roots: dict[str, Roots],
    memory: Memory,
    last: dict[int, int],
) -> list[Step]:
    result: list[Step] = []
    for number, step in enumerate(steps):
        for position in kept_arguments(step):
            name = step.arguments[position]
            mine = roots.get(name, frozenset())
            owned = mine and memory.is_fresh(mine) and all(last[root] <= number for root in mine)
            if not owned:
                copy = Name(f"{name}_kept{number}")
                result.append(Step("copy", step.op, [copy], [name], step.guard))
                step.arguments[position] = copy
                step.inputs = [copy if item == name else item for item in step.inputs]
                if name not in step.inputs and any(a == name for a in step.arguments):
                    step.inputs.append(name)
        result.append(step)
    return result


def kept_arguments(step: Step) -> list[int]:
    """Return the positions of a step's arguments whose memory its operation keeps."""
    kept = kept_inputs(step.op) if step.kind == "call" else []
    given = step.arguments
    return [place for place in kept if place < len(given) and isinstance(given[place], Name)]


def kept_inputs(op: Operation | None) -> list[int]:
    """Return the positions of inputs whose memory an op keeps; handles and variants have none."""
    if op is None:
        return []
    inputs = op._inputs
    return [at for at in op.card.keeps if at < len(inputs) and inputs[at].dtype not in _OBJECTS]
