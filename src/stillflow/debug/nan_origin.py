"""Origin of a NaN or an infinity: the operation, and the line of the program."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.debug.dump_dir import DebugDumpDir
from stillflow.debug.sightings import Numbers, Sightings, Tag
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.session.session import BaseSession

_LONGEST_WAY = 12


def explain(kind: str, op: Operation, result: Numbers, seen: Sightings, way: Iterable[str]) -> str:
    """Return the inputs and outputs of an operation, and its creation in the program.

    Its output `result` had the first "NaN" or "infinity", which went through `way`.
    """
    lines = [f"The first {kind} came from operation '{op.name}' ({op.type}), made here:"]
    lines += ["  " + line for line in errors.defined_at(op).rstrip().splitlines()]
    for frame, iteration in result.tag:
        lines.append(f"It was in iteration {iteration} of the loop '{frame}'.")
    for title, tensors, numbers_of in (
        ("It was given", op._inputs, seen.given), ("It gave", op._outputs, seen.beside),
    ):  # fmt: skip
        lines.append(f"{title}:" if tensors else f"{title} nothing.")
        lines += [f"  {t.name}  {numbers_of(t.name, result) or t.dtype.name}" for t in tensors]
    names = list(way)
    if len(names) > _LONGEST_WAY:
        names[_LONGEST_WAY // 2 : -_LONGEST_WAY // 2] = ["..."]
    if len(names) > 1:
        lines.append(f"From there it went: {' -> '.join(names)}")
    return "\n".join(lines)


def origin(
    sink: Tensor, result: Numbers, kind: str, seen: Sightings
) -> tuple[Operation, Numbers, list[str]]:
    """Go back from a tensor to where its "NaN" or "infinity" came from.

    Returns the operation that gave it first, what that gave, and the operations on a way.
    """
    came: dict[int, tuple[Operation, Numbers, int | None]] = {result.order: (sink.op, result, None)}
    waiting, sources = [result.order], []
    while waiting:
        order = waiting.pop()
        op, result, _ = came[order]
        taken = ((t.op, seen.given(t.name, result)) for t in op._inputs)
        bad = [(giver, n) for giver, n in taken if n is not None and n.has(kind)]
        if not bad:
            sources.append(order)
        for giver, numbers in bad:
            if numbers.order not in came:
                came[numbers.order] = giver, numbers, order
                waiting.append(numbers.order)
    first, result, step = came[min(sources)]
    names = [first.name]
    while step is not None:
        op, _, step = came[step]
        names.append(op.name)
    return first, result, list(dict.fromkeys(names))


def dumped_origin(dump: DebugDumpDir) -> str:
    """Says where the first NaN, or else the first infinity, of a dump came from."""
    seen = Sightings()
    first: dict[str, tuple[str, Numbers]] = {}
    for datum in dump.dumped_tensor_data:
        value = datum.get_tensor() if datum.debug_op == "DebugIdentity" else None
        numbers = seen.add(datum.tensor_name, value)
        for kind in ("NaN", "infinity"):
            if numbers is not None and numbers.has(kind):
                first.setdefault(kind, (datum.node_name, numbers))
    if not first:
        return "All numbers of this run are finite."
    kind, (name, numbers) = next((k, first[k]) for k in ("NaN", "infinity") if k in first)
    try:
        op = dump.python_graph.get_operation_by_name(name)
    except (AttributeError, KeyError):
        return f"The first {kind} came from operation '{name}'."
    return explain(kind, op, numbers, seen, ())


def find_nans() -> None:
    """Stop all sessions at the first run with a NaN or infinity, and report its origin.

    A run stops if it fetches one, or assigns one to a variable; unused values may be infinite. All
    operations run one by one then: programs are slower.
    """

    def execute(self: BaseSession, handler: Any, feeds: dict[Tensor, np.ndarray]) -> list[Any]:
        seen = Sightings()
        tensors: dict[Tensor, None] = {}

        def see(tensor: Tensor, array: np.ndarray, tag: Tag) -> None:
            if seen.add(tensor.name, array, tag) is not None:
                tensors[tensor] = None

        values = self._execute_seen(see, handler, feeds)
        _refuse(handler.tensors, tensors, seen)
        return values

    BaseSession._execute = execute  # type: ignore[method-assign]


def _refuse(fetched: Iterable[Tensor], tensors: Iterable[Tensor], seen: Sightings) -> None:
    """Raise `tf.errors.InvalidArgumentError` if a fetched or assigned value is not finite."""
    sinks = [tensor for tensor in fetched if seen.last(tensor.name) is not None]
    sinks += [tensor for tensor in tensors if any(map(_writes_variable, tensor.consumers()))]
    for kind in ("NaN", "infinity"):
        for sink in sinks:
            last = seen.last(sink.name)
            if last is not None and last.has(kind):
                lines = [f"{sink.name} is not finite.", *_story(sink, last, kind, seen)]
                raise errors.invalid_argument("\n".join(lines))


def _story(sink: Tensor, numbers: Numbers, kind: str, seen: Sightings) -> list[str]:
    """Return the origin of a NaN or infinity, and, of a NaN, of the infinity that caused it."""
    op, result, way = origin(sink, numbers, kind, seen)
    lines = [explain(kind, op, result, seen, way)]
    if kind == "NaN":
        for tensor in op._inputs:
            given = seen.given(tensor.name, result)
            if given is not None and given.infinities:
                return lines + _story(tensor, given, "infinity", seen)
    return lines


def _writes_variable(op: Operation) -> bool:
    kind = op.type.removeprefix("Resource").removeprefix("Sparse")
    return kind.startswith(("Apply", "Assign", "Scatter"))
