"""Gradients of calls in graphs: functions of the values computed by the called body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.functional.concrete import ConcreteFunction, partitioned_call
from stillflow.graph import dtypes, tapes
from stillflow.graph.api import control_dependencies
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.functions import LibraryFunction, define, uid
from stillflow.graph.gradient_registry import _register
from stillflow.graph.graph import get_default_graph
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.functional.control_order import order_effects
from stillflow.ops.functional.nodes import add_outputs
from stillflow.ops.functional.traced_graph import TracedGraph
from stillflow.ops.functional.tracing import within
from stillflow.ops.gradients.gradients import differentiate, is_trainable


class SymbolicGradients:
    """Gradients of calls in graphs: calls of functions of the values computed by the body.

    Args:
      body: of the function.
      outputs: tensors of it that a call gives which was not differentiated yet.
    """

    def __init__(self, body: TracedGraph, outputs: Sequence[Tensor]) -> None:
        self._body, self._outputs = body, outputs
        # By how many results a call has when it is differentiated.
        self._backward: dict[int, Backward] = {}

    def __call__(self, op: Operation, *grads: Any) -> list[Any]:
        return self._of(len(op._outputs)).apply(op, grads)

    def functions(self) -> list[LibraryFunction]:
        """Return the function that a first gradient makes calls run, and that of the gradient."""
        first = self._of(len(self._outputs))
        return [first.forward, first.backward.library_function]

    def _of(self, count: int) -> Backward:
        if count not in self._backward:
            self._backward[count] = Backward(self._body, self._results(count))
        return self._backward[count]

    def _results(self, count: int) -> list[Tensor]:
        """Return the results of a call with `count` results, including the earlier ones."""
        found = list(self._outputs)
        while len(found) < count:
            found += self._backward[len(found)].passed
        return found


class AddedBody:
    """A body whose calls in graphs give some tensors of it, unseen by tapes."""

    def __init__(self, body: TracedGraph, outputs: list[Tensor]) -> None:
        extended = Extended(body, outputs)
        self._outputs = outputs
        self._waits_for = body.control_captures
        self._function = define(extended, f"__forward_{body.name}_{uid()}")  # type: ignore[arg-type]
        self._gradient_name = f"PartitionedCall-{uid()}"
        _register(self._gradient_name, SymbolicGradients(body, outputs))

    def __call__(self, inputs: Sequence[Any]) -> list[Tensor]:
        with tapes.stopped():
            with control_dependencies(self._waits_for):
                op = partitioned_call(self._function, self._outputs, get_default_graph(), inputs)
        op.attrs["_gradient_op_type"] = self._gradient_name.encode()
        return list(op._outputs)


class Backward:
    """The function that computes a function's gradient from its intermediate values."""

    def __init__(self, body: TracedGraph, results: list[Tensor]) -> None:
        name = body.name
        self.count = len(results)
        self.trainable = [
            i
            for i, tensor in enumerate(results)
            if is_trainable(tensor) and tensor.dtype not in (dtypes.resource, dtypes.variant)
        ]
        with body.as_default():
            graph = TracedGraph(f"__backward_{name}_{uid()}")
        with graph.as_default():
            given = [graph.add_argument(results[i].dtype, results[i]._dims) for i in self.trainable]
            ys = [results[i] for i in self.trainable]
            made = [None] * len(body.inputs)
            if ys:
                made = differentiate(ys, body.inputs, given, source=body)
            if body.dense_gradients:
                made = [None if each is None else convert_to_tensor(each) for each in made]
            self._made = made
            present = [identity(convert_to_tensor(g)) for each in made for g in _parts(each)]
            graph.outputs = [within(graph, tensor) for tensor in present]
            graph.control_outputs = order_effects(graph, graph.outputs)
        graph.structured_outputs = graph.outputs
        self.backward = ConcreteFunction(graph)
        self._results = results
        # Results that came with gradients before exist already, as do those outside of the body.
        there = set(results[len(body.outputs) :])
        self.captured = graph.captured_inputs
        home = body._operations[0].graph if body._operations else body  # `body` may stand for it
        self.passed = [t for t in self.captured if t.home is home and t not in there]
        forward = Extended(body, [*results, *self.passed])
        self.forward = define(forward, f"__forward_{name}_{uid()}")  # type: ignore[arg-type]
        self._name_each_other()

    def _name_each_other(self) -> None:
        attrs = self.forward.definition.attr, self.backward.definition.attr
        attrs[0]["backward_function_name"].s = self.backward.name
        attrs[1]["forward_function_name"].s = self.forward.name.encode()

    def apply(self, op: Operation, grads: Sequence[Any]) -> list[Any]:
        graph = op.graph
        self.forward.add_to_graph(graph)
        if len(op._outputs) == self.count and self.passed:
            op.attrs["f"] = self.forward.attribute()
            op.attrs["Tout"] = [*op.attrs["Tout"], *(t.dtype for t in self.passed)]
            add_outputs(op, self.passed)
        given = [grads[i] for i in self.trainable]
        new = op._outputs[self.count : self.count + len(self.passed)]
        known = dict(zip(self._results, op._outputs, strict=False))
        known.update(zip(self.passed, new, strict=True))
        captured = [known.get(tensor, tensor) for tensor in self.captured]
        return self.gradients(self.backward.outputs_for([*given, *captured]))

    def gradients(self, outputs: Sequence[Tensor]) -> list[Any]:
        """Return the backward function's result for each of the body's inputs; None for some."""
        found = iter(outputs)
        return [_packed(each, [next(found) for _ in _parts(each)]) for each in self._made]


def _parts(gradient: Any) -> list[Any]:
    """Return the tensors of a gradient, which may be of some rows only."""
    if isinstance(gradient, IndexedSlices):
        parts = [gradient.values, gradient.indices, gradient.dense_shape]
        return [each for each in parts if each is not None]
    return [] if gradient is None else [gradient]


def _packed(gradient: Any, parts: list[Tensor]) -> Tensor | IndexedSlices | None:
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(*parts)
    return parts[0] if parts else None


class Extended:
    """A body that gives its intermediate values too, of some of its inputs or of all."""

    inputs: list[Tensor]

    def __init__(
        self, body: FuncGraph, outputs: list[Tensor], inputs: Sequence[Tensor] | None = None
    ) -> None:
        self.body = body
        self.outputs = outputs
        if inputs is not None:
            self.inputs = list(inputs)

    def __getattr__(self, name: str) -> dict[str, LibraryFunction] | list[Tensor | Operation]:
        return getattr(self.body, name)
