"""Gradients of loops: when a walk back through the graph enters and leaves them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.graph import get_default_graph
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.frames import (
    enter,
    exit_,
    is_loop_exit,
    is_loop_switch,
    is_switch,
    next_iteration,
    while_context,
)
from stillflow.ops.control_flow.loop_accumulators import (
    add_accumulator,
    add_slices_accumulator,
    inside,
    outside,
)
from stillflow.ops.control_flow.loop_state import LoopGradState
from stillflow.ops.control_flow.switch import merge, switch_ref_or_tensor
from stillflow.ops.control_flow.while_build import add_back_edge


class LoopState:
    """The loops that one call of `tf.gradients` goes through.

    Args:
      between: operations between ys and xs; the other results of these loops are added.
      seen: the same, as a set.
      colocate: whether what is added is placed with the loop.
    """

    def __init__(
        self, between: list[Operation], seen: set[Operation], colocate: bool = False
    ) -> None:
        self._states: dict[Any, LoopGradState] = {}
        graph = get_default_graph()
        for op in between:  # which grows
            if not is_loop_exit(op):
                continue
            if colocate:
                with graph.colocate_with(op):
                    self._add_loop(op, between, seen)
            else:
                self._add_loop(op, between, seen)

    def _add_loop(self, op: Operation, between: list[Operation], seen: set[Operation]) -> None:
        forward = while_context(op)
        if forward in self._states:
            return
        if forward is None:
            raise ValueError(
                "Failed to call gradients on a while loop without"
                "properly serializing graph via MetaGraphDef"
            )
        state = LoopGradState(forward, self._state_around(forward))
        self._states[forward] = state
        for result in state.forward_loop_exits:
            if result.op not in seen:
                seen.add(result.op)
                between.append(result.op)

    def _state_around(self, forward: Any) -> LoopGradState | None:
        outer = forward.outer_context
        outer = None if outer is None else outer.GetWhileContext()
        return None if outer is None else self._states.get(outer)

    def state_of(self, op: Operation, before: bool) -> LoopGradState | None:
        """Return the state of the loop that `op` is in.

        With `before`, an Exit is in the one outside.
        """
        if before and is_loop_exit(op):
            context = op._get_control_flow_context().outer_context
            context = None if context is None else context.GetWhileContext()
        else:
            context = while_context(op)
        return None if context is None else self._states.get(context)

    def enter(self, op: Operation, before: bool) -> None:
        """Enters the loop of the gradient, if `op` is in a loop."""
        state = self.state_of(op, before)
        if state is not None:
            state.grad_context.Enter()

    def exit(self, op: Operation, before: bool) -> None:
        state = self.state_of(op, before)
        if state is not None:
            state.grad_context.Exit()

    # ---- results of loops

    def unused_exits(self, pending: dict[Operation, int], starts: set[Operation]) -> list[Tensor]:
        """Results of loops that the walk begins at although no gradient reaches them."""
        found: list[Tensor] = []
        for state in self._states.values():
            unreached = [result for result in state.forward_loop_exits if not pending[result.op]]
            state.pending_exits -= len(unreached)
            state.unused_exits += [result for result in unreached if result.op not in starts]
            if unreached and state.pending_exits == 0:
                found += state.unused_exits
            # For gradients of gradients, the walk goes on through the initial values too.
            for value in state.forward_context.loop_enters:
                pending[value.op] = pending[value.op] or 1
        return found

    def defer_exit(self, walk: Any, result: Tensor) -> bool:
        """Return a loop is entered when all its results have been reached.

        True if this is a result.
        """
        if not is_loop_exit(result.op):
            return False
        state = self.state_of(result.op, before=False)
        assert state is not None
        state.deferred_exits.append(result)
        state.pending_exits -= 1
        if state.pending_exits:
            return True
        from stillflow.ops.gradients.gradients import is_trainable

        any_gradient = False
        for other in state.deferred_exits:
            if walk.has_gradient(other.op):
                any_gradient = True
                walk.queue.append(other.op)
            else:
                state.unused_exits.append(other)
        for other in state.unused_exits:
            # Without a gradient it may have a part in results that have one.
            if any_gradient and is_trainable(other):
                walk.add(other, self.zeros_for_exit(other))
            walk.queue.append(other.op)
        return True

    def zeros_for_exit(self, value: Tensor) -> Tensor:
        """Return the gradient of a result that is not used."""
        from stillflow.ops.arrays.fill import zeros, zeros_like
        from stillflow.ops.arrays.shape import shape_internal

        forward = value.op._get_control_flow_context()
        outer = self._state_around(forward)
        known = value.shape.is_fully_defined()
        if outer is None:
            if known:
                return zeros(value.shape.dims, value.dtype)
            return zeros_like(value, optimize=False)
        if known:
            with inside(outer.grad_context):
                return zeros(value.shape.dims, value.dtype)
        with inside(forward.outer_context):
            shape = shape_internal(value, optimize=False)
        history = outer.remember(shape)
        with inside(outer.grad_context):
            return zeros(outer.recall(history, shape), value.dtype)

    # ---- zeros

    def zeros_like(self, op: Operation, index: int) -> Tensor | None:
        """Zeros like an output that has no gradient; called in the loop of the gradient."""
        from stillflow.ops.arrays.fill import zeros, zeros_like
        from stillflow.ops.control_flow.gradients import zeros_like_outside_loop

        if is_loop_switch(op):
            return None
        if op.graph.building_function:
            return zeros_like(op._outputs[index])
        state = self._states.get(while_context(op))
        if state is None:
            return zeros_like_outside_loop(op, index)
        dead_branch = is_switch(op)
        context = op._get_control_flow_context()
        value = convert_to_tensor(op._outputs[index], name="tensor")
        if value.shape.is_fully_defined():
            result = constant(0, shape=value.shape.as_list(), dtype=value.dtype)
            if dead_branch:
                pred = state.history.get(context.pred.name)
                result = switch_ref_or_tensor(result, pred)[1 - context.branch]
            return result
        shape = self._shape_in_loop(op, value, context, dead_branch)
        with outside(state.grad_context):
            history = state.remember(shape, dead_branch)
        return zeros(state.recall(history, shape, dead_branch), value.dtype)

    def _shape_in_loop(
        self, op: Operation, value: Tensor, context: Any, dead_branch: bool
    ) -> Tensor:
        """Return the shape of `value`, in the loop.

        For a branch not taken, the shape of its would-be gradient.
        """
        from stillflow.ops.arrays.shape import shape_internal

        if not dead_branch:
            with inside(context):
                return shape_internal(value, optimize=False)
        with inside(context.outer_context):
            other = switch_ref_or_tensor(op._inputs[0], context.pred)[1 - context.branch]
            shape: Tensor = shape_internal(other, optimize=False)
        other.op._set_control_flow_context(context)
        shape.op._set_control_flow_context(context)
        return shape

    # ---- at the end

    def finish(self) -> None:
        """Loop variables whose value does not depend on the one before have gradient zero."""
        for state in self._states.values():
            for merged in state.switches.values():
                first, second = merged.op._inputs[:2]
                if first is second:
                    merged.op._update_input(1, _zero_gradient(state, first))


def _zero_gradient(state: LoopGradState, first: Tensor) -> Tensor:
    from stillflow.ops.arrays.fill import zeros
    from stillflow.ops.arrays.shape import shape_internal

    if first.shape.is_fully_defined():
        with inside(state.grad_context):
            value = constant(0, dtype=first.dtype, shape=first.shape)
            return next_iteration(value)
    with inside(state.grad_context.outer_context):
        value = zeros(shape_internal(first.op._inputs[0], optimize=False))
    with inside(state.grad_context):
        return next_iteration(value)


# ---- gradient functions of loops' operations


def loop_switch_gradient(op: Operation, grads: Sequence[Any]) -> list[Any]:
    """Return a Switch of a loop variable is visited twice: from the Exit, then from the body."""
    state = get_default_graph()._get_control_flow_context().grad_state
    merged = state.switches.get(op)
    if merged is not None:
        if grads[1] is not None:
            add_back_edge(merged, grads[1], enforce_shape=False)
        return [None, None]
    if grads[0] is None:
        return [None, None]  # the result is not differentiable
    merged = merge([grads[0], grads[0]], name="b_switch")[0]  # the second is replaced later
    state.switches[op] = merged
    return [merged, None]


def exit_gradient(op: Operation, grad: Any) -> Tensor | None:
    """Let the gradient of a result enter the loop of the gradient."""
    context = get_default_graph()._get_control_flow_context()
    if not context.back_prop:
        return None
    if op._get_control_flow_context().grad_state is not None:
        raise TypeError("Second-order gradient for while loops not supported.")
    if isinstance(grad, Tensor):
        context.AddName(grad.name)
    elif isinstance(grad, (IndexedSlices, SparseTensor)):
        for part in (grad.values, grad.indices, grad.dense_shape):
            if part is not None:
                context.AddName(part.name)
    else:
        raise TypeError(f"Type {type(grad)} not supported")
    with inside(context):
        entered = enter(
            grad,
            context.name,
            parallel_iterations=context.parallel_iterations,
            name="b_exit",
        )
        context.loop_enters.append(entered)
    return entered


def enter_gradient(op: Operation, grad: Any) -> Any:
    """Let the gradient of an initial value leave the gradient's loop; of an invariant, its sum."""
    context = get_default_graph()._get_control_flow_context()
    if context is None or not context.back_prop or context.grad_state is None:
        return grad
    if not op.attrs["is_constant"]:
        result = exit_(grad)
        context.loop_exits.append(result)
        context.ExitResult([result])
        return result
    if isinstance(grad, Tensor):
        return add_accumulator(context, op, grad)
    if isinstance(grad, IndexedSlices):
        return add_slices_accumulator(context, op, grad)
    raise TypeError(f"Type {type(grad)} not supported")
