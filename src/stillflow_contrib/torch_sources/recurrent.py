"""Recurrent networks as layers of PyTorch: loops as `nn.LSTM`, single steps as `nn.LSTMCell`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stillflow.export.capture import Parameter
from stillflow.export.layers import Layer, LayerFinder, recurrent_layers
from stillflow.ops.patterns import Bound, Matcher, Term
from stillflow.ops.recurrent.cell_patterns import Cell
from stillflow.runtime.ir.steps import Step, taken_by
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
from stillflow_contrib.torch_sources.recurrent_series import (
    NoSeriesError,
    Series,
    all_series,
    forget_bias,
    left_steps,
    plain_step,
    state_names,
)

if TYPE_CHECKING:
    from stillflow.export.body import Body


class TorchSeries(Series):
    """A loop as layers of PyTorch."""

    kinds = tuple(CLASSES)

    def layer(self, cell: Cell) -> Layer:
        forget = forget_bias(cell, self.cells.constants, self.cells.makers)
        layer = layer_of(self.finder, cell, self._own, forget, "_l0")
        if layer is None:
            raise NoSeriesError
        return layer

    def _own(self, name: str) -> Parameter | None:
        """Return the parameter that a value in the loop is, if nothing else takes it."""
        found = self.parameter(name)
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
        given = [self._start(body, name) for name in state_names(cell)][::-1]
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
        states.update(zip(state_names(cell), last[::-1], strict=True))

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
        self.steps = [plain_step(step, constants, names) for step in finder.program.steps]
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
            numbers = {forget_bias(cell, self.constants, self.producers) for cell in cells}
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
    writers += all_series(finder, TorchSeries)
    writers += [_CellCall(finder, *found) for found in _UnrolledCells(finder).find()]
    left = {id(step) for step, _ in left_steps(program, writers)}
    finder.found.inside.update(id(step) for step in program.steps if id(step) not in left)
    finder.found.writers.update((id(writer.step), writer) for writer in writers)


recurrent_layers.provide(find_recurrent)
