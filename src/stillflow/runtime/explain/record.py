"""Reports of plans, as `recording` has them made."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stillflow.errors import of_program
from stillflow.graph.constant_value import Dims
from stillflow.graph.dims import num_elements
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.ir.steps import Guard, Step, ops_of, taken_by

if TYPE_CHECKING:
    from stillflow.runtime.plan.trace import Tracer


@dataclass(frozen=True)
class Change:
    """Change of a plan's steps by a pass.

    Attributes:
      name: of the pass.
      before, after: how many steps there were.
      matches: how often it replaced or removed steps.
      seconds: how long it took.
      removed, added: the steps that went and came, each as its operations' types.
    """

    name: str
    before: int
    after: int
    matches: int
    seconds: float
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass
class Line:
    """A step of a finished plan.

    Attributes:
      kind: as in `Step`: "call", "read", "loop", ...
      operations: names of the operations whose work it does.
      types: their types.
      dims, dtype: of its first output; None if it is not known, or there is none.
      bytes: size of its outputs, as far as it is known.
      device: where it computes; "" on the host.
      guard: the condition under which it runs.
      place: file and line of the program that made the first operation.
      takes: numbers of the steps whose values it takes.
      part: of a loop, in which it stands: "before", "test", "body", ...
      inner: the steps of a loop.
      engine: the name of the engine that runs it; "" for the plan's own kernels.
      seconds: time spent in it, over all timed runs.
    """

    kind: str
    operations: tuple[str, ...]
    types: tuple[str, ...]
    dims: Dims
    dtype: str
    bytes: int
    device: str
    guard: Guard
    place: str
    takes: tuple[int, ...]
    part: str = ""
    inner: tuple[Line, ...] = ()
    engine: str = ""
    seconds: float = 0.0

    @property
    def label(self) -> str:
        """The types of its operations: "Conv2D + Relu", "3 ApplyAdam"."""
        return label_of_types(self.types) or self.kind


@dataclass
class PlanReport:
    """Report of a plan: its fetches, the passes' changes, and the remaining steps.

    Attributes:
      fetches: names of the fetches and targets.
      feeds: names and shapes of the feeds.
      timed: whether its steps are timed.
      changes: by pass.
      lines: its steps, in the order in which they run.
      engine: the engine of its regions, and how many steps it runs; "" without one.
      source: the Python function that was compiled.
      runs: how often it was timed.
      seconds: how long it took to make.
    """

    fetches: list[str]
    feeds: list[tuple[str, Dims]]
    timed: bool = False
    changes: list[Change] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    engine: str = ""
    source: str = ""
    runs: int = 0
    seconds: float = 0.0
    _start: float = field(default_factory=time.perf_counter)

    def note(
        self,
        name: str,
        before: Sequence[Step],
        after: Sequence[Step],
        seconds: float,
        matches: int = 0,
    ) -> None:
        """Take in what a pass has changed, and how often it matched."""
        old, new = set(map(id, before)), set(map(id, after))
        removed = tuple(_label(step) for step in before if id(step) not in new)
        added = tuple(_label(step) for step in after if id(step) not in old)
        if not before:  # all of them come from the graph
            added = ()
        self.changes.append(Change(name, len(before), len(after), matches, seconds, removed, added))

    def finish(self, steps: Sequence[Step], tracer: Tracer, source: Sequence[str]) -> None:
        """Take in the steps that are left, and the function."""
        self.lines = _lines([("", step) for step in steps], tracer)
        self.engine = str(tracer.facts.engine or "")
        self.source = "\n".join(source)
        self.seconds = time.perf_counter() - self._start


def label_of_types(types: Iterable[str]) -> str:
    """Types of operations as text: "Conv2D + Relu", "3 ApplyAdam"."""
    counted = Counter(types)
    return " + ".join(kind if n == 1 else f"{n} {kind}" for kind, n in counted.items())


def _label(step: Step) -> str:
    return label_of_types(op.type for op in ops_of(step)) or step.kind


def _lines(steps: Iterable[tuple[str, Step]], tracer: Tracer) -> list[Line]:
    """Return the lines of steps, each with the part of a loop that it stands in."""
    tensors = {value.name: tensor for tensor, value in tracer.values.items()}
    makers: dict[str, int] = {}
    lines = []
    for number, (part, step) in enumerate(steps):
        line = _line(step, tracer, tensors, makers)
        line.part, line.engine = part, getattr(step.function, "engine", "")
        if step.kind == "loop":
            code = step.arguments[0]
            inner = [(name, each) for name, parts in code.parts.items() for each in parts]
            line.inner = tuple(_lines(inner, code.tracer))
        lines.append(line)
        makers.update(dict.fromkeys(step.outputs, number))
    return lines


def _line(step: Step, tracer: Tracer, tensors: dict[str, Tensor], makers: dict[str, int]) -> Line:
    ops = ops_of(step)
    made = [tensors[name] for name in step.outputs if name in tensors]
    sizes = [(tracer.facts.dims(tensor), tensor.dtype.base_dtype) for tensor in made]
    known = [(num_elements(dims) or 0) * dtype.size for dims, dtype in sizes]
    takes = dict.fromkeys(makers[name] for name in taken_by(step) if name in makers)
    device = step.device
    if device is None and tracer.moves is not None and step.op is not None:
        device = tracer.moves.device_of(step.op)
    return Line(
        step.kind, tuple(op.name for op in ops), tuple(op.type for op in ops),
        sizes[0][0] if sizes else None, sizes[0][1].name if sizes else "", sum(known),
        "" if device is None or str(device) == "cpu" else str(device), step.guard,
        place_of(ops[0]) if ops else "", tuple(takes),
    )  # fmt: skip


def place_of(op: Operation) -> str:
    """Return the line of the program that made an operation: "train.py:12".

    "" for imported ones.
    """
    frames = of_program([tuple(frame) for frame in op.traceback])
    if not frames:
        return ""
    file, line = frames[-1][:2]
    with contextlib.suppress(ValueError):  # on another drive
        near = os.path.relpath(file)
        file = os.path.basename(file) if near.startswith("..") else near
    return f"{file}:{line}"
