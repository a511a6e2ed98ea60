"""`While` nodes: loops whose condition and body are functions of the graph's library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow import nest
from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.flows import flow_of, packed
from stillflow.ops.control_flow.frames import tensor_or_composite
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.control_flow.shape_invariants import is_less_or_equal, shape_invariant
from stillflow.ops.functional.accumulators import accumulator_of
from stillflow.ops.functional.branches import scalar_condition
from stillflow.ops.functional.cards import while_op
from stillflow.ops.functional.intermediates import outputs_all_intermediates
from stillflow.ops.functional.nodes import (
    WhileBodyFuncGraph,
    WhileCondFuncGraph,
    control_captures,
    copy_handle_data,
    finish,
    function_attribute,
    function_name,
    shares_collections,
)
from stillflow.ops.functional.traced_graph import TracedGraph
from stillflow.ops.functional.tracing import trace_body
from stillflow.ops.math.comparison import logical_and
from stillflow.ops.tensor_list.cards import cards as list_cards
from stillflow.ops.tensor_list.public import empty_tensor_list

# A loop's first two variables: its iteration counter and its iteration limit.
_OWN = 2


class _Signature:
    """The variables of a loop: tensors, and the static shapes that they keep."""

    def __init__(self, loop_vars: Any, shape_invariants: Any) -> None:
        self.structure = loop_vars
        values = [
            nest.map_structure(_as_tensor, item, expand_composites=True) for item in loop_vars
        ]
        if shape_invariants is None:
            shapes = nest.map_structure(shape_invariant, values, expand_composites=False)
        else:
            nest.assert_same_structure(loop_vars, shape_invariants, expand_composites=False)
            shapes = nest.map_structure(
                shape_invariant, values, list(shape_invariants), expand_composites=False
            )
        self.tensors: list[Tensor] = nest.flatten(values, expand_composites=True)
        self.shapes: list[TensorShape] = nest.flatten(shapes)

    def pack(self, tensors: Sequence[Any]) -> list[Any] | tuple[Any, ...]:
        return packed(self.structure, tensors)


def _as_tensor(value: Any) -> Tensor:
    return tensor_or_composite(flow_of(value), as_ref=False)


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    maximum_iterations: Any = None,
    name: str | None = None,
    return_same_structure: bool = True,
    back_prop: bool = True,
) -> Any:
    """`tf.while_loop` as a `While` node; see there."""
    signature = _Signature(loop_vars, shape_invariants)
    with name_scope(name or "while") as scope:
        with name_scope(None):
            names = [function_name(scope, part) for part in ("cond", "body")]
        own = _own_variables(maximum_iterations)
        limited = maximum_iterations is not None
        condition, turn = _traced(names, cond, body, signature, own, limited)
        variables = [*own, *signature.tensors, *turn.captured_inputs]
        turn.outputs.extend(turn.inputs[len(own) + len(signature.tensors) :])
        _capture_all(condition, turn.captured_inputs)
        _check_shapes(turn, signature)
        count = len(turn.outputs)
        if back_prop and outputs_all_intermediates():
            variables += _accumulate_all(condition, turn, maximum_iterations)
        _check_types(turn, variables)
        shapes = [output.shape for output in turn.outputs]
        shapes[_OWN : _OWN + len(signature.shapes)] = signature.shapes
        with control_dependencies(control_captures((condition, turn))):
            made = while_op(  # TF 1.15 builds no StatelessWhile
                variables,
                cond=function_attribute(condition),
                body=function_attribute(turn),
                output_shapes=shapes,
                parallel_iterations=parallel_iterations,
                name=scope,
            )
            op = made[0].op
            op.attrs["_num_original_outputs"] = count
        for inner, outer in zip(turn.outputs, made, strict=True):
            copy_handle_data(inner, outer)
        finish(op)
        # Not the node itself is fetched, which would run all of the loop.
        results = [identity(tensor) for tensor in made]
    outputs = signature.pack(results[_OWN : _OWN + len(signature.tensors)])
    if return_same_structure:
        return outputs
    flat = nest.flatten(outputs, expand_composites=True)
    return flat[0] if len(flat) == 1 else outputs


def _own_variables(maximum_iterations: Any) -> list[Tensor]:
    limited = maximum_iterations is not None
    limit = convert_to_tensor(
        maximum_iterations if limited else -1, dtype=dtypes.int32, name="maximum_iterations"
    )
    return [constant(0, dtype=limit.dtype if limited else None, name="loop_counter"), limit]


def _traced(
    names: Sequence[str],
    cond: Callable[..., Any],
    body: Callable[..., Any],
    signature: _Signature,
    own: Sequence[Tensor],
    limited: bool,
) -> tuple[TracedGraph, TracedGraph]:
    """Return the functions of a loop."""
    collections = shares_collections()
    ordered = getattr(get_default_graph(), "orders_effects", False)

    def holds(counter: Any, limit: Any, *args: Any) -> Any:
        pred = scalar_condition(cond(*signature.pack(args)))
        return logical_and(counter < limit, pred) if limited else pred

    condition = WhileCondFuncGraph(names[0], collections)
    trace_body(condition, holds, _arguments(condition, own, signature), ordered=ordered)
    turn = WhileBodyFuncGraph(names[1], collections)

    def take(counter: Any, limit: Any, *args: Any) -> list[Any]:
        for tensor in condition.captured_inputs:
            turn.capture(tensor)
        results = body(*signature.pack(args))
        if not nest.is_sequence_or_composite(results):
            results = [results]
        # Arguments come as a list, results mostly as a tuple: the outermost kind does not matter.
        nest.assert_same_structure(list(results), list(signature.structure), expand_composites=True)
        flows = nest.map_structure(flow_of, results, expand_composites=True)
        return [counter + 1, limit, *flows]

    trace_body(turn, take, _arguments(turn, own, signature), ordered=ordered)
    if len(condition.outputs) != 1:
        raise AssertionError(f"cond_graph has {len(condition.outputs)} outputs; Expected: 1")
    return condition, turn


def _arguments(graph: TracedGraph, own: Sequence[Tensor], signature: _Signature) -> list[Tensor]:
    with graph.as_default():
        made = [graph.add_argument(t.dtype, t.shape, t.op.name) for t in own]
        pairs = zip(signature.tensors, signature.shapes, strict=True)
        return made + [graph.add_argument(tensor.dtype, shape) for tensor, shape in pairs]


def _capture_all(graph: TracedGraph, tensors: Sequence[Tensor]) -> None:
    """Make the condition take all that the body takes, in the same order."""
    with graph.as_default():
        for tensor in tensors:
            graph.capture(tensor)


def _accumulate_all(
    condition: TracedGraph, turn: TracedGraph, maximum_iterations: Any
) -> list[Tensor]:
    """Has a loop keep all that its body computes; gives the lists that it starts with."""
    known = set(turn.inputs[len(turn.arguments) :])
    found = [
        tensor
        for op in turn.get_operations()
        if op.type not in ("Identity", "MutexLock")
        for tensor in op._outputs
        if tensor is not turn.inputs[0]
        and tensor.dtype != dtypes.resource
        and tensor not in known
        and accumulator_of(tensor) is None
    ]
    lists = []
    for tensor in found:
        made = empty_tensor_list(tensor.shape, tensor.dtype, maximum_iterations)
        _capture_all(condition, [made])
        with turn.as_default():
            turn.outputs.append(list_cards["TensorListPushBack"](made, tensor))
        lists.append(made)
    return lists


def _check_shapes(turn: TracedGraph, signature: _Signature) -> None:
    outputs = turn.outputs[_OWN:]
    for output, shape, tensor in zip(outputs, signature.shapes, signature.tensors, strict=False):
        if not is_less_or_equal(output.shape, shape):
            raise ValueError(
                f"Input tensor '{tensor.name}' enters the loop with shape {shape}, but has shape "
                f"{output.shape} after one iteration. To allow the shape to vary across "
                "iterations, use the `shape_invariants` argument of tf.while_loop to specify a "
                "less-specific shape."
            )


def _check_types(turn: TracedGraph, variables: Sequence[Tensor]) -> None:
    for inner, output, tensor in zip(turn.inputs, turn.outputs, variables, strict=True):
        if inner.dtype != output.dtype:
            raise TypeError(
                f"Loop var {tensor.name} enters the loop with type {inner.dtype} but has type "
                f"{output.dtype} after 1 iteration."
            )
