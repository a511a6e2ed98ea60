"""`tf.keras.backend.function` where operations run when they are called."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow import nest
from stillflow.eager.immediate import context, held_by, unshare
from stillflow.graph.api import control_dependencies
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.operation import Operation
from stillflow.layers.symbolic_graph import symbolic_graph
from stillflow.ops.values import fetch_converter
from stillflow.runtime.functions.callables import CompiledFunction
from stillflow.runtime.schedule.prune import needed_ops
from stillflow.variables.base import VariableV2


class _Part:
    """Part of a graph for some of its tensors, as the body of a function."""

    def __init__(
        self, graph: FuncGraph, inputs: list[Any], outputs: list[Any], updates: list[Operation]
    ) -> None:
        self.name = graph.name
        self._operations = needed_ops(outputs, updates, dict.fromkeys(inputs))
        members = set(self._operations)
        self.captured = [outer for outer, inner in graph.captures if inner.op in members]
        self.inputs = [*inputs, *(inner for _, inner in graph.captures if inner.op in members)]
        self.outputs, self.control_outputs = outputs, updates


class ImmediateFunction:
    """Function of given inputs: runs outputs and updates of Keras' own graph.

    Args:
      inputs: a structure of placeholders.
      outputs: a structure of tensors and variables.
      updates: operations, or pairs (variable, new value), that run as well.

    Raises:
      TypeError: if the updates are no list.
    """

    def __init__(self, inputs: Any, outputs: Any, updates: Any = None, name: Any = None) -> None:
        updates = updates or []
        if not isinstance(updates, (list, tuple)):
            raise TypeError("`updates` in a Keras backend function should be a list or tuple.")
        self.name = name
        self.inputs = nest.flatten(inputs, expand_composites=True)
        self._outputs_structure = outputs
        graph = symbolic_graph()
        assert isinstance(graph, FuncGraph)
        self._graph = graph
        with graph.as_default():
            self.outputs = [
                tf.identity(x) if isinstance(x, VariableV2) else convert_to_tensor(x)
                for x in nest.flatten(outputs, expand_composites=True)
            ]
            self.outputs = [x if x.home is graph else graph.capture(x) for x in self.outputs]
            with control_dependencies(self.outputs[:1]):
                made = [tf.assign(*one) if isinstance(one, tuple) else one for one in updates]
        self._updates = [one if isinstance(one, Operation) else one.op for one in made]
        self._parts: dict[tuple[bool, ...], tuple[_Part, CompiledFunction]] = {}

    def _part(self, given: tuple[bool, ...]) -> tuple[_Part, CompiledFunction]:
        if given not in self._parts:
            inputs = [x for x, is_given in zip(self.inputs, given, strict=False) if is_given]
            part: Any = _Part(self._graph, inputs, self.outputs, self._updates)
            self._parts[given] = part, CompiledFunction(context().state, part)
        return self._parts[given]

    def __call__(self, inputs: Any) -> Any:
        """Return the outputs' values, for inputs in their structure; None leaves one out."""
        values = nest.flatten(inputs, expand_composites=True)
        part, run = self._part(tuple(value is not None for value in values))
        held = []
        with tf.init_scope():
            for x, value in zip(self.inputs, values, strict=False):
                if value is None:
                    continue
                if not tf.is_tensor(value):
                    value = np.asarray(value, dtype=x.dtype.as_numpy_dtype)
                held.append(held_by(tf.cast(convert_to_tensor(value), x.dtype)))
        captured = [held_by(tensor) for tensor in part.captured]
        for handle in captured:
            unshare(handle)
        results = []
        for x, value in zip(self.outputs, run(*held, *captured), strict=True):
            convert = fetch_converter(x, copy=False)
            results.append(value if convert is None else convert(value))
        return nest.pack_sequence_as(self._outputs_structure, results, expand_composites=True)
