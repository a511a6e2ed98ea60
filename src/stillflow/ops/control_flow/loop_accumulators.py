"""Loop variables that gradients add to loops: counters of iterations, and sums over them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.frames import enter, exit_, next_iteration
from stillflow.ops.control_flow.switch import loop_cond_op, merge, switch
from stillflow.ops.control_flow.while_build import update_merge


@contextlib.contextmanager
def inside(context: Any) -> Iterator[None]:
    """Add new operations to `context`; if that is None, to the current one."""
    if context is None:
        yield
        return
    context.Enter()
    try:
        yield
    finally:
        context.Exit()


@contextlib.contextmanager
def outside(context: Any) -> Iterator[None]:
    """Leaves `context`, which is current, and comes back to it."""
    context.Exit()
    try:
        yield
    finally:
        context.Enter()


def _enter(context: Any, value: Tensor, name: str, use_input_shape: bool = True) -> Tensor:
    entered: Tensor = enter(
        value,
        context.name,
        parallel_iterations=context.parallel_iterations,
        use_input_shape=use_input_shape,
        name=name,
    )
    return entered


def add_forward_counter(context: Any, outer_state: Any) -> tuple[Tensor, Tensor]:
    """Make a loop count its iterations; called in the context around the loop.

    Return their number, and the index of the next iteration inside.
    """
    from stillflow.ops.math.binary import add

    count = constant(0, name="f_count")
    if outer_state is not None:
        # One run of an inner loop pushes before its next run does.
        count.op._add_control_input(outer_state.forward_index.op._inputs[0].op)
    with inside(context):
        context.AddName(count.name)
        entered = _enter(context, count, "f_count")
        context.loop_enters.append(entered)
        merged = merge([entered, entered])[0]
        ended, going = switch(merged, context.pivot)
        following = next_iteration(add(going, 1))
        update_merge(merged, following)
        total = exit_(ended, name="f_count")
        context.loop_exits.append(total)
        context.ExitResult([total])
    return total, following


def add_backprop_counter(context: Any, count: Tensor, outer_state: Any) -> Tensor:
    """Make the loop of a gradient: as many iterations as `count` says, counted down."""
    from stillflow.ops.math.binary import subtract
    from stillflow.ops.math.comparison import greater_equal

    one = constant(1, name="b_count")
    with inside(context):
        context.AddName(count.name)
        entered = _enter(context, count, "b_count")
        context.loop_enters.append(entered)
        merged = merge([entered, entered])[0]
        context._pivot_for_pred = merged
        context._pivot = loop_cond_op(greater_equal(merged, one), name="b_count")
        ended, going = switch(merged, context.pivot)
        index = subtract(going, one)
        context._pivot_for_body = index
        following = next_iteration(index)
        update_merge(merged, following)
        final = exit_(ended, name="b_count")
        context.loop_exits.append(final)
        if outer_state is not None:
            # One run of an inner loop pops before its next run does.
            outer_state.grad_sync._add_control_input(final.op)
        context.ExitResult([final])
    return following


def add_accumulator(context: Any, op: Operation, grad: Tensor) -> Tensor:
    """Return the sum over all iterations of the gradient of `op`, the Enter of a loop invariant."""
    from stillflow.ops.math.binary import add

    with outside(context):
        start = _zeros_like_invariant(context, op, grad)
    context.AddName(start.name)
    entered = _enter(context, start, "b_acc")
    context.loop_enters.append(entered)
    merged = merge([entered, entered], name="b_acc")[0]
    ended, going = switch(merged, context.pivot)
    update_merge(merged, next_iteration(add(going, grad)))
    total: Tensor = exit_(ended, name="b_acc")
    context.loop_exits.append(total)
    context.ExitResult([total])
    return total


def _zeros_like_invariant(context: Any, op: Operation, grad: Tensor) -> Tensor:
    """Return the initial sum, which is the result of no iterations; made outside the loop."""
    from stillflow.ops.arrays.fill import zeros
    from stillflow.ops.arrays.shape import shape_internal

    outer = context.outer_context
    if grad.shape.is_fully_defined():
        with inside(outer):
            return constant(0, grad.dtype, shape=grad.shape, name="b_acc")
    value = op._inputs[0]
    if outer is None or not outer.IsWhileContext() or outer.grad_state is None:
        with inside(outer):
            return zeros(shape_internal(value, optimize=False), grad.dtype)
    # In a nested loop the shape may be another whenever the loop runs.
    with inside(context.grad_state.forward_context.outer_context):
        shape = shape_internal(value, optimize=False)
    outer_state = context.grad_state.outer_grad_state
    history = outer_state.remember(shape)
    with inside(outer):
        return zeros(outer_state.recall(history, shape), grad.dtype)


def add_slices_accumulator(context: Any, op: Operation, grad: IndexedSlices) -> IndexedSlices:
    """Return the sum of sparse gradients of a loop invariant: the slices of all iterations."""
    from stillflow.ops.arrays.concat import concat
    from stillflow.ops.math.binary import maximum

    with outside(context):
        starts = _empty_slices(context, op, grad)
    for start in (starts[1], starts[0], *starts[2:]):
        context.AddName(start.name)
    # The slices grow, so that their shapes are not those they enter with.
    entered = [_enter(context, start, "b_acc", use_input_shape=False) for start in starts]
    entered[0].set_shape([None])
    if starts[1].shape.dims is not None:
        entered[1].set_shape([None, *starts[1].shape.as_list()[1:]])
    context.loop_enters.extend(entered)
    merged = [merge([tensor, tensor], name="b_acc")[0] for tensor in entered]
    switched = [switch(tensor, context.pivot) for tensor in merged]
    parts = [grad.indices, grad.values]
    following = [
        concat([going, part], 0) for (_, going), part in zip(switched, parts, strict=False)
    ]
    if len(starts) == 3:
        following.append(maximum(grad.dense_shape, switched[2][1]))
    following = [next_iteration(tensor) for tensor in following]
    for tensor, value in zip(merged, following, strict=True):
        update_merge(tensor, value)
    exits = [exit_(ended, name="b_acc") for ended, _ in switched]
    context.loop_exits.extend(exits)
    context.ExitResult(exits)
    return IndexedSlices(exits[1], exits[0], exits[2] if len(exits) == 3 else None)


def _empty_slices(context: Any, op: Operation, grad: IndexedSlices) -> list[Tensor]:
    """Return indices, values and any known dense shape to start with: one slice of zeros."""
    from stillflow.ops.arrays.concat import concat
    from stillflow.ops.arrays.fill import zeros, zeros_like
    from stillflow.ops.arrays.shape import shape_internal

    outer, values, dense_shape = context.outer_context, grad.values, grad.dense_shape
    with inside(outer):
        if values.shape.is_fully_defined():
            size = TensorShape([1, *values.shape.as_list()[1:]])
            with inside(outer):
                zero_values = constant(0, values.dtype, shape=size, name="b_acc")
        else:
            rest = _shape_of(op._inputs[0])[1:]
            zero_values = zeros(concat([[1], rest], 0), dtype=values.dtype)
        starts = [constant([0], grad.indices.dtype), zero_values]
        if dense_shape is None:
            return starts
        if dense_shape.shape.is_fully_defined():
            with inside(outer):
                zero_shape = constant(0, dense_shape.dtype, shape=dense_shape.shape)
        else:
            shape = shape_internal(op._inputs[0], optimize=False, out_type=dense_shape.dtype)
            zero_shape = zeros_like(shape, optimize=False)
        return [*starts, zero_shape]


def _shape_of(tensor: Tensor) -> Any:
    """Return the shape of a tensor, or of the variable that a handle points to."""
    from stillflow.ops.arrays.shape import shape_internal

    if tensor.dtype != dtypes.resource:
        return shape_internal(tensor, optimize=False)
    while tensor.op._inputs:
        tensor = tensor.op._inputs[0]
    return TensorShape(tensor.op.get_attr("shape"))
