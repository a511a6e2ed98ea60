"""Recurrent networks as layers of PyTorch: loops as `nn.LSTM`, single steps as `nn.LSTMCell`.

The runtime's patterns find the cells of a loop (`runtime/loops/recurrences.py`); here the loop has
to read a whole series from its start, write outputs of cells, and end with the series.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow.export.capture import Parameter
from stillflow.export.layers import Layer, LayerFinder, recurrent_layers
from stillflow.export.torch_loops import starts_of
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.patterns import Bound, Matcher, Term
from stillflow.ops.recurrent.cell_patterns import Cell
from stillflow.runtime.ir.steps import Name, Step, Value, taken_by
from stillflow.runtime.loops.code import LoopCode, Shapes
from stillflow.runtime.loops.counters import keep_scalars
from stillflow.runtime.loops.recurrences import LoopBody, Recurrence
from stillflow.runtime.loops.vectorization import Turning
from stillflow.runtime.passes.dead_steps import live_steps
from stillflow_contrib.torch_sources.recurrent_cells import (
    CLASSES,
    DROPOUT,
    layer_of,
    run_dropout,
    run_layer,
    run_lengths,
    run_mask,
)
from stillflow_contrib.torch_sources.recurrent_operations import operation_call

if TYPE_CHECKING:
    from stillflow.export.body import Body

_PASSING = ("enter", "switch", "identity")
# Operations that compute the same for all steps of a series, although they do not batch.
_SERIAL = ("Shape", "RandomUniform", "LSTMBlockCell")


class _Cells(Recurrence):
    """The cells of a loop, in order, and the steps around them; Turning if it has other states."""

    def _prepare(self, code: LoopCode, pure: list[Step], shapes: Shapes) -> None:
        body = LoopBody(self, code, pure, shapes)
        self.makers = body.makers
        runs: list[Any] = [unit.run for unit in body.cells([*CLASSES])]
        self.cells: list[Cell] = [run.__self__ for run in runs]
        states = [name for cell in self.cells for name in _states(cell)]
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
            _plain(s, tracer.constants, names) for s in steps
            if s.kind != "read" or s.outputs[0] not in reads
        ]
        for part, steps in code.parts.items()
    }  # fmt: skip
    keep_scalars(found)
    return found, reads


def _plain(step: Step, constants: dict[str, Any], names: dict[str, str]) -> Step:
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


def _states(cell: Cell) -> list[str]:
    """Return the names of a cell's states; of the one matrix that may hold them all."""
    return [cell.names[key] for key in (["state"] if "state" in cell.names else cell.states)]


def _forget(cell: Cell, constants: dict[str, Any], makers: dict[str, Step]) -> float:
    """Return the number that a cell adds to the gate that forgets."""
    if "number of bias" in cell.names:
        return float(constants[cell.names["number of bias"]])
    op = makers[cell.names[cell.output]].op
    return 0.0 if op is None else float(op.attrs.get("forget_bias", 0))


class _NoSeriesError(Exception):
    """Error: a loop is no layer over a series."""


def _require(*facts: Any) -> None:
    if not all(facts):
        raise _NoSeriesError


class Series:
    """A loop as layers over a series; `_NoSeriesError` if it is none."""

    def __init__(self, finder: LayerFinder, step: Step) -> None:
        self.finder, self.step, self.facts = finder, step, finder.tracer.facts
        self.code: LoopCode = step.arguments[0]
        self.steps = finder.program.steps
        numbered, self.reads = _with_numbers(self.code)
        self.cells = _Cells(numbered, self.code.tracer.shapes())
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
        self.layers = [self._layer(cell) for cell in self.cells.cells]
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

    def _parameter(self, name: str) -> Parameter | None:
        """Return the parameter that a value in the loop is."""
        tracer, program = self.code.tracer, self.finder.program
        name = self.reads.get(name, name)
        if name in tracer.parameters:
            return program.parameters.get(tracer.parameters[name].name)
        known, outer = tracer.constants.get(name), program.tracer.constants
        return next((p for n, p in program.parameters.items() if outer.get(n) is known), None)

    def _layer(self, cell: Cell) -> Layer:
        forget = _forget(cell, self.cells.constants, self.cells.makers)
        layer = layer_of(self.finder, cell, self._own, forget, "_l0")
        if layer is None:
            raise _NoSeriesError
        return layer

    def _own(self, name: str) -> Parameter | None:
        """Return the parameter that a value in the loop is, if nothing else takes it."""
        found = self._parameter(name)
        return found if found is not None and self.finder.held[found.name] == 1 else None

    def _value(self, body: Body, name: Any) -> str:
        """Return the expression of a value that is the same in all steps."""
        tracer = self.code.tracer
        if not isinstance(name, str):
            return repr(name)
        if name in tracer.parameters:
            return body.expression(tracer.parameters[name].name)
        return body.model.constant(tracer.constants[name], None)

    def write(self, body: Body) -> None:
        """Write the calls of the layers."""
        name_of = self.finder.name
        known = {self.read.outputs[0]: body.expression(name_of(self.series))}
        states: dict[str, str] = {}
        pairs = zip(self.cells.cells, self.layers, strict=True)
        layers = {id(cell): layer for cell, layer in pairs}
        for part in self.cells.parts:
            if isinstance(part, Step):
                name = known[part.outputs[0]] = body.names("series")
                first, second = (known[str(each)] for each in part.arguments)
                body.line(f"{name} = {first} + {second}", part.op.name if part.op else "")
            elif isinstance(part, dict):
                name = known[part[DROPOUT]] = body.names("dropped")
                function = body.model.functions.name_of(run_dropout)
                keep = self._value(body, part["keep"])
                body.line(f"{name} = {function}({known[part['x']]}, {keep})")
            else:
                self._call(body, part, layers[id(part)], known, states)
        outputs = {cell.names[cell.output] for cell in self.cells.cells}
        for name, output in self.outputs.items():
            body.local[name] = known[output]
            if self.lengths is not None and output not in outputs:
                body.local[name] = body.names("rows")
                function = body.model.functions.name_of(run_mask)
                lengths = body.expression(name_of(self.lengths))
                body.line(f"{body.local[name]} = {function}({known[output]}, {lengths})")
        body.local.update((name, states[state]) for name, state in self.states.items())

    def _call(
        self, body: Body, cell: Cell, layer: Layer, known: dict[str, str], states: dict[str, str]
    ) -> None:
        """Write the call of a cell's layer; add the names of its outputs and last states."""
        body.model.layer(layer)
        given = [self._start(body, name) for name in _states(cell)][::-1]
        if "state" in cell.names:
            given = [f"*{given[0]}.chunk(2, 1)[::-1]"]
        short = layer.key.rpartition(".")[2]
        wishes = (f"{short}_{part}" for part in ("outputs", *cell.states[::-1]))
        made, *last = map(body.names, wishes)
        lengths = () if self.lengths is None else (body.expression(self.finder.name(self.lengths)),)
        called = body.model.functions.name_of(run_lengths if lengths else run_layer)
        taken = [layer.call(body), known[cell.names["x"]], *lengths, *given]
        text = f"{', '.join([made, *last])} = {called}({', '.join(taken)})"
        body.line(text, self.step.op.name if self.step.op else "", self.step.guard)
        known[cell.names[cell.output]] = made
        last = [f"torch.cat([{', '.join(last[::-1])}], 1)"] if "state" in cell.names else last
        states.update(zip(_states(cell), last[::-1], strict=True))

    def _start(self, body: Body, name: str) -> str:
        variable = self.cells.states[name]
        outer = self.starts[variable]
        if outer is not None:
            return body.expression(outer)
        value = self.code.tracer.constants[self.code.constants[variable]]
        return body.model.constant(value, variable.merge._outputs[0])


class _UnrolledCells(Matcher):
    """Cells among a program's steps, one time step each."""

    def __init__(self, finder: LayerFinder) -> None:
        self.finder, self.claimed = finder, set[int]()
        constants = finder.tracer.constants
        reads = [step for step in finder.program.steps if step.kind == "read"]
        firsts = {step.inputs[0]: step.outputs[0] for step in reversed(reads)}
        names = {step.outputs[0]: firsts[step.inputs[0]] for step in reads}
        self.steps = [_plain(step, constants, names) for step in finder.program.steps]
        self.producers = {name: step for step in self.steps for name in step.outputs}
        super().__init__(self.producers.get, constants)

    def is_free(self, step: Step) -> bool:
        """Return True for steps that no cell has taken."""
        return id(step) not in self.claimed

    def find(self) -> Iterator[tuple[Cell, Layer]]:
        """Yield the cells, with the layer of all that have the same weights."""
        found: dict[int, list[Cell]] = {}
        own = self.finder.program.parameters.get
        for step in self.steps:
            for kind in CLASSES if step.kind == "call" and step.outputs else ():
                bound = next(self.match(kind.output, step.outputs[-1], {}), None)
                cell = None if bound is None else self._cell(kind, bound)
                if cell is not None:
                    found.setdefault(id(self._weights(cell)[0]), []).append(cell)
        for cells in found.values():
            outputs = [cell.names[cell.output] for cell in cells]
            numbers = {_forget(cell, self.constants, self.producers) for cell in cells}
            names = {name for cell in cells for step in self._steps(cell) for name in step.outputs}
            taken = {p.name for p in self._weights(cells[0]) if p is not None}
            elsewhere = [
                step for step in self.steps
                if step.kind != "read" and names.isdisjoint(step.outputs)
                and any(p is not None and p.name in taken for p in map(own, taken_by(step)))
            ]  # fmt: skip
            chained = any(cell.names["h"] in outputs for cell in cells)
            if len(numbers) > 1 or elsewhere or not chained:
                continue
            layer = layer_of(self.finder, cells[0], own, numbers.pop(), "")
            yield from ((cell, layer) for cell in cells if layer is not None)

    def _weights(self, cell: Cell) -> list[Parameter | None]:
        parameters = self.finder.program.parameters
        names = [cell.names.get(key, "") for key in ("weights", "weights of state", "bias")]
        return [parameters.get(name) for name in names if name]

    def _steps(self, cell: Cell) -> list[Step]:
        """Return the steps that a cell stands for."""
        names = [name for key, name in cell.names.items() if isinstance(key, Term)]
        return list({id(step): step for step in map(self.producers.__getitem__, names)}.values())

    def _cell(self, kind: type[Cell], bound: Bound) -> Cell | None:
        """Return a cell whose values within nothing else takes."""
        steps = self._steps(kind(bound, set()))
        missing = [each for each in kind.new if each not in bound]  # results of one operation
        bound.update((each, steps[-1].outputs[each.output]) for each in missing)
        inside = Counter(name for step in steps for name in set(taken_by(step)))
        made = {name for step in steps for name in step.outputs}
        outside = {name for name in made if self.finder.uses[name] > inside[name]}
        axis = self.number(bound.get("axis", 1.0))
        cell = kind(bound, outside)
        given = {bound[key] for key in kind.new}
        same = len({step.guard for step in steps}) == 1
        if axis not in (1, -1) or not same or not outside <= given or None in self._weights(cell):
            return None
        if any(str(key).startswith("vector") for key in bound if isinstance(key, str)):
            return None
        self.claimed.update(map(id, steps))
        return cell


class _CellCall:
    """A time step of a cell, as a call of its layer."""

    def __init__(self, finder: LayerFinder, cell: Cell, layer: Layer) -> None:
        self.names, self.layer = cell.names, layer
        self.given = [cell.names[term] for term in cell.new]
        self.taken = [cell.names[key] for key in ("x", *cell.states)]
        self.step = finder.producer[self.given[0]]
        made = [finder.producer[name] for key, name in cell.names.items() if isinstance(key, Term)]
        self.inside = [step for step in made if step is not self.step]

    def write(self, body: Body) -> None:
        """Write the call."""
        if self.layer.key not in body.model.members:
            body.model.layer(self.layer)
        x, h = body.expression(self.names["x"]), body.expression(self.names["h"])
        if len(self.given) == 1:
            text = f"{x}, {h}"
        else:
            text = f"{x}, ({h}, {body.expression(self.names['c'])})"
        targets = ", ".join(body.name_for(name, None) for name in self.given[::-1])
        body.line(f"{targets} = {self.layer.call(body)}({text})", guard=self.step.guard)


def find_recurrent(finder: LayerFinder) -> None:
    """Find the loops and steps of a program that are recurrent layers."""
    program = finder.program
    found = [operation_call(finder, step) for step in program.steps]
    writers: list[Any] = [call for call in found if call is not None]
    for step in program.steps:
        if step.kind == "loop":
            with contextlib.suppress(Turning, _NoSeriesError):
                writers.append(Series(finder, step))
    writers += [_CellCall(finder, *found) for found in _UnrolledCells(finder).find()]
    inside = {id(step): step for writer in writers for step in writer.inside}
    calls = {
        id(writer.step): dataclasses.replace(
            writer.step, inputs=writer.taken, outputs=writer.given, arguments=[]
        )
        for writer in writers
    }  # fmt: skip
    steps = [calls.get(id(each), each) for each in program.steps if id(each) not in inside]
    results = [value.name for _, value in program.outputs]
    results += [name for _, value in program.outputs for name, _ in value.guard or ()]
    live = set(map(id, live_steps(steps, results))) if writers else set(map(id, steps))
    finder.found.inside.update(inside, (id(each) for each in steps if id(each) not in live))
    finder.found.writers.update((id(writer.step), writer) for writer in writers)


recurrent_layers.provide(find_recurrent)
