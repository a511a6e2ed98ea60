"""The gradient of `While`: a loop that turns as often, and takes back what the first one kept.

The body of the first loop pushes the intermediates of an iteration to lists, for which it gets more
variables; the gradient's body pops them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.constant_value import constant_value
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.fill import zeros, zeros_like
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.functional.accumulators import accumulator_of
from stillflow.ops.functional.cards import stateless_while_op, while_op
from stillflow.ops.functional.nodes import (
    WhileBodyFuncGraph,
    WhileCondFuncGraph,
    add_outputs,
    copy_handle_data,
    finish,
    function_attribute,
    gradient_name,
    indirect_source,
    positions,
    rebuilt_body,
)
from stillflow.ops.functional.slices_variables import OWN_VARIABLES, with_slices
from stillflow.ops.functional.traced_graph import TracedGraph
from stillflow.ops.functional.tracing import trace_body
from stillflow.ops.gradients.gradients import UnconnectedGradients, differentiate, is_trainable
from stillflow.ops.tensor_list.cards import cards as list_cards
from stillflow.ops.tensor_list.public import empty_tensor_list, tensor_list_pop_back
from stillflow.ops.variables.resource import variable_shape_op


class _Forward:
    """The differentiated loop, its functions built again."""

    def __init__(self, op: Operation) -> None:
        self.op = op
        shapes = list(op.attrs["output_shapes"])
        self.condition = rebuilt_body(op, op.attrs["cond"].name, shapes)
        self.body = rebuilt_body(op, op.attrs["body"].name, shapes)
        self.inputs, self.outputs = tuple(self.body.inputs), tuple(self.body.outputs)
        self._invariant = set(self.inputs).intersection(self.outputs)
        self.limit = op._inputs[1]

    def is_invariant(self, tensor: Tensor) -> bool:
        """Return True if the body gives it on as it takes it."""
        return tensor in self._invariant

    def rewrite(self, lists: Sequence[Tensor]) -> None:
        """Make the node keep the gradient's inputs.

        `lists` are the initial values of these variables.
        """
        op, body = self.op, self.body
        for part, graph in (("cond", self.condition), ("body", body)):
            graph.name += "_rewritten"
            op.attrs[part] = function_attribute(graph)
        op.attrs["T"] = [tensor.dtype for tensor in body.outputs]
        op.attrs["output_shapes"] = [tensor.shape for tensor in body.outputs]
        for tensor in lists:
            op._inputs.append(tensor)
            tensor._consumers.append(op)
        add_outputs(op, body.outputs[len(self.outputs) :])


class _GradientBody(WhileBodyFuncGraph):
    """The body of a gradient's loop.

    The loop which is differentiated starts with `lists`, empty ones; `rests` has a captured list
    after this iteration, by its placeholder.
    """

    def __init__(self, name: str, forward: _Forward) -> None:
        super().__init__(name)
        self._forward = forward
        self._found: dict[Tensor, Tensor] = {}
        self.lists: list[Tensor] = []
        self.rests: dict[Tensor, Tensor] = {}

    def capture(self, tensor: Tensor, name: str | None = None, whitelisted: bool = False) -> Tensor:
        forward = self._forward.body
        if tensor.home is not forward:
            if not whitelisted:
                where = tensor.home.name if isinstance(tensor.home, FuncGraph) else "Base"
                raise ValueError(
                    f"Attempting to capture tensor {tensor} which is not in the forward graph but "
                    f"in {where}."
                )
            return super().capture(tensor, name)
        name = name or tensor.op.name
        while tensor.op.type == "Identity":  # such are not kept
            tensor = tensor.op._inputs[0]
        if tensor not in self._found:
            self._found[tensor] = self._take(tensor, name)
        return self._found[tensor]

    def _take(self, tensor: Tensor, name: str) -> Tensor:
        body = self._forward.body
        if self._forward.is_invariant(tensor):
            captured = super().capture(tensor, name)
            self.rests[captured] = captured
            return captured
        if tensor.op.type == "Const":
            return constant(constant_value(tensor), dtype=tensor.dtype)
        if tensor.dtype == dtypes.resource:
            place = indirect_source(tensor, body)
            if body.inputs[place] is not body.outputs[place]:
                raise AssertionError(f"Resource tensors must be loop invariants {tensor}.")
            return self.capture(self._forward.op._inputs[place], whitelisted=True)
        captured = super().capture(self._accumulator(tensor), name)
        rest, value = tensor_list_pop_back(captured, tensor.dtype)
        self.rests[captured] = rest
        return value

    def _accumulator(self, tensor: Tensor) -> Tensor:
        """Return the list in which the loop that is differentiated keeps a tensor of its body."""
        found = accumulator_of(tensor)
        if found is not None:
            return found
        forward = self._forward
        outer = forward.body.outer_graph
        name = f"{tensor.name}/accumulator".replace(":", "_")
        with outer.as_default():
            # The gradient's dependencies may themselves wait for the loop.
            context = outer._get_control_flow_context()
            with outer.control_dependencies(None):
                outer._set_control_flow_context(context)
                made = empty_tensor_list(tensor.shape, tensor.dtype, forward.limit, name)
        self.lists.append(made)
        with forward.body.as_default():
            accumulator: Tensor = list_cards["TensorListPushBack"](made, tensor)
        forward.body.outputs.append(accumulator)
        with forward.condition.as_default():
            forward.condition.capture(made)
        return accumulator


def _loop_gradient(node: Node, *given: Any) -> list[Tensor | None]:
    op = node.op
    forward = _Forward(op)
    grads = _trainable(forward, given)
    total = op._outputs[0]
    counter = constant(0, dtype=total.dtype, name="grad_counter")
    ways = zip(forward.outputs, forward.inputs, grads, strict=True)
    ys, xs, known = zip(*((y, x, g) for y, x, g in ways if g is not None), strict=True)
    variables = [counter, forward.limit, total, *known]
    body = _gradient_body(forward, ys, xs, variables)
    if body.lists:
        forward.rewrite(body.lists)
    # The gradient of the gradient goes through all that the loop keeps.
    op.attrs["_num_original_outputs"] = len(op._outputs)
    variables += _captured(forward, body)
    variables = with_slices(grads, body, variables, op._inputs)
    made = _gradient_loop(op, body, variables)
    return _results([identity(tensor) for tensor in made], grads, body)


for _card in (while_op, stateless_while_op):
    _card.gradient(_loop_gradient)


def _trainable(forward: _Forward, given: Sequence[Any]) -> list[Any]:
    """Return the gradients that go through the loop, None for the other variables."""
    count = forward.op.attrs.get("_num_original_outputs", len(forward.op._outputs))
    grads: list[Any] = []
    for number, (grad, inner, outer) in enumerate(
        zip(given, forward.outputs, forward.op._outputs, strict=True)
    ):
        if number >= count or not _flows(inner):
            grad = None
        elif grad is None and outer.dtype == dtypes.resource:
            grad = zeros(variable_shape_op(outer))
        elif grad is None and outer.dtype == dtypes.variant:
            grad = zeros_like(outer)
        grads.append(grad)
    return grads


def _flows(tensor: Tensor) -> bool:
    """Return True if gradients flow through a tensor, or through a list's elements."""
    if tensor.op.type == "TensorListPopBack" and tensor.value_index == 0:
        return is_trainable(tensor.op.attrs["element_dtype"])
    return is_trainable(tensor)


def _gradient_body(
    forward: _Forward, ys: Sequence[Tensor], xs: Sequence[Tensor], variables: Sequence[Tensor]
) -> _GradientBody:
    def turn(counter: Any, limit: Any, total: Any, *grads: Any) -> list[Tensor]:
        made = differentiate(
            ys, xs, list(grads), source=forward.body,
            unconnected_gradients=UnconnectedGradients.ZERO,
        )  # fmt: skip
        return [counter + 1, limit, total, *made]

    graph = _GradientBody(gradient_name(forward.body.name), forward)
    trace_body(graph, turn, _arguments(graph, variables), ordered=True)
    for outside, inside in graph.captures:
        rest = graph.rests.get(inside)
        if rest is None:
            if inside.dtype != dtypes.resource and not forward.is_invariant(outside):
                raise ValueError(
                    f"Tensor {inside} which captures {outside} is in list of internal_captures but "
                    "is not a resource, is not in popped_tensor_lists and does not capture a loop "
                    "invariant."
                )
            rest = inside
        graph.outputs.append(rest)
        graph.structured_outputs.append(rest)
    return graph


def _arguments(graph: TracedGraph, variables: Sequence[Tensor]) -> list[Tensor]:
    with graph.as_default():
        return [graph.add_argument(tensor.dtype, tensor.shape) for tensor in variables]


def _captured(forward: _Forward, body: _GradientBody) -> list[Tensor]:
    """Return the inputs of the gradient's loop; the node's own results replace the body's."""
    places = positions(forward.body.outputs)
    return [
        forward.op._outputs[places[tensor]] if tensor.home is forward.body else tensor
        for tensor in body.captured_inputs
    ]


def _gradient_loop(op: Operation, body: _GradientBody, variables: Sequence[Tensor]) -> list[Tensor]:
    condition = WhileCondFuncGraph(gradient_name(op.attrs["cond"].name))

    def turns(counter: Any, limit: Any, total: Any, *others: Any) -> Tensor:
        return counter < total

    trace_body(condition, turns, _arguments(condition, variables), ordered=True)
    made = while_op(
        list(variables),
        cond=function_attribute(condition),
        body=function_attribute(body),
        output_shapes=[tensor.shape for tensor in body.outputs],
        parallel_iterations=op.attrs["parallel_iterations"],
        name=f"{op.name}_grad",
    )
    for inner, outer in zip(body.outputs, made, strict=True):
        copy_handle_data(inner, outer)
    finish(made[0].op)
    return made


def _results(made: Sequence[Tensor], grads: Sequence[Any], body: TracedGraph) -> list[Any]:
    """Return the gradients of the loop's variables, slices where the body gives such."""
    structures = iter(body.structured_outputs[OWN_VARIABLES:])
    values = iter(made[OWN_VARIABLES:])
    results: list[Any] = []
    for grad in grads:
        if grad is None:
            results.append(None)
        elif isinstance(next(structures), IndexedSlices):
            results.append(IndexedSlices(next(values), next(values), next(values)))
        else:
            results.append(next(values))
    return results
