"""Gradients through branches and loops."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType
from stillflow.graph.graph import get_default_graph
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.parts import Gradients
from stillflow.ops.control_flow.contexts import output_context
from stillflow.ops.control_flow.switch import (
    enter_op,
    exit_op,
    loop_cond_op,
    merge,
    merge_op,
    next_iteration_op,
    ref_enter_op,
    ref_exit_op,
    ref_merge_op,
    ref_next_iteration_op,
    ref_switch_op,
    switch,
    switch_op,
    switch_ref_or_tensor,
)


def zeros_dtype(tensor: Tensor) -> DType:
    """Return the known type of zeros like `tensor`, or like the variable of its handle."""
    if tensor.dtype != dtypes.resource:
        return tensor.dtype.base_dtype
    return tensor._handle_dtype or dtypes.float32


def zeros_like_outside_loop(op: Operation, index: int) -> Tensor:
    """Zeros like output number `index`, made only in the branch where the output exists."""
    from stillflow.ops.arrays.fill import zeros, zeros_like
    from stillflow.ops.arrays.shape import shape_internal
    from stillflow.ops.control_flow.identity_and_group import identity
    from stillflow.ops.variables.resource import variable_shape_op

    value = op._outputs[index]
    is_resource = value.dtype == dtypes.resource
    context = op._get_control_flow_context() if op.type in ("Switch", "RefSwitch") else None
    if context is None:
        if is_resource:
            return zeros(variable_shape_op(value), dtype=zeros_dtype(value))
        return zeros_like(value, optimize=False)
    other = switch(op.inputs[0], context.pred)[1 - context.branch]
    pivot = identity(other)
    graph = get_default_graph()
    if is_resource:
        with graph.control_dependencies([pivot]):
            return zeros(variable_shape_op(other), dtype=zeros_dtype(value))
    size = shape_internal(other, optimize=False)
    with graph.control_dependencies([pivot]):
        return zeros(size, dtype=value.dtype.base_dtype)


@switch_op.gradient
def switch_gradient(node: Node, *grads: Any) -> Gradients:
    context = node.op._get_control_flow_context()
    if context is not None and context.IsWhileContext():
        from stillflow.ops.control_flow.while_gradients import loop_switch_gradient

        return loop_switch_gradient(node.op, grads)
    if context is None:
        false_side = switch(grads[0], node.inputs[1])[0]
        true_side = switch(grads[1], node.inputs[1])[1]
        return [merge([false_side, true_side])[0], None]
    if grads[1 - context.branch] is not None:
        return [merge(grads, name="cond_grad")[0], None]
    if node.inputs[0].dtype == dtypes.resource:
        return [merge([grads[context.branch]] * 2, name="cond_resource_grad")[0], None]
    return [None, None]


ref_switch_op.gradient(switch_gradient)


@merge_op.gradient
def merge_gradient(node: Node, grad: Any, unused: Any) -> Gradients:
    from stillflow.ops.math.comparison import equal

    context = output_context(node.inputs[0].op)
    here = get_default_graph()._get_control_flow_context()
    if context is not None and context.IsWhileContext():
        return list(switch_ref_or_tensor(grad, here.pivot))
    if context is None:
        chosen = [equal(node.outputs[1], i) for i in range(len(node.inputs))]
        return [switch_ref_or_tensor(grad, pred)[1] for pred in chosen]
    pred = context.pred
    if here is not None and here.grad_state is not None:
        pred = here.grad_state.recorded_predicate(pred)
    return list(switch_ref_or_tensor(grad, pred, name="cond_grad"))


ref_merge_op.gradient(merge_gradient)


@enter_op.gradient
@ref_enter_op.gradient
def enter_gradient(node: Node, grad: Any) -> Gradients:
    from stillflow.ops.control_flow.while_gradients import enter_gradient

    return enter_gradient(node.op, grad)


@exit_op.gradient
@ref_exit_op.gradient
def exit_gradient(node: Node, grad: Any) -> Gradients:
    from stillflow.ops.control_flow.while_gradients import exit_gradient

    return exit_gradient(node.op, grad)


@next_iteration_op.gradient
@ref_next_iteration_op.gradient
def next_iteration_gradient(node: Node, grad: Any) -> Gradients:
    return grad  # the Switch's gradient adds the NextIteration of the gradient's loop


@loop_cond_op.gradient
def loop_cond_gradient(node: Node, grad: Any) -> Gradients:
    return None
