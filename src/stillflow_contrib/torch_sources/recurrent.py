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
import torch

from stillflow.export.capture import Parameter
from stillflow.export.layers import Layer, LayerFinder, dtype_of, recurrent_layers
from stillflow.export.torch_loops import starts_of
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.patterns import Bound, Matcher, Term
from stillflow.ops.recurrent.cell_patterns import Cell, LstmCell, TanhCell
from stillflow.runtime.ir.steps import Step, Value, taken_by
from stillflow.runtime.loops.code import LoopCode, Shapes
from stillflow.runtime.loops.counters import keep_scalars
from stillflow.runtime.loops.recurrences import LoopBody, Recurrence
from stillflow.runtime.loops.vectorization import Turning
from stillflow.runtime.passes.dead_steps import live_steps

if TYPE_CHECKING:
    from stillflow.export.body import Body

# Cells, with the layer's class and the order of its gates: TensorFlow's LSTM has i, j, f, o.
_CLASSES: dict[type[Cell], tuple[str, tuple[int, ...]]] = {
    LstmCell: ("LSTM", (0, 2, 1, 3)), TanhCell: ("RNN", (0,)),
}  # fmt: skip
_PASSING = ("enter", "switch", "identity")


def run_layer(layer: Any, series: Any, *state: Any) -> tuple[Any, ...]:
    """Return a recurrent layer's outputs for a series [time, batch, depth], and its last states."""
    if not series.numel():
        return (series.new_zeros(len(series), *state[0].shape), *state)
    given = [each.unsqueeze(0) for each in state]
    outputs, last = layer(series, tuple(given) if len(given) > 1 else given[0])
    return (outputs, *[each[0] for each in (last if len(given) > 1 else [last])])


def run_lengths(layer: Any, series: Any, lengths: Any, *state: Any) -> tuple[Any, ...]:
    """Return a recurrent layer's outputs and last states; beyond a row's length outputs are 0.

    The states of a row are those at its end.
    """
    if not series.numel():
        return run_layer(layer, series, *state)
    rows = torch.nn.utils.rnn.pack_padded_sequence(
        series, lengths.clamp(1, len(series)).cpu(), enforce_sorted=False
    )
    given = [each.unsqueeze(0) for each in state]
    rows, last = layer(rows, tuple(given) if len(given) > 1 else given[0])
    outputs, _ = torch.nn.utils.rnn.pad_packed_sequence(rows, total_length=len(series))
    begun = lengths.gt(0).unsqueeze(1)
    pairs = zip(last if len(given) > 1 else [last], state)
    return (torch.where(begun, outputs, 0.0), *[torch.where(begun, a[0], b) for a, b in pairs])


class _Cells(Recurrence):
    """The cells of a loop, in order, and the steps around them; Turning if it has other states."""

    def _prepare(self, code: LoopCode, pure: list[Step], shapes: Shapes) -> None:
        body = LoopBody(self, code, pure, shapes)
        runs: list[Any] = [unit.run for unit in body.cells()]
        found: list[Cell] = [run.__self__ for run in runs]
        self.around = [step for step in pure if body.is_free(step)]
        states = [name for cell in found for name in _states(cell)]
        if sorted(states) != sorted(self.states) or self.pushes or self.pops or self.grads:
            raise Turning
        self.cells: list[Cell] = []
        known = {step.outputs[0] for step in self.reads}
        while found:
            cell = next((each for each in found if each.names["x"] in known), None)
            if cell is None or type(cell) not in _CLASSES or cell.wanted - {cell.output}:
                raise Turning
            found.remove(cell)
            self.cells.append(cell)
            known.add(cell.names[cell.output])

    def _counting(self, code: LoopCode) -> Callable[..., Any]:
        return code.compile  # it does not run


def layer_of(
    finder: LayerFinder, cell: Cell, weights: list[Parameter | None], bias: float, suffix: str
) -> Layer | None:
    """Return the layer of a cell; None if its weights are used elsewhere, too.

    Args:
      finder: of the program's layers.
      cell: the cell.
      weights: its kernel and bias.
      bias: the number that is added to the gates f; it is a constant of the layer's second bias.
      suffix: of the names of its tensors.
    """
    kernel, vector = weights
    if kernel is None or vector is None or not (kernel.trainable and vector.trainable):
        return None
    name, gates = _CLASSES[type(cell)]
    width = kernel.value.shape[1] // len(gates)
    depth, key = kernel.value.shape[0] - width, finder.key_for([kernel, vector])
    if key is None:
        return None
    kind = "" if suffix else "Cell"
    options = ", ".join([str(depth), str(width), *dtype_of(kernel)])
    layer = Layer(key, f"nn.{name}{kind}({options})", lambda _: f"self.{key}")
    order = (gates,) if len(gates) > 1 else ()
    layer.weights = {
        f"weight_ih{suffix}": (kernel, (1, 0), (0, depth), *order),
        f"weight_hh{suffix}": (kernel, (1, 0), (depth, depth + width), *order),
        f"bias_ih{suffix}": (vector, None, None, *order) if order else (vector, None),
    }
    constant = torch.zeros_like(vector.value)
    if order:
        constant[width : 2 * width] = bias
    layer.constants = {f"bias_hh{suffix}": constant}
    finder.keys.add(key)
    return layer


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
    tracer.parameters = {**tracer.parameters, **{name: Value(name) for name in reads}}
    found.parts = {
        part: [
            _plain(s, tracer.constants) for s in steps
            if s.kind != "read" or s.outputs[0] not in reads
        ]
        for part, steps in code.parts.items()
    }  # fmt: skip
    keep_scalars(found)
    return found, reads


def _plain(step: Step, constants: dict[str, Any]) -> Step:
    """Return a copy of a step; a Split with the arguments that patterns know."""
    arguments = list(step.arguments)
    if step.op is not None and step.op.type == "Split" and len(arguments) == 2:
        axis = constants.get(arguments[0])
        if axis is not None:
            arguments = [arguments[1], step.op.attrs["num_split"], int(axis)]
    return dataclasses.replace(step, arguments=arguments, keywords=dict(step.keywords))


def _source(tensor: Tensor) -> Tensor:
    """Return the tensor that enters a loop, or its Merge, behind a tensor that only passes on."""
    while tensor.op.card.flow in _PASSING:
        tensor = tensor.op._inputs[0]
    return tensor


def _states(cell: Cell) -> list[str]:
    """Return the names of a cell's states; of the one matrix that may hold them all."""
    return [cell.names[key] for key in (["state"] if "state" in cell.names else cell.states)]


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
        _require(output in [cell.names[cell.output] for cell in self.cells.cells])
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
        weights = [self._parameter(cell.names[key]) for key in ("weights", "bias")]
        _require(*(p is not None and self.finder.held[p.name] == 1 for p in weights))
        number = self.cells.constants.get(cell.names.get("number of bias", ""))
        layer = layer_of(self.finder, cell, weights, 0 if number is None else float(number), "_l0")
        if layer is None:
            raise _NoSeriesError
        return layer

    def write(self, body: Body) -> None:
        """Write the calls of the layers."""
        name_of = self.finder.name
        known = {self.read.outputs[0]: body.expression(name_of(self.series))}
        lengths = [] if self.lengths is None else [body.expression(name_of(self.lengths))]
        states: dict[str, str] = {}
        for cell, layer in zip(self.cells.cells, self.layers, strict=True):
            body.model.layer(layer)
            given = [self._start(body, name) for name in _states(cell)][::-1]
            if "state" in cell.names:
                given = [f"*{given[0]}.chunk(2, 1)[::-1]"]
            short = layer.key.rpartition(".")[2]
            wishes = (f"{short}_{part}" for part in ("outputs", *cell.states[::-1]))
            made, *last = map(body.names, wishes)
            called = body.model.functions.name_of(run_lengths if lengths else run_layer)
            taken = [layer.call(body), known[cell.names["x"]], *lengths, *given]
            text = f"{', '.join([made, *last])} = {called}({', '.join(taken)})"
            body.line(text, self.step.op.name if self.step.op else "", self.step.guard)
            known[cell.names[cell.output]] = made
            last = [f"torch.cat([{', '.join(last[::-1])}], 1)"] if "state" in cell.names else last
            states.update(zip(_states(cell), last[::-1], strict=True))
        body.local.update((name, known[output]) for name, output in self.outputs.items())
        body.local.update((name, states[state]) for name, state in self.states.items())

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
        self.steps = [_plain(step, constants) for step in finder.program.steps]
        self.producers = {name: step for step in self.steps for name in step.outputs}
        super().__init__(self.producers.get, constants)

    def is_free(self, step: Step) -> bool:
        """Return True for steps that no cell has taken."""
        return id(step) not in self.claimed

    def find(self) -> Iterator[tuple[Cell, Layer]]:
        """Yield the cells, with the layer of all that have the same weights."""
        found: dict[int, list[Cell]] = {}
        for step in self.steps:
            for kind in _CLASSES if step.kind == "call" and step.outputs else ():
                bound = next(self.match(kind.output, step.outputs[0], {}), None)
                cell = None if bound is None else self._cell(kind, bound)
                if cell is not None:
                    found.setdefault(id(self._weights(cell)[0]), []).append(cell)
        for cells in found.values():
            outputs = [cell.names[cell.output] for cell in cells]
            numbers = {self.number(cell.names.get("number of bias", 0.0)) for cell in cells}
            kernel, bias = self._weights(cells[0])
            times = {self.finder.held[p.name] for p in (kernel, bias) if p is not None}
            chained = any(cell.names["h"] in outputs for cell in cells)
            if len(numbers) > 1 or times != {len(cells)} or not chained:
                continue
            layer = layer_of(self.finder, cells[0], [kernel, bias], numbers.pop() or 0, "")
            yield from ((cell, layer) for cell in cells if layer is not None)

    def _weights(self, cell: Cell) -> list[Parameter | None]:
        parameters = self.finder.program.parameters
        return [parameters.get(cell.names[key]) for key in ("weights", "bias")]

    def _cell(self, kind: type[Cell], bound: Bound) -> Cell | None:
        """Return a cell whose values within nothing else takes."""
        steps = [self.producers[name] for key, name in bound.items() if isinstance(key, Term)]
        steps = list({id(step): step for step in steps}.values())
        inside = Counter(name for step in steps for name in set(taken_by(step)))
        made = {name for step in steps for name in step.outputs}
        outside = {name for name in made if self.finder.uses[name] > inside[name]}
        axis = self.number(bound["axis"])
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
    writers: list[Series | _CellCall] = []
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
