"""Where a NaN or an infinity came from: the operation, and the line of the program."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.debug.dump_dir import DebugDumpDir
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.session import BaseSession

_LONGEST_WAY = 12


@dataclass
class Numbers:
    """What is remembered of a tensor of a run."""

    order: int
    dtype: str
    shape: tuple[int, ...]
    nans: int
    infinities: int
    low: float
    high: float

    @classmethod
    def of(cls, order: int, array: np.ndarray) -> Numbers | None:
        """Of an array; None if it is not of floats."""
        if array.dtype.kind != "f":
            return None
        finite = np.isfinite(array)
        nans = infinities = 0
        rest = array
        if not finite.all():
            nans = int(np.isnan(array).sum())
            infinities = int(array.size - finite.sum()) - nans
            rest = array[finite]
        low, high = (float(rest.min()), float(rest.max())) if rest.size else (np.nan, np.nan)
        return cls(order, str(array.dtype), array.shape, nans, infinities, low, high)

    def has(self, kind: str) -> bool:
        """Whether there is a "NaN", or an "infinity"."""
        return bool(self.nans if kind == "NaN" else self.infinities)

    def __str__(self) -> str:
        parts = [f"{self.nans} NaN"] if self.nans else []
        parts += [f"{self.infinities} infinite"] if self.infinities else []
        bounds = "" if np.isnan(self.low) else f"from {self.low:.6g} to {self.high:.6g}"
        return f"{self.dtype} {self.shape}: {', '.join([*parts, bounds]).strip(', ')}"


def explain(kind: str, op: Operation, seen: dict[str, Numbers], way: Iterable[str]) -> str:
    """Says what an operation took and gave, and where the program made it.

    Args:
      kind: "NaN" or "infinity".
      op: where it came from.
      seen: the tensors of the run, by name.
      way: the operations it went through from there.
    """
    lines = [f"The first {kind} came from operation '{op.name}' ({op.type}), made here:"]
    lines += ["  " + line for line in errors.defined_at(op).rstrip().splitlines()]
    for title, tensors in (("It was given", op._inputs), ("It gave", op._outputs)):
        lines.append(f"{title}:" if tensors else f"{title} nothing.")
        lines += [f"  {t.name}  {seen.get(t.name, t.dtype.name)}" for t in tensors]
    names = list(way)
    if len(names) > _LONGEST_WAY:
        names[_LONGEST_WAY // 2 : -_LONGEST_WAY // 2] = ["..."]
    if len(names) > 1:
        lines.append(f"From there it went: {' -> '.join(names)}")
    return "\n".join(lines)


def origin(
    sink: Tensor, kind: str, number_of: Callable[[Tensor], Numbers | None]
) -> tuple[Operation, list[str]]:
    """Goes back from a tensor to where its NaN or infinity came from.

    Args:
      sink: the tensor.
      kind: "NaN" or "infinity".
      number_of: what is remembered of a tensor.

    Returns:
      The operation, and the names of those on a way from it to `sink`.
    """
    way: dict[Tensor, Tensor | None] = {sink: None}
    waiting = [sink]
    sources = []
    while waiting:
        tensor = waiting.pop()
        bad = []
        for taken in tensor.op._inputs:
            numbers = number_of(taken)
            if numbers is not None and numbers.has(kind):
                bad.append(taken)
        if not bad:
            sources.append(tensor)
        for taken in bad:
            if taken not in way:
                way[taken] = tensor
                waiting.append(taken)

    def order(tensor: Tensor) -> int:
        numbers = number_of(tensor)
        return 0 if numbers is None else numbers.order

    first = min(sources or [sink], key=order)
    names, step = [], way[first]
    names.append(first.op.name)
    while step is not None:
        names.append(step.op.name)
        step = way[step]
    return first.op, list(dict.fromkeys(names))


def dumped_origin(dump: DebugDumpDir) -> str:
    """Says where the first NaN, or else the first infinity, of a dump came from."""
    seen: dict[str, Numbers] = {}
    first: dict[str, str] = {}
    for order, datum in enumerate(dump.dumped_tensor_data):
        value = datum.get_tensor() if datum.debug_op == "DebugIdentity" else None
        numbers = Numbers.of(order, value) if isinstance(value, np.ndarray) else None
        if numbers is None:
            continue
        seen[datum.tensor_name] = numbers
        for kind in ("NaN", "infinity"):
            if numbers.has(kind):
                first.setdefault(kind, datum.node_name)
    if not first:
        return "All numbers of this run are finite."
    kind, name = next((k, first[k]) for k in ("NaN", "infinity") if k in first)
    try:
        op = dump.python_graph.get_operation_by_name(name)
    except (AttributeError, KeyError):
        return f"The first {kind} came from operation '{name}'."
    return explain(kind, op, seen, ())


def find_nans() -> None:
    """Lets all sessions stop at the first run with a NaN or infinity, and say where it arose.

    A run stops if it fetches one, or puts one into a variable; what is not used may be infinite.
    All operations run one by one then: programs are slower.
    """

    def execute(self: BaseSession, handler: Any, feeds: dict[Tensor, np.ndarray]) -> list[Any]:
        seen: dict[str, Numbers] = {}
        tensors: list[Tensor] = []

        def see(tensor: Tensor, array: np.ndarray) -> None:
            numbers = Numbers.of(len(tensors), array)
            if numbers is not None:
                seen[tensor.name] = numbers
                tensors.append(tensor)

        values = self._execute_seen(see, handler, feeds)
        _refuse(handler.tensors, tensors, seen)
        return values

    BaseSession._execute = execute  # type: ignore[method-assign]


def _refuse(fetched: Iterable[Tensor], tensors: Iterable[Tensor], seen: dict[str, Numbers]) -> None:
    """Raises `tf.errors.InvalidArgumentError` if what is fetched or assigned is not finite."""
    sinks = [tensor for tensor in fetched if tensor.name in seen]
    sinks += [tensor for tensor in tensors if any(map(_writes_variable, tensor.consumers()))]
    for kind in ("NaN", "infinity"):
        for sink in sinks:
            if seen[sink.name].has(kind):
                lines = [f"{sink.name} is not finite.", *_story(sink, kind, seen)]
                raise errors.InvalidArgumentError(None, None, "\n".join(lines))


def _story(sink: Tensor, kind: str, seen: dict[str, Numbers]) -> list[str]:
    """Where a NaN or infinity arose, and, of a NaN, where the infinity did that led to it."""

    def number_of(tensor: Tensor) -> Numbers | None:
        return seen.get(tensor.name)

    op, way = origin(sink, kind, number_of)
    lines = [explain(kind, op, seen, way)]
    if kind == "NaN":
        given = [tensor for tensor in op._inputs if tensor.name in seen]
        infinite = next((tensor for tensor in given if seen[tensor.name].infinities), None)
        if infinite is not None:
            lines += _story(infinite, "infinity", seen)
    return lines


def _writes_variable(op: Operation) -> bool:
    kind = op.type.removeprefix("Resource").removeprefix("Sparse")
    return kind.startswith(("Apply", "Assign", "Scatter"))
