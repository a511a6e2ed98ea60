"""Loops over a series as ONNX's recurrent operators: `LSTM`, `GRU` and `RNN`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.export.capture import Program
from stillflow.export.layers import LayerFinder
from stillflow.export.onnx_models.graph import GraphWriter, layers_of
from stillflow.export.onnx_models.regions.maths import ONNX_TYPES
from stillflow.ops.patterns import Bound
from stillflow.ops.recurrent.cell_patterns import Cell
from stillflow.ops.value_arrays import to_array
from stillflow.runtime.ir.steps import Step
from stillflow_contrib.onnx_models.recurrent_cells import KINDS, Layer, layer_of
from stillflow_contrib.torch_sources.recurrent_cells import DROPOUT
from stillflow_contrib.torch_sources.recurrent_series import (
    NoSeriesError,
    Series,
    all_series,
    forget_bias,
    left_steps,
    state_names,
)


class OnnxSeries(Series):
    """A loop as recurrent operators."""

    kinds = tuple(KINDS)

    def layer(self, cell: Cell) -> Layer:
        """Return the operator of a cell, which computes with single precision alone."""
        if self.series.dtype.base_dtype.name != "float32":
            raise NoSeriesError
        forget = forget_bias(cell, self.cells.constants, self.cells.makers)
        return layer_of(cell, self._array, forget)

    def _array(self, name: str) -> np.ndarray:
        """Return a value of the loop that is known; `NoSeriesError` for others."""
        found: Any = self.parameter(name)
        tracer, outer = self.code.tracer, self.finder.tracer.constants
        if found is not None:
            return to_array(found.value)
        value = tracer.parameters.get(name)
        held = tracer.constants.get(name) if value is None else outer.get(value.name)
        if held is None:
            raise NoSeriesError
        return to_array(held)

    # ---- nodes

    def write(self, b: GraphWriter) -> None:
        """Write the nodes."""
        known = {self.read.outputs[0]: b.named(self.finder.name(self.series))}
        ends = None if self.lengths is None else _Ends(b, self, known[self.read.outputs[0]])
        layers = {id(c): each for c, each in zip(self.cells.cells, self.layers, strict=True)}
        for part in self.cells.parts:
            if isinstance(part, Step):
                known[part.outputs[0]] = b.add("Add", [known[str(each)] for each in part.arguments])
            elif isinstance(part, Cell):
                self._call(b, part, layers[id(part)], known, ends)
            else:
                known[part[DROPOUT]] = self._dropped(b, known[part["x"]], part)
        outputs = {cell.names[cell.output] for cell in self.cells.cells}
        for name, output in self.outputs.items():
            value = known[output]
            if ends is not None and output not in outputs:
                value = ends.masked(value)
            b.bind(name, value)
        for outside, name in self.states.items():
            b.bind(outside, known[name])

    def _call(
        self, b: GraphWriter, cell: Cell, layer: Layer, known: dict[str, str], ends: _Ends | None
    ) -> None:
        """Write a layer; add its outputs and its last states to the known names."""
        states = [self._start(b, name) for name in state_names(cell)]
        if "state" in cell.names:
            states = b.add("Split", states, 2, axis=1, num_outputs=2)
        given = [b.add("Unsqueeze", [each, b.constant([0])]) for each in states[::-1]]  # h, then c
        taken = [known[cell.names["x"]], *map(b.constant, layer.weights)]
        taken += [ends.lengths if ends else "", *given]
        if layer.peepholes is not None:
            taken.append(b.constant(layer.peepholes))
        made, *last = b.add(layer.operator, taken, 1 + len(given), **layer.attributes)
        made = b.add("Squeeze", [made, b.constant([1])])
        last = [b.add("Squeeze", [each, b.constant([0])]) for each in last][::-1]
        if ends:
            last = [ends.kept(new, old) for new, old in zip(last, states, strict=True)]
            made = ends.masked(made)
        known[cell.names[cell.output]] = made
        if "state" in cell.names:
            last = [b.add("Concat", last, axis=1)]
        known.update(zip(state_names(cell), last, strict=True))

    def _start(self, b: GraphWriter, name: str) -> str:
        variable = self.cells.states[name]
        outer = self.starts[variable]
        if outer is not None:
            return b.named(outer)
        return b.constant(to_array(self.code.tracer.constants[self.code.constants[variable]]))

    def _dropped(self, b: GraphWriter, series: str, bound: Bound) -> str:
        """Return a series of which a share stays."""
        keep: Any = bound["keep"]
        kind = np.dtype(self.series.dtype.base_dtype.as_numpy_dtype)
        if not isinstance(keep, str):
            keep = b.constant(keep, kind)
        elif keep in self.code.tracer.parameters:
            keep = b.named(self.code.tracer.parameters[keep].name)
        else:
            keep = b.constant(to_array(self.code.tracer.constants[keep]), kind)
        random = b.add("RandomUniformLike", [series], dtype=ONNX_TYPES[kind.name])
        stays = b.add("Less", [random, keep])
        return str(b.add("Where", [stays, b.add("Div", [series, keep]), b.constant(0, kind)]))


class _Ends:
    """The ends of rows of a series [time, batch, depth], some of which may be empty."""

    def __init__(self, b: GraphWriter, loop: OnnxSeries, series: str) -> None:
        assert loop.lengths is not None
        kind = loop.series.dtype.base_dtype.as_numpy_dtype
        self.b, self.zero = b, b.constant(0, kind)
        lengths = b.add("Cast", [b.named(loop.finder.name(loop.lengths))], to=ONNX_TYPES["int64"])
        time = b.add("Squeeze", [b.add("Shape", [series], start=0, end=1)])
        self.begun = b.add(
            "Unsqueeze", [b.add("Greater", [lengths, b.constant(0)]), b.constant([1])]
        )
        steps = b.add("Range", [b.constant(0), time, b.constant(1)])
        within = b.add("Less", [b.add("Unsqueeze", [steps, b.constant([1])]), lengths])
        self.within = b.add("Unsqueeze", [within, b.constant([2])])
        inside = b.add("Min", [b.add("Max", [lengths, b.constant(1)]), time])
        self.lengths = b.add("Cast", [inside], to=ONNX_TYPES["int32"])

    def masked(self, series: str) -> str:
        """Return a series with zeros beyond the ends."""
        return str(self.b.add("Where", [self.within, series, self.zero]))

    def kept(self, new: str, old: str) -> str:
        """Return last states; of empty rows the first ones."""
        return str(self.b.add("Where", [self.begun, new, old]))


def with_layers(program: Program) -> list[Step]:
    """Return a program's steps, with those of recurrent layers as one each."""
    writers = all_series(LayerFinder(program), OnnxSeries)
    by_step: dict[int, Callable[..., None]] = {id(each.step): each.write for each in writers}
    return [
        dataclasses.replace(new, kind="layer", function=by_step[id(old)])
        if id(old) in by_step else new
        for old, new in left_steps(program, writers)
    ]  # fmt: skip


layers_of.provide(with_layers)
