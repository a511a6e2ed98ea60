"""Building the nodes of a loop: Enter, Merge, LoopCond, Switch, the body, NextIteration, Exit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import nest
from stillflow.graph import dims
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.flows import flow_of, is_tensor_array, packed
from stillflow.ops.control_flow.frames import (
    enter,
    exit_,
    hand_on,
    is_loop_constant_enter,
    next_iteration,
    tensor_or_composite,
)
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.control_flow.shape_invariants import (
    enforce_shape_invariant,
    set_shape_invariants,
    shape_invariant,
)
from stillflow.ops.control_flow.switch import loop_cond_op, merge, switch_ref_or_tensor
from stillflow.ops.control_flow.while_context import WhileContext


def build_loop(
    context: WhileContext,
    pred: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any,
    return_same_structure: bool,
) -> Any:
    """Build a loop in `context`; return the final loop variables."""
    tensors = [tensor_or_composite(flow_of(item), as_ref=False) for item in nest.flatten(loop_vars)]
    if shape_invariants is None:
        shape_invariants = nest.map_structure(shape_invariant, tensors)
    tensors = nest.flatten(tensors, expand_composites=True)
    try:
        context.Enter()
        with get_default_graph()._lock:
            result, exits = _build(context, pred, body, loop_vars, tensors, shape_invariants)
    finally:
        context.Exit()
    made = packed(result, exits)
    if return_same_structure or len(exits) != 1:
        return made
    return made[0]


def _build(
    context: WhileContext,
    pred: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    tensors: list[Tensor],
    shape_invariants: Any,
) -> tuple[Any, list[Tensor]]:
    enters = _enter_all(context, tensors, shape_invariants)
    merged = [merge([tensor, tensor])[0] for tensor in enters]
    context._pivot_for_pred = merged[0]
    condition = convert_to_tensor(pred(*packed(loop_vars, merged)))
    context._pivot = loop_cond_op(condition, name="LoopCond")
    switched = [switch_ref_or_tensor(tensor, context._pivot) for tensor in merged]
    inside = [hand_on(true_side) for _, true_side in switched]
    context._pivot_for_body = inside[0]
    given = packed(loop_vars, inside)
    result = _call_body(body, given)
    # Arguments come as a list, results mostly as a tuple: the outermost kind does not matter.
    nest.assert_same_structure(list(given), list(result), expand_composites=True)
    flat = [
        tensor_or_composite(flow_of(item), as_ref=False)
        for item in nest.flatten(result, expand_composites=True)
    ]
    if len(merged) != len(flat):
        raise ValueError(
            f"Number of inputs and outputs of body must match loop_vars: {len(merged)}, {len(flat)}"
        )
    for tensor, following in zip(merged, flat, strict=True):
        add_back_edge(tensor, following)
    exits = [exit_(false_side) for false_side, _ in switched]
    context._loop_exits = exits
    context.ExitResult(exits)
    return result, exits


def _enter_all(context: WhileContext, tensors: list[Tensor], shape_invariants: Any) -> list[Tensor]:
    context._values = {tensor.name for tensor in tensors}
    outer = context.outer_context
    real = tensors if outer is None else [outer.AddValue(tensor) for tensor in tensors]
    with get_default_graph().control_dependencies(None):
        enters = [
            enter(
                tensor,
                context.name,
                parallel_iterations=context.parallel_iterations,
                use_input_shape=shape_invariants is None,
            )
            for tensor in real
        ]
        for tensor in enters:
            tensor.graph.prevent_feeding(tensor)
            if outer is not None:
                outer.AddInnerOp(tensor.op)
    pivot = _control_pivot_around(context)
    if pivot is not None:
        for tensor in enters:
            if is_loop_constant_enter(tensor.op._inputs[0].op):
                tensor.op._add_control_input(pivot if isinstance(pivot, Operation) else pivot.op)
    set_shape_invariants(real, enters, shape_invariants)
    context._take_in(enters)
    context._values = {tensor.name for tensor in enters}
    context._loop_enters = enters
    return enters


def _control_pivot_around(context: WhileContext) -> Tensor | Operation | None:
    outer, pivot = context.outer_context, None
    while outer is not None and pivot is None:
        pivot = outer.GetControlPivot()
        outer = outer.outer_context
    return pivot


def _call_body(body: Callable[..., Any], arguments: Any) -> list[Any] | tuple[Any, ...]:
    """Return the body's results, which wait for the summaries that it made."""
    graph = get_default_graph()
    before = graph.get_collection(GraphKeys._SUMMARY_COLLECTION)
    result = body(*arguments)
    after = graph.get_collection(GraphKeys._SUMMARY_COLLECTION)
    if not nest.is_sequence_or_composite(result):
        result = [result]
    if len(after) > len(before):
        graph.get_collection_ref(GraphKeys._SUMMARY_COLLECTION)[:] = before
        with graph.control_dependencies(after[len(before) :]):
            result = nest.map_structure(
                lambda item: item if is_tensor_array(item) else identity(item),
                result,
                expand_composites=True,
            )
    return result


def add_back_edge(merged: Any, following: Any, enforce_shape: bool = True) -> Tensor:
    """Make `following` the value of `merged` from the second iteration on.

    ValueError if the shapes contradict each other.
    """
    if isinstance(merged, Tensor):
        following = next_iteration(convert_to_tensor(following))
        if enforce_shape:
            enforce_shape_invariant(merged, following)
        update_merge(merged, following)
        return following
    if isinstance(merged, IndexedSlices):
        from stillflow.ops.gradients.aggregation import as_slices_list

        following = as_slices_list([following])[0]
    following = next_iteration(following)
    return nest.map_structure(update_merge, merged, following, expand_composites=True)


def update_merge(merged: Tensor, following: Tensor) -> None:
    """Replace the second input of a Merge."""
    first = merged.op._inputs[1]._dims
    try:
        dims.merge(following._dims, first)
    except ValueError:
        raise ValueError(
            "Cannot update edge, incompatible shapes: "
            f"{dims.to_string(following._dims)} and {dims.to_string(first)}."
        ) from None
    merged.op._update_input(1, following)
