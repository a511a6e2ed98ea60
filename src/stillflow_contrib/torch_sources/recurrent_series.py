"""Loops that are layers of recurrent cells over a series, for exporters.

The runtime's patterns find the cells of a loop (`runtime/loops/recurrences.py`); here the loop has
to read a whole series from its start, write outputs of cells, and end with the series.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from stillflow.export.capture import Parameter, Program
from stillflow.export.layers import LayerFinder
from stillflow.export.torch_loops import starts_of
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.patterns import Bound
from stillflow.ops.recurrent.cell_patterns import Cell
from stillflow.runtime.ir.steps import Name, Step, Value
from stillflow.runtime.loops.code import LoopCode, Shapes
from stillflow.runtime.loops.counters import keep_scalars
from stillflow.runtime.loops.recurrences import LoopBody, Recurrence
from stillflow.runtime.loops.vectorization import Turning
from stillflow.runtime.passes.dead_steps import live_steps
from stillflow_contrib.torch_sources.recurrent_cells import DROPOUT

_PASSING = ("enter", "switch", "identity")
# Operations that compute the same for all steps of a series, although they do not batch.
_SERIAL = ("Shape", "RandomUniform", "LSTMBlockCell", "GRUBlockCell")


class _Cells(Recurrence):
    """The cells of a loop, in order, and the steps around them; Turning if it has other states."""

    def __init__(self, code: LoopCode, shapes: Shapes, kinds: Sequence[type[Cell]]) -> None:
        self.kinds = kinds
        super().__init__(code, shapes)

    def _prepare(self, code: LoopCode, pure: list[Step], shapes: Shapes) -> None:
        body = LoopBody(self, code, pure, shapes)
        self.makers = body.makers
        runs: list[Any] = [unit.run for unit in body.cells(self.kinds)]
        self.cells: list[Cell] = [run.__self__ for run in runs]
        states = [name for cell in self.cells for name in state_names(cell)]
        if sorted(states) != sorted(self.states) or self.pushes or self.pops or self.grads:
            raise Turning
        dropouts = [
            bound for step in pure for bound in self._dropouts(body, step.outputs[0])
        ]  # fmt: skip
        self.around = [step for step in pure if body.is_free(step)]
        self.parts: list[Cell | Bound | Step] = []  # in order
        self.known = {step.outputs[0] for step in self.reads}
        left: list[Cell | Bound | Step] = [*self.cells, *dropouts, *self.around]
        while ready := [part for part in left if self._makes(part)]:
            self.parts += ready
            left = [part for part in left if not any(part is each for each in ready)]
        self.around = [part for part in left if isinstance(part, Step)]
        if len(left) > len(self.around) or any(c.wanted - {c.output} for c in self.cells):
            raise Turning

    def _dropouts(self, body: LoopBody, name: str) -> Iterator[Bound]:
        for bound in body.match(DROPOUT, name, {}):
            rate, scale = (body.number(bound.get(key)) for key in ("rate", "scale"))
            same = scale is None or rate is None or abs(scale * (1 - rate) - 1) < 1e-5
            named = "keep" in bound or rate is not None
            if named and same and body._claim(bound, (DROPOUT,), ()) is not None:
                yield {**bound, "keep": bound.get("keep", 1 - (rate or 0))}
                return

    def _makes(self, part: Cell | Bound | Step) -> bool:
        """Return True for a part that computes from series; its result is one of them."""
        if isinstance(part, Step):
            is_sum = part.op is not None and part.op.type in ("Add", "AddV2")
            if not is_sum or not self.known.issuperset(part.arguments):
                return False
            self.known.update(part.outputs)
            return True
        names = part.names if isinstance(part, Cell) else part
        if names["x"] not in self.known:
            return False
        self.known.add(names[part.output if isinstance(part, Cell) else DROPOUT])
        return True

    def computes(self, step: Step) -> bool:
        """Return True for a step that may be one of a series."""
        op = step.op if step.kind == "call" else None
        return super().computes(step) or (op is not None and op.type in _SERIAL)

    def _counting(self, code: LoopCode) -> Callable[..., Any]:
        return code.compile  # it does not run


def _with_numbers(code: LoopCode) -> tuple[LoopCode, dict[str, str]]:
    """Return a copy of a loop's code whose counters are numbers, and the variables that it reads.

    These are parameters of the copy.
    """
    found, tracer = copy.copy(code), copy.copy(code.tracer)
    found.tracer, tracer.constants = tracer, dict(tracer.constants)
    found.constants, found.unboxed, found.carried = dict(code.constants), {}, {}
    found.results = list(code.results)
    reads = {
        step.outputs[0]: step.inputs[0]
        for part in ("before", "once") for step in code.parts[part] if step.kind == "read"
    }  # fmt: skip
    firsts = {handle: name for name, handle in reversed(reads.items())}
    names = {name: firsts[handle] for name, handle in reads.items()}
    tracer.parameters = {**tracer.parameters, **{name: Value(name) for name in reads}}
    found.parts = {
        part: [
            plain_step(s, tracer.constants, names) for s in steps
            if s.kind != "read" or s.outputs[0] not in reads
        ]
        for part, steps in code.parts.items()
    }  # fmt: skip
    keep_scalars(found)
    return found, reads


def plain_step(step: Step, constants: dict[str, Any], names: dict[str, str]) -> Step:
    """Return a copy of a step with other names; a Split with the arguments that patterns know."""
    arguments = [Name(names.get(a, a)) if isinstance(a, Name) else a for a in step.arguments]
    if step.op is not None and step.op.type == "Split" and len(arguments) == 2:
        axis = constants.get(arguments[0])
        if axis is not None:
            arguments = [arguments[1], step.op.attrs["num_split"], int(axis)]
    if step.op is not None and step.op.type == "StridedSlice" and len(arguments) == 4:
        index = _columns(step.op, *map(constants.get, arguments[1:3]))
        arguments = arguments if index is None else [arguments[0], index]
    inputs = [names.get(name, name) for name in step.inputs]
    return dataclasses.replace(
        step, arguments=arguments, inputs=inputs, keywords=dict(step.keywords)
    )


def _columns(op: Operation, begin: Any, end: Any) -> tuple[slice, slice] | None:
    """Return the index of a slice of a matrix's columns, or None for other slices."""
    masks = [op.attrs[f"{kind}_mask"] for kind in ("ellipsis", "new_axis", "shrink_axis")]
    first, last = op.attrs["begin_mask"], op.attrs["end_mask"]
    if begin is None or end is None or len(begin) != 2 or any(masks) or not first & last & 1:
        return None
    start = None if first & 2 else int(begin[1])
    return slice(None), slice(start, None if last & 2 else int(end[1]))


def _source(tensor: Tensor) -> Tensor:
    """Return the tensor that enters a loop, or its Merge, behind a tensor that only passes on."""
    while tensor.op.card.flow in _PASSING:
        tensor = tensor.op._inputs[0]
    return tensor


def state_names(cell: Cell) -> list[str]:
    """Return the names of a cell's states; of the one matrix that may hold them all."""
    return [cell.names[key] for key in (["state"] if "state" in cell.names else cell.states)]


def forget_bias(cell: Cell, constants: dict[str, Any], makers: dict[str, Step]) -> float:
    """Return the number that a cell adds to the gate that forgets."""
    if "number of bias" in cell.names:
        return float(constants[cell.names["number of bias"]])
    op = makers[cell.names[cell.output]].op
    return 0.0 if op is None else float(op.attrs.get("forget_bias", 0))


_S = TypeVar("_S", bound="Series")


class NoSeriesError(Exception):
    """Error: a loop is no layer over a series."""


def _require(*facts: Any) -> None:
    if not all(facts):
        raise NoSeriesError


class Series:
    """A loop as layers over a series; `NoSeriesError` if it is none.

    Attributes:
      kinds: the cells that can be layers.
    """

    kinds: Sequence[type[Cell]] = ()

    def __init__(self, finder: LayerFinder, step: Step) -> None:
        self.finder, self.step, self.facts = finder, step, finder.tracer.facts
        self.code: LoopCode = step.arguments[0]
        self.steps = finder.program.steps
        numbered, self.reads = _with_numbers(self.code)
        self.cells = _Cells(numbered, self.code.tracer.shapes(), self.kinds)
        self.counters = set(filter(None, map(self._counter, self.code.variables)))
        _require(len(self.cells.reads) == 1)
        self.read = self.cells.reads[0]
        self.inside: list[Step] = []
        self.series = self._series()
        self.lengths: Tensor | None = None
        self.masked: dict[str, str] = {}  # outputs with zeros beyond the lengths -> the outputs
        for each in self.cells.around:
            self._around(each)
        masks = {cell.names.get("mask") for cell in self.cells.cells}
        _require(len(masks) == 1, masks == {None} or self.lengths is not None)
        condition = self.code.tracer.loop.condition
        _require(condition is not None and self._ends(condition._inputs[0]))
        self.outputs: dict[str, str] = {}  # stacked outputs -> the outputs in the loop
        self.flows: list[str] = []
        for each in self.cells.writes:
            self._written(each)
        self.states = dict(zip(step.outputs, self.code.results, strict=True))
        for outside, name in list(self.states.items()):
            if name not in self.cells.states:
                del self.states[outside]
                _require(finder.uses[outside] == self.flows.count(outside))
        self.starts = starts_of(self.code, step.arguments[1:])
        self.layers = [self.layer(cell) for cell in self.cells.cells]
        self.given = [*self.states, *self.outputs]
        self.taken = [name for name in self.starts.values() if name is not None]
        self.taken += [finder.name(t) for t in (self.series, self.lengths) if t is not None]

    # ---- the loop

    def _counter(self, variable: Any) -> Operation | None:
        """Return the Merge of a variable that counts from 0 by 1."""
        start = self.facts.value(variable.enter._inputs[0])
        later = _source(variable.back._inputs[0]).op
        if start is None or start.shape or start != 0 or later.type not in ("Add", "AddV2"):
            return None
        one = [t for t in later._inputs if self.code.tracer.facts.value(t) == 1]
        same = [t for t in later._inputs if _source(t).op is variable.merge]
        return variable.merge if one and same else None

    def _is_count(self, tensor: Tensor) -> bool:
        """Return True if a tensor is the length of the series."""
        known, dims = self.facts.value(tensor), self.facts.dims(self.series)
        if known is not None:
            return dims is not None and dims[0] == known
        begin = None if tensor.op.type != "StridedSlice" else self.facts.value(tensor.op._inputs[1])
        shape = tensor.op._inputs[0].op if begin is not None and begin == [0] else None
        return shape is not None and shape.type == "Shape" and self._same(shape._inputs[0])

    def _same(self, tensor: Tensor) -> bool:
        return self.finder.name(tensor) == self.finder.name(self.series)

    def _ends(self, tensor: Tensor) -> bool:
        """Return True for a condition that ends with the series, or after the longest row."""
        op = tensor.op
        if op.type == "LogicalAnd":
            return all(map(self._ends, op._inputs))
        if op.type != "Less" or _source(op._inputs[0]).op not in self.counters:
            return False
        limit = _source(op._inputs[1])
        if self._is_count(limit) or limit.op.type != "Minimum":
            return self._is_count(limit)
        longest = [t for t in limit.op._inputs if not self._is_count(t)]
        return len(longest) == 1 and self._is_longest(longest[0].op)

    def _is_longest(self, op: Operation) -> bool:
        """Return True for the largest of 1 and of the lengths, or of the series without them."""
        other = [t for t in op._inputs if self.facts.value(t) != 1]
        if op.type != "Maximum" or len(other) != 1 or self.lengths is None:
            return op.type == "Maximum" and len(other) == 1 and self._is_count(other[0])
        name, largest = self.finder.name(self.lengths), other[0].op
        return largest.type == "Max" and self.finder.name(largest._inputs[0]) == name

    def _series(self) -> Tensor:
        """Return the tensor whose rows the loop reads."""
        assert self.read.op is not None
        handle, index, flow = self.read.op._inputs
        scatter = _source(flow).op
        _require(scatter.type == "TensorArrayScatterV3", _source(index).op in self.counters)
        _require(self._is_array(scatter._inputs[0], _source(handle)))
        series: Tensor = scatter._inputs[2]
        self.series = series
        _require(self._is_range(scatter._inputs[1].op))
        if self.finder.uses[self.finder.name(scatter._inputs[0])] == 2:
            self.inside += self._made(scatter._outputs[0], scatter._inputs[0])
            self._forget(scatter._inputs[1])
        return series

    def _is_array(self, one: Tensor, other: Tensor) -> bool:
        return one.op.type == "TensorArrayV3" and self.finder.name(one) == self.finder.name(other)

    def _is_range(self, op: Operation, size: Operation | None = None) -> bool:
        """Return True for all places of the series, or of an array of this size."""
        known, dims = self.facts.value(op._outputs[0]), self.facts.dims(self.series)
        if known is not None:
            return dims is not None and np.array_equal(known, np.arange(dims[0] or 0))
        if op.type != "Range" or any(self.facts.value(op._inputs[k]) != k // 2 for k in (0, 2)):
            return False
        return op._inputs[1].op is size or self._is_count(op._inputs[1])

    def _made(self, *tensors: Tensor) -> list[Step]:
        names = [self.finder.name(tensor) for tensor in tensors]
        return [step for step in self.steps if not {*names}.isdisjoint(step.outputs)]

    def _forget(self, tensor: Tensor) -> None:
        """Leave out the numbers of places, and the size, if nothing else takes them."""
        if self.finder.uses[self.finder.name(tensor)] == 1:
            self.inside += self._made(tensor)
            for each in tensor.op._inputs if tensor.op.type == "Range" else ():
                if each.op.type == "TensorArraySizeV3":
                    self._forget(each)

    def _around(self, step: Step) -> None:
        """Take a step that tells which rows have ended, or one that makes their outputs 0."""
        op = step.op
        assert op is not None
        masks = [cell.names.get("mask") for cell in self.cells.cells]
        if op.type == "GreaterEqual" and step.outputs[0] in masks:
            _require(_source(op._inputs[0]).op in self.counters)
            self.lengths = _source(op._inputs[1])
            return
        _require(op.type == "Select", str(step.arguments[0]) in masks, self._is_zero(op._inputs[1]))
        self.masked[step.outputs[0]] = str(step.arguments[2])

    def _is_zero(self, tensor: Tensor) -> bool:
        tensor, known = _source(tensor), self.code.tracer.facts.value(tensor)
        if known is None:
            known = self.facts.value(tensor)
        if known is None and tensor.op.type == "Fill":
            known = self.facts.value(tensor.op._inputs[1])
        return tensor.op.type == "ZerosLike" or (known is not None and not known.any())

    def _written(self, step: Step) -> None:
        """Note the stacked outputs of cells, which an array holds after the loop."""
        assert step.op is not None
        name = str(self.cells._origin(step.arguments[2]))
        ends = self.lengths is not None
        output = self.masked.get(name, "") if ends else name
        _require(output in self.cells.known)
        handle = _source(step.op._inputs[0])
        _require(_source(step.op._inputs[1]).op in self.counters, handle.op.type == "TensorArrayV3")
        _require(self._is_count(handle.op._inputs[0]))
        name = self.finder.name(handle)
        uses = [each for each in self.steps if name in each.inputs and each is not self.step]
        for each in uses:
            _require(each.op is not None and each.kind == "call")
            assert each.op is not None
            self.flows.append(self.finder.name(each.op._inputs[-1]))
            if each.op.type == "TensorArraySizeV3":
                continue
            _require(each.op.type == "TensorArrayGatherV3")
            size = each.op._inputs[1].op
            own = next((t.op for t in size._inputs if t.op.type == "TensorArraySizeV3"), None)
            own = own if own and self._is_array(own._inputs[0], handle) else None
            _require(self._is_range(size, own))
            self.outputs[each.outputs[0]] = output
            self.inside.append(each)
            self._forget(each.op._inputs[1])
        if all(each in self.inside for each in uses):
            self.inside += self._made(handle)

    # ---- layers

    def layer(self, cell: Cell) -> Any:
        """Return the layer that a cell is; `NoSeriesError` if it is none."""
        raise NotImplementedError

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter that a value in the loop is."""
        tracer, program = self.code.tracer, self.finder.program
        name = self.reads.get(name, name)
        if name in tracer.parameters:
            return program.parameters.get(tracer.parameters[name].name)
        known, outer = tracer.constants.get(name), program.tracer.constants
        return next((p for n, p in program.parameters.items() if outer.get(n) is known), None)


def all_series(finder: LayerFinder, kind: type[_S]) -> list[_S]:
    """Return the loops of a program that are series of this kind."""
    found = []
    for step in finder.program.steps:
        if step.kind == "loop":
            with contextlib.suppress(Turning, NoSeriesError):
                found.append(kind(finder, step))
    return found


def left_steps(program: Program, writers: Sequence[Any]) -> list[tuple[Step, Step]]:
    """Return the steps that remain, each with the one that stands for it.

    Args:
      program: the program.
      writers: parts of it, each with `step`, `inside`, and the names `taken` and `given`; its step
        then takes and gives these, and the steps inside are left out.
    """
    inside = {id(step) for writer in writers for step in writer.inside}
    calls = {
        id(writer.step): dataclasses.replace(
            writer.step, inputs=writer.taken, outputs=writer.given, arguments=[]
        )
        for writer in writers
    }  # fmt: skip
    pairs = [(s, calls.get(id(s), s)) for s in program.steps if id(s) not in inside]
    results = [value.name for _, value in program.outputs]
    results += [name for _, value in program.outputs for name, _ in value.guard or ()]
    live = {id(step) for step in live_steps([new for _, new in pairs], results)}
    return [pair for pair in pairs if id(pair[1]) in live or not writers]
