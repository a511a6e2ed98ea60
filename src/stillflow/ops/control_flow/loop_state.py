"""Loop and the loop of its gradient: the one saves values and the other restores them.

Values that the gradient needs of each iteration are pushed onto stacks by the loop and popped by
the loop of the gradient, which runs through the iterations backwards.
"""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.constant_value import constant_value
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.contexts import output_context
from stillflow.ops.control_flow.frames import in_xla, is_containing, loop_constant_enter
from stillflow.ops.control_flow.identity_and_group import control_trigger_op
from stillflow.ops.control_flow.loop_accumulators import (
    add_backprop_counter,
    add_forward_counter,
    inside,
    outside,
)
from stillflow.ops.control_flow.switch import switch_ref_or_tensor
from stillflow.ops.control_flow.while_context import WhileContext


class LoopGradState:
    """State of one loop in `tf.gradients`.

    Attributes:
      outer_grad_state: the state of the loop around it, or None.
      forward_context: the context of the loop.
      forward_index: the index of the loop's next iteration, inside the loop.
      grad_context: the context of the gradient's loop.
      grad_index: the index that the gradient's loop is at.
      history: for names of the loop's values, what the gradient's loop recalls them as.
      switches: for Switches of loop variables, the Merge of their gradients.
      forward_loop_exits: the loop's results.
      pending_exits: how many of these have not been reached yet.
      deferred_exits, unused_exits: those that were reached; that have no gradient.
    """

    def __init__(self, forward_context: Any, outer_grad_state: LoopGradState | None) -> None:
        self.outer_grad_state = outer_grad_state
        self.forward_context = forward_context
        self.history: dict[str, Tensor] = {}
        self.switches: dict[Operation, Any] = {}
        self.unused_exits: list[Tensor] = []
        self.deferred_exits: list[Tensor] = []
        self.forward_loop_exits = list(forward_context.loop_exits)
        self.pending_exits = len(self.forward_loop_exits)
        self._forward_sync: Operation | None = None
        self._grad_sync: Operation | None = None
        if outer_grad_state is None:
            outer: Any = forward_context.outer_context
        else:
            outer = outer_grad_state.forward_context
        with forward_context._graph.as_default(), inside(outer):
            count, self.forward_index = add_forward_counter(forward_context, outer_grad_state)
        if outer_grad_state is None:
            with inside(outer):
                self.grad_context = self._make_context()
                self.grad_index = add_backprop_counter(self.grad_context, count, None)
            return
        # An inner loop may take another number of iterations whenever it runs.
        outer.AddName(count.name)
        history = outer_grad_state.remember(count)
        with inside(outer_grad_state.grad_context):
            self.grad_context = self._make_context()
            count = outer_grad_state.recall(history, count)
            self.grad_index = add_backprop_counter(self.grad_context, count, outer_grad_state)

    def _make_context(self) -> WhileContext:
        forward = self.forward_context
        return WhileContext(
            maximum_iterations=forward.maximum_iterations,
            parallel_iterations=forward.parallel_iterations,
            back_prop=forward.back_prop,
            swap_memory=forward.swap_memory,
            name=forward.name,
            grad_state=self,
        )

    @property
    def forward_sync(self) -> Operation:
        """Waits for what is pushed in a branch, so that pushes happen in order of iterations."""
        if self._forward_sync is None:
            with get_default_graph().control_dependencies(None):
                self._forward_sync = control_trigger_op(name="f_sync")
            self._forward_sync._set_control_flow_context(self.forward_context)
            self.forward_index.op._add_control_input(self._forward_sync)
        return self._forward_sync

    @property
    def grad_sync(self) -> Operation:
        """Return an operation after pops, so that pops happen in order of iterations."""
        if self._grad_sync is None:
            with get_default_graph().control_dependencies(None):
                self._grad_sync = control_trigger_op(name="b_sync")
            self._grad_sync._set_control_flow_context(self.grad_context)
            self.grad_index.op._add_control_input(self._grad_sync)
            if self.grad_context.outer_context is not None:
                self.grad_context.outer_context.AddInnerOp(self._grad_sync)
        return self._grad_sync

    # ---- remembering

    def remember(self, value: Tensor, dead_branch: bool = False) -> Tensor:
        """Make the loop keep `value` of every iteration on a stack; give the stack.

        To be called in the context that `tf.gradients` was called in.

        Args:
          value: made in the loop.
          dead_branch: whether `value` is about the branch of a cond that is not taken.

        Raises:
          TypeError: if `value` is in a context other than the loop and branches in it.
          ValueError: if no size is known for the stack where a compiled loop needs one.
        """
        with self.forward_index.graph.as_default():
            graph = get_default_graph()
            current = graph._get_control_flow_context()
            with graph.control_dependencies(None):
                with inside(current):
                    stack = self._stack(value)
                entered = self.forward_context.AddValue(stack)
                push = self._push(entered, value, dead_branch)
                # The push comes after the index was counted up, and before the next iteration.
                push._add_control_input(self.forward_index.op._inputs[0].op)
                return stack

    def _stack(self, value: Tensor) -> Tensor:
        from stillflow.ops.control_flow.stacks import stack_v2_op

        with get_default_graph().colocate_with(value):
            if in_xla(value.op):
                size = _stack_size(value, self.forward_context)
            else:
                size = constant(-1, dtypes.int32)
            stack: Tensor = stack_v2_op(size, elem_type=value.dtype.base_dtype, name="f_acc")
            return stack

    def _push(self, stack: Tensor, value: Tensor, dead_branch: bool) -> Operation:
        from stillflow.ops.control_flow.stacks import stack_push_v2_op

        context = output_context(value.op)
        at_top = context is self.forward_context
        if not at_top and not (context is not None and context.IsCondContext()):
            raise TypeError(f"value_ctxt is not a CondContext: {context}")
        with inside(context.outer_context if dead_branch and not at_top else context):
            pushed = stack_push_v2_op(stack, value, swap_memory=self.forward_context.swap_memory)
        push: Operation = pushed.op
        if at_top:
            self.forward_index.op._add_control_input(push)
            return push
        if dead_branch:
            push._set_control_flow_context(context)
        self.forward_sync._add_control_input(push)
        return push

    # ---- recalling

    def recall(self, history: Tensor, value: Tensor, dead_branch: bool = False) -> Tensor:
        """Return `value`, kept on the stack `history`, as it was in the gradient's iteration."""
        from stillflow.ops.control_flow.stacks import stack_pop_v2_op

        branch_context = self._branch_of(history, value)
        with get_default_graph().control_dependencies(None), inside(self.grad_context):
            if branch_context is not None:
                # Only where the branch was taken something was pushed.
                pred = self._predicate(branch_context)
                branch = branch_context.branch
                taken = 1 - branch if dead_branch else branch
                history = switch_ref_or_tensor(history, pred)[taken]
            popped: Tensor = stack_pop_v2_op(history, elem_type=value.dtype.base_dtype)
            popped.set_shape(value.shape)
        if self.grad_context.parallel_iterations > 1:
            self.grad_sync._add_control_input(popped.op)
        return popped

    def _branch_of(self, history: Tensor, value: Tensor) -> Any:
        """Return the branch that `value` is in, within the context of the stack."""
        outermost = history.op._get_control_flow_context()
        context = value.op._get_control_flow_context()
        while context is not None and context is not outermost:
            if context.IsCondContext():
                return context
            context = context.outer_context
        return None

    def _predicate(self, branch_context: Any) -> Tensor:
        name = branch_context.pred.name
        state: LoopGradState | None = self
        while state is not None:
            if name in state.history:
                return state.history[name]
            state = state.outer_grad_state
        return branch_context.pred

    def real_value(self, value: Tensor) -> Tensor:
        """Return the stand-in of a loop's value in the loop of its gradient.

        An invariant enters both loops, a constant is made again, anything else is remembered.
        """
        if value.name in self.history:
            return self.history[value.name]
        assert value.op.type not in ("Variable", "VariableV2")
        state: LoopGradState | None = self
        current = value
        while True:
            assert state is not None
            entering = loop_constant_enter(current)
            if entering is None:
                break
            current = entering._inputs[0]
            state = state.outer_grad_state
            if state is None:  # the same throughout all loops
                real = self.grad_context.AddValue(current)
                self.history[value.name] = real
                return real
        if current.op.type == "Const":
            real = constant(constant_value(current), dtype=current.dtype)
        else:
            with outside(self.grad_context):
                history = state.remember(current)
            real = state.recall(history, current)
            if state is not self:
                real = self.grad_context.AddValue(real)
        self.history[value.name] = real
        return real

    def recorded_predicate(self, pred: Tensor) -> Tensor:
        """Return the predicate of a cond in the loop, as it was in the gradient's iteration."""
        real = self.history.get(pred.name)
        if real is None:
            with outside(self.grad_context):
                history = self.remember(pred)
            real = self.recall(history, pred)
            self.history[pred.name] = real
        return real


def _stack_size(value: Tensor, context: Any) -> Tensor:
    """Return a stack's capacity: the product of iteration limits of all loops around `value`."""
    current = get_default_graph()._get_control_flow_context()
    size: Any = constant(1)
    while context is not None and context is not current:
        limit = context.maximum_iterations
        if limit is None:
            raise ValueError(
                f"Cannot create a gradient accumulator for tensor '{value.name}' inside XLA "
                "while_loop because maximum_iterations was not passed to the tf.while_loop call "
                f"('{context.name}')."
            )
        limit_context = limit.op._get_control_flow_context()
        if not is_containing(current, limit_context):
            known = constant_value(limit)
            if known is None:
                raise ValueError(
                    f"Cannot create a gradient accumulator for tensor '{value.name}' inside XLA "
                    f"while_loop. maximum_iterations tensor '{limit.name}' for while_loop context "
                    f"'{context.name}' must be statically known (e.g. a constant value or known "
                    "shape dimension), or be defined at or outside the while loop context "
                    f"'{'' if current is None else current.name}' (currently defined in "
                    f"'{limit_context.name}')."
                )
            limit = known
        size *= limit
        context = context.outer_context
        while context is not None and not context.IsWhileContext() and context is not current:
            context = context.outer_context
    return size
