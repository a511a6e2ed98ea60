"""Context of a loop: the edges of operations made in its condition and body."""

from __future__ import annotations

from typing import Any

from stillflow.graph import collection_protos
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.contexts import (
    ControlFlowContext,
    from_control_flow_context_def,
    output_context,
    with_scope,
    without_scope,
)
from stillflow.ops.control_flow.frames import (
    enter,
    in_xla,
    is_loop_constant_enter,
    is_loop_enter,
    is_loop_exit,
    while_context,
)
from stillflow.ops.control_flow.valid_inputs import check_inputs

# In the gradient of a loop, these are taken of values of the loop itself where those are made: it
# is cheaper to remember a shape for each iteration than the value it is the shape of.
_REDUCTIONS = frozenset({"Shape", "Size", "Rank"})


class WhileContext(ControlFlowContext):
    """One `tf.while_loop`, or the loop that computes the gradient of one.

    Args:
      maximum_iterations: a scalar tensor, or None.
      parallel_iterations: how many iterations may run at the same time.
      back_prop: whether the loop can be differentiated.
      swap_memory: whether remembered values may be moved to the host's memory.
      name: of the context, and of the frame that the loop runs in.
      grad_state: the `LoopGradState`, if this is the loop of a gradient.
      context_def: a `WhileContextDef` to read everything from instead.
      import_scope: prefix for names in `context_def`.

    Raises:
      ValueError: if `parallel_iterations` is not a positive integer.
    """

    def __init__(
        self,
        maximum_iterations: Tensor | None = None,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        name: str = "while_context",
        grad_state: Any = None,
        context_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        graph = get_default_graph()
        graph._loop_check = check_inputs
        self._graph = graph
        self._grad_state = grad_state
        if context_def is not None:
            self._read(context_def, import_scope)
            return
        super().__init__()
        if not isinstance(parallel_iterations, int) or parallel_iterations <= 0:
            raise ValueError(
                f"`parallel_iterations` must be a positive integer: {parallel_iterations}"
            )
        self._name = graph.unique_name(name)
        self._maximum_iterations = maximum_iterations
        self._parallel_iterations = parallel_iterations
        self._back_prop, self._swap_memory = back_prop, swap_memory
        # Constants made in the condition and in the body wait for these.
        self._pivot_for_pred: Any = None
        self._pivot_for_body: Any = None
        self._pivot: Any = None  # whether there is another iteration
        self._loop_enters: list[Tensor] = []
        self._loop_exits: list[Tensor] = []

    # ---- protos

    def _read(self, context_def: Any, import_scope: str | None) -> None:
        graph = self._graph

        def element(name: str) -> Any:
            return graph.as_graph_element(with_scope(name, import_scope))

        self._name = with_scope(context_def.context_name, import_scope)
        maximum = context_def.maximum_iterations_name
        self._maximum_iterations = element(maximum) if maximum else None
        self._parallel_iterations = context_def.parallel_iterations
        self._back_prop, self._swap_memory = context_def.back_prop, context_def.swap_memory
        self._pivot_for_pred = element(context_def.pivot_for_pred_name)
        self._pivot_for_body = element(context_def.pivot_for_body_name)
        self._pivot = element(context_def.pivot_name)
        self._loop_exits = [element(name) for name in context_def.loop_exit_names]
        self._loop_enters = [element(name) for name in context_def.loop_enter_names]
        name = self._name
        super().__init__(context_def.values_def, import_scope)
        self._name = name
        if import_scope:
            for value in self._values:
                op = graph.get_tensor_by_name(value).op
                if is_loop_enter(op):  # the frame is called as the context is
                    op.attrs["frame_name"] = self._name.encode()

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return this context as a `WhileContextDef`; None if it is outside `export_scope`."""
        from stillflow.protos import WhileContextDef

        if export_scope is not None and not self.name.startswith(export_scope):
            return None

        def stripped(tensor: Tensor) -> str:
            return without_scope(tensor.name, export_scope)

        message = WhileContextDef(
            context_name=without_scope(self.name, export_scope),
            parallel_iterations=self._parallel_iterations,
            back_prop=self._back_prop,
            swap_memory=self._swap_memory,
            pivot_for_pred_name=stripped(self._pivot_for_pred),
            pivot_for_body_name=stripped(self._pivot_for_body),
            pivot_name=stripped(self._pivot),
            loop_exit_names=[stripped(tensor) for tensor in self._loop_exits],
            loop_enter_names=[stripped(tensor) for tensor in self._loop_enters],
        )
        if self._maximum_iterations is not None:
            message.maximum_iterations_name = stripped(self._maximum_iterations)
        message.values_def.MergeFrom(self._to_values_def(export_scope))
        for nested in self._nested_contexts:
            nested.to_control_flow_context_def(message.nested_contexts.add())
        return message

    def to_control_flow_context_def(self, context_def: Any, export_scope: Any = None) -> None:
        context_def.while_ctxt.CopyFrom(self.to_proto(export_scope))

    @staticmethod
    def from_proto(context_def: Any, import_scope: str | None = None) -> WhileContext:
        """Read a `WhileContextDef` and the contexts nested in it."""
        context = WhileContext(context_def=context_def, import_scope=import_scope)
        context.Enter()
        for nested in context_def.nested_contexts:
            from_control_flow_context_def(nested, import_scope)
        context.Exit()
        return context

    # ---- its kind

    @property
    def maximum_iterations(self) -> Tensor | None:
        return self._maximum_iterations

    @property
    def parallel_iterations(self) -> int:
        return self._parallel_iterations

    @property
    def back_prop(self) -> bool:
        return self._back_prop

    @property
    def swap_memory(self) -> bool:
        return self._swap_memory

    @property
    def pivot(self) -> Tensor:
        """The boolean tensor that says whether there is another iteration."""
        result: Tensor = self._pivot
        return result

    @property
    def loop_enters(self) -> list[Tensor]:
        return self._loop_enters

    @property
    def loop_exits(self) -> list[Tensor]:
        return self._loop_exits

    @property
    def grad_state(self) -> Any:
        return self._grad_state

    def GetWhileContext(self) -> WhileContext:
        return self

    def IsWhileContext(self) -> bool:
        return True

    def GetControlPivot(self) -> Tensor | None:
        return self._pivot_for_pred if self._pivot_for_body is None else self._pivot_for_body

    # ---- additions to it

    def AddValue(self, val: Tensor) -> Tensor:
        """Return the tensor that stands for `val` in this loop: an Enter of it, made once."""
        # A back edge of a loop being imported belongs here although it was not added yet.
        if val.name in self._values or val.op._control_flow_context is self:
            return self._external_values.get(val.name, val)
        self._values.add(val.name)
        real = self._value_of_forward_loop(val)
        if real is not None:
            self._external_values[val.name] = real
            return real
        result = val if self._outer_context is None else self._outer_context.AddValue(val)
        with get_default_graph().control_dependencies(None):
            result = enter(
                result,
                self._name,
                is_constant=True,
                parallel_iterations=self._parallel_iterations,
            )
            result.graph.prevent_feeding(result)
            if self._outer_context is not None:
                self._outer_context.AddInnerOp(result.op)
        self._take_in([result])
        self._values.add(result.name)
        self._external_values[val.name] = result
        return result

    def _value_of_forward_loop(self, val: Tensor) -> Tensor | None:
        """Return the forward loop's `val` of the same iteration, in the loop of a gradient."""
        current = get_default_graph()._get_control_flow_context()
        current = None if current is None else current.GetWhileContext()
        if current is None or current.grad_state is None:
            return None
        forward = while_context(val.op)
        if is_loop_exit(val.op) and forward is not None:
            forward = forward.outer_context
            forward = None if forward is None else forward.GetWhileContext()
        if forward is not current.grad_state.forward_context:
            return None
        return current.grad_state.real_value(val)

    def AddOp(self, op: Operation) -> None:
        """Wires a new operation to this loop."""
        if op.type in _REDUCTIONS and not in_xla(op):
            current = get_default_graph()._get_control_flow_context()
            current = None if current is None else current.GetWhileContext()
            if current is not None and current.grad_state is not None:
                source = op._inputs[0].op
                if while_context(source) is current.grad_state.forward_context:
                    inside = source._get_control_flow_context()
                    op._set_control_flow_context(inside)
                    inside._add_op(op)
                    return
        self._add_op(op)

    def _add_op(self, op: Operation) -> None:
        if not op._inputs:
            kept, dropped = self._RemoveExternalControlEdges(op)
            if not kept:
                self._wait_for_pivot(op)
        else:
            for index, tensor in enumerate(op.inputs):
                inner = self.AddValue(tensor)
                if inner is not tensor:
                    op._update_input(index, inner)
            _, dropped = self._RemoveExternalControlEdges(op)
            if self._depends_on_invariants_only(op):
                self._wait_for_pivot(op)
        self._values.update([tensor.name for tensor in op._outputs])
        if dropped:
            self._bring_in_control_inputs(op, dropped)
        if self._outer_context is not None or not is_loop_exit(op):
            op.graph.prevent_fetching(op)
            for tensor in op._outputs:
                op.graph.prevent_feeding(tensor)
        if self._outer_context is not None:
            self._outer_context.AddInnerOp(op)

    def _wait_for_pivot(self, op: Operation) -> None:
        pivot = self.GetControlPivot()
        assert pivot is not None
        op._add_control_input(pivot.op)

    def _depends_on_invariants_only(self, op: Operation) -> bool:
        if op._control_inputs:
            return False
        if op.graph._is_function(op.type) or op.type == "SymbolicGradient":
            return True
        return all(is_loop_constant_enter(tensor.op) for tensor in op._inputs)

    def _bring_in_control_inputs(self, op: Operation, outside: list[Operation]) -> None:
        """Replace control inputs outside the loop by a consumer of their output inside."""
        from stillflow.ops.control_flow.identity_and_group import identity

        with get_default_graph().control_dependencies(None):
            self.Enter()
            inside = [identity(control._outputs[0]).op for control in outside if control._outputs]
            self.Exit()
        op._add_control_inputs(inside)

    def _take_in(self, enters: list[Tensor]) -> None:
        """Make Enters part of this context, with those control inputs that they may have."""
        graph = get_default_graph()
        outer = self._outer_context
        outer_loop = None if outer is None else outer.GetWhileContext()
        for tensor in enters:
            controls = []
            for control in graph._control_dependencies_for([tensor.op._inputs[0]]):
                # Allowed are those in contexts around this loop, within the next outer loop.
                wanted, context = output_context(control), outer
                while context is not wanted and context not in (None, outer_loop):
                    context = context.outer_context
                if context is wanted:
                    controls.append(control)
            tensor.op._set_control_flow_context(self)
            tensor.op._add_control_inputs(controls)
            graph._record_op_seen_by_control_dependencies(tensor.op)


collection_protos.while_context.provide(WhileContext)
