"""Control-flow contexts: the edges of operations made inside a branch.

A context wraps every tensor that comes from outside (in a branch, by a Switch) as operations are
added to the graph. Contexts are written to MetaGraphs, so their names and value sets are TF's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillflow.graph import collection_protos
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.flows import flow_of
from stillflow.ops.control_flow.switch import switch_ref_or_tensor

if TYPE_CHECKING:
    from stillflow.ops.control_flow.while_context import WhileContext


class ControlFlowContext:
    """The base of branch and loop contexts.

    `_values` holds the names of tensors seen inside; `_external_values` maps names of outside
    tensors to their stand-ins inside.
    """

    def __init__(self, values_def: Any = None, import_scope: str | None = None) -> None:
        self._nested_contexts: list[Any] = []
        self._outer_context = get_default_graph()._get_control_flow_context()
        if self._outer_context is not None:
            self._outer_context._nested_contexts.append(self)
        self._context_stack: list[Any] = []
        self._values: set[str] = set()
        self._external_values: dict[str, Tensor] = {}
        self._name = ""
        if values_def is not None:
            self._read_values(values_def, import_scope)

    def _read_values(self, values_def: Any, import_scope: str | None) -> None:
        graph = get_default_graph()
        self._values = {with_scope(value, import_scope) for value in values_def.values}
        for key, value in values_def.external_values.items():
            element = graph.as_graph_element(with_scope(value, import_scope))
            self._external_values[with_scope(key, import_scope)] = element  # type: ignore[assignment]
        for name in {v.split(":")[0] for v in self._values - set(self._external_values)}:
            found = graph.as_graph_element(name)
            assert isinstance(found, Operation)
            found._set_control_flow_context(self)

    @property
    def name(self) -> str:
        return self._name

    @property
    def outer_context(self) -> Any:
        return self._outer_context

    @property
    def grad_state(self) -> None:
        return None

    @property
    def back_prop(self) -> bool:
        return False

    def _to_values_def(self, export_scope: str | None = None) -> Any:
        from stillflow.protos import ValuesDef

        values_def = ValuesDef()
        values_def.values.extend(without_scope(v, export_scope) for v in sorted(self._values))
        for key, value in self._external_values.items():
            name = without_scope(value.name, export_scope)
            values_def.external_values[without_scope(key, export_scope)] = name
        return values_def

    def AddName(self, name: str) -> None:
        self._values.add(name)

    def Enter(self) -> None:
        graph = get_default_graph()
        self._context_stack.append(graph._get_control_flow_context())
        graph._set_control_flow_context(self)

    def Exit(self) -> None:
        get_default_graph()._set_control_flow_context(self._context_stack.pop())

    def AddOp(self, op: Operation) -> None:
        raise NotImplementedError("contexts say how operations are added")

    def AddValue(self, val: Tensor) -> Tensor:
        raise NotImplementedError("contexts say how tensors from outside are taken in")

    def AddInnerOp(self, op: Operation) -> None:
        """Is told of operations added to a scope inside."""
        if self._outer_context is not None:
            self._outer_context.AddInnerOp(op)

    def ExitResult(self, result: Any) -> None:
        """Make results known to the context outside."""
        if self._outer_context is not None:
            from stillflow import nest

            for tensor in nest.flatten(result, expand_composites=True):
                self._outer_context.AddName(tensor.name)

    def GetWhileContext(self) -> WhileContext | None:
        """Return the innermost loop around this context, or None."""
        return None if self._outer_context is None else self._outer_context.GetWhileContext()

    def GetControlPivot(self) -> Tensor | Operation | None:
        return None

    def IsWhileContext(self) -> bool:
        return False

    def IsCondContext(self) -> bool:
        return False

    def IsXLAContext(self) -> bool:
        return False

    def EnterGradientColocation(self, op: Operation, gradient_uid: Any) -> None:
        if self._outer_context is not None:
            self._outer_context.EnterGradientColocation(op, gradient_uid)

    def ExitGradientColocation(self, op: Operation, gradient_uid: Any) -> None:
        if self._outer_context is not None:
            self._outer_context.ExitGradientColocation(op, gradient_uid)

    def _RemoveExternalControlEdges(self, op: Operation) -> tuple[list[Any], list[Any]]:
        """Inside a loop, drops control inputs from outside of it; gives (kept, dropped)."""
        loop = self.GetWhileContext()
        if loop is None:
            return op.control_inputs, []
        kept: list[Any] = []
        dropped: list[Any] = []
        for control in op.control_inputs:
            context = output_context(control)
            inside = context is not None and context.GetWhileContext() is loop
            (kept if inside else dropped).append(control)
        if dropped:
            op._remove_all_control_inputs()
            op._add_control_inputs(kept)
        return kept, dropped

    def __str__(self) -> str:
        return self.name


class CondContext(ControlFlowContext):
    """One branch of a `tf.cond`.

    Args:
      pred: the predicate.
      pivot: a tensor that exists when this branch is taken.
      branch: 1 for true, 0 for false.
      name: of the context.
      context_def: a `CondContextDef` to read everything from instead.
      import_scope: prefix for names in `context_def`.
    """

    def __init__(
        self,
        pred: Tensor | None = None,
        pivot: Tensor | None = None,
        branch: int | None = None,
        name: str = "cond_text",
        context_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        unique = get_default_graph().unique_name(name)
        if context_def is not None:
            graph = get_default_graph()
            self._pred: Any = graph.as_graph_element(
                with_scope(context_def.pred_name, import_scope)
            )
            self._pivot: Any = graph.as_graph_element(
                with_scope(context_def.pivot_name, import_scope)
            )
            self._branch = context_def.branch
            super().__init__(context_def.values_def, import_scope)
            self._name = with_scope(context_def.context_name, import_scope)
            return
        super().__init__()
        assert pred is not None and pivot is not None
        self._name = unique
        self._pred, self._pivot, self._branch = pred, pivot, branch
        self._values.add(pred.name)
        self._external_values[pred.name] = pred
        self._values.add(pivot.name)
        pivot.op._set_control_flow_context(self)

    @property
    def pred(self) -> Tensor:
        result: Tensor = self._pred
        return result

    @property
    def pivot(self) -> Tensor:
        result: Tensor = self._pivot
        return result

    @property
    def branch(self) -> int:
        return self._branch

    @property
    def grad_state(self) -> Any:
        loop = self.GetWhileContext()
        return None if loop is None else loop.grad_state

    def GetControlPivot(self) -> Tensor:
        return self.pivot

    def IsCondContext(self) -> bool:
        return True

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return this context as a `CondContextDef`; None if it is outside `export_scope`."""
        from stillflow.protos import CondContextDef

        if export_scope is not None and not self.name.startswith(export_scope):
            return None
        message = CondContextDef(
            context_name=without_scope(self.name, export_scope),
            pred_name=without_scope(self._pred.name, export_scope),
            pivot_name=without_scope(self._pivot.name, export_scope),
            branch=self._branch,
        )
        message.values_def.MergeFrom(self._to_values_def(export_scope))
        for nested in self._nested_contexts:
            nested.to_control_flow_context_def(message.nested_contexts.add())
        return message

    def to_control_flow_context_def(self, context_def: Any, export_scope: Any = None) -> None:
        context_def.cond_ctxt.CopyFrom(self.to_proto(export_scope))

    @staticmethod
    def from_proto(context_def: Any, import_scope: str | None = None) -> CondContext:
        """Read a `CondContextDef` and the contexts nested in it."""
        context = CondContext(context_def=context_def, import_scope=import_scope)
        context.Enter()
        for nested in context_def.nested_contexts:
            from_control_flow_context_def(nested, import_scope)
        context.Exit()
        return context

    def _taken_outside(self, val: Tensor) -> Tensor:
        """Return the tensor that stands for `val` around this branch."""
        result = val
        self._values.add(val.name)
        if self._outer_context is not None:
            result = self._outer_context.AddValue(val)
            self._values.add(result.name)
            self._external_values[result.name] = result
        return result

    def AddValue(self, val: Tensor) -> Tensor:
        """Return the tensor that stands for `val` in this branch: a Switch of it, made once."""
        if val.name in self._values:
            return self._external_values.get(val.name, val)
        result = self._taken_outside(val)
        with get_default_graph().control_dependencies(None):
            result = switch_ref_or_tensor(result, self._pred)[self._branch]
            if self._outer_context is not None:
                self._outer_context.AddInnerOp(result.op)
        result.graph.prevent_fetching(result.op)
        result.op._set_control_flow_context(self)
        context: Any = self
        while context is not None:
            context._values.add(result.name)
            context = context._outer_context
        self._external_values[val.name] = result
        return result

    def AddOp(self, op: Operation) -> None:
        """Wires a new operation to this branch."""
        if not op._inputs:
            self._RemoveExternalControlEdges(op)
            if not any(in_context(control, self) for control in op._control_inputs):
                op._add_control_input(self._pivot.op)
        else:
            for index, tensor in enumerate(op.inputs):
                if op.type == "Merge" and tensor.op.type == "NextIteration":
                    continue  # the back edge of a loop inside
                inner = self.AddValue(tensor)
                if inner is not tensor:
                    op._update_input(index, inner)
            self._RemoveExternalControlEdges(op)
            if op.graph._is_function(op.type) or op.type == "SymbolicGradient":
                op._add_control_input(self._pivot.op)
        names = [tensor.name for tensor in op._outputs]
        context: Any = self
        while context is not None:
            context._values.update(names)
            context = context._outer_context
        if self._outer_context is not None or op.type not in ("Exit", "RefExit"):
            op.graph.prevent_fetching(op)
        if self._outer_context is not None:
            self._outer_context.AddInnerOp(op)

    _add_op = AddOp

    def output(self, value: Any) -> Tensor:
        """Return a branch's result as the tensor that goes into the Merge."""
        if isinstance(value, Operation):
            from stillflow.ops.control_flow.identity_and_group import with_dependencies

            return with_dependencies([value], self._pivot)
        tensor = convert_to_tensor(flow_of(value))
        if tensor.name in self._values:
            return self._external_values.get(tensor.name, tensor)
        result = self._taken_outside(tensor)
        result = switch_ref_or_tensor(result, self._pred)[self._branch]
        self._external_values[tensor.name] = result
        return result

    def BuildCondBranch(self, fn: Any) -> tuple[Any, Any]:
        """Call a branch function; return its result and the tensors to merge."""
        from stillflow import nest
        from stillflow.ops.control_flow.identity_and_group import identity, no_op

        graph = get_default_graph()
        before = graph.get_collection(GraphKeys._SUMMARY_COLLECTION)
        original = fn()
        after = graph.get_collection(GraphKeys._SUMMARY_COLLECTION)
        if len(after) > len(before):
            graph.get_collection_ref(GraphKeys._SUMMARY_COLLECTION)[:] = before
            with graph.control_dependencies(after[len(before) :]):
                if original is None:
                    return no_op(), None
                original = nest.map_structure(identity, original, expand_composites=True)
        if original is None:
            return None, None
        result = nest.map_structure(self.output, original, expand_composites=True)
        return original, result if isinstance(result, (list, tuple)) else [result]


collection_protos.cond_context.provide(CondContext)


class XLAControlFlowContext(ControlFlowContext):
    """The base of contexts whose operations are compiled together."""

    def __init__(self) -> None:
        super().__init__()
        self._name = "XLAControlFlowContext"

    def to_control_flow_context_def(self, context_def: Any, export_scope: Any = None) -> None:
        pass  # it is not written to MetaGraphs

    def IsXLAContext(self) -> bool:
        return True

    def AddOp(self, op: Operation) -> None:
        pass

    def AddValue(self, val: Tensor) -> Tensor:
        return val


def output_context(op: Operation) -> Any:
    """Return the context that an operation's outputs are in: for a loop's Exit, the one outside."""
    context = op._get_control_flow_context()
    if op.type in ("Exit", "RefExit") and context is not None:
        context = context.outer_context
    return context


def in_context(op: Operation, context: Any) -> bool:
    """Return True if `op` is in `context` or one nested in it."""
    current = op._get_control_flow_context()
    while current is not None:
        if current is context:
            return True
        current = current.outer_context
    return False


def with_scope(name: str, scope: str | None) -> str:
    """Return `name` as imported under `scope`."""
    if not scope:
        return name
    scope = scope.rstrip("/")
    if name.startswith("^"):
        return f"^{scope}/{name[1:]}"
    if name.startswith("loc:@"):
        return f"loc:@{scope}/{name[5:]}"
    return f"{scope}/{name}"


def without_scope(name: str, scope: str | None) -> str:
    """Return `name` as exported from `scope`."""
    if not scope:
        return name
    prefix = scope.rstrip("/") + "/"
    for mark in ("^", "loc:@", ""):
        if name.startswith(mark + prefix):
            return mark + name[len(mark) + len(prefix) :]
    return name


def from_control_flow_context_def(
    context_def: Any, import_scope: str | None = None
) -> ControlFlowContext:
    """Read a nested context, of whichever kind it is."""
    if context_def.HasField("cond_ctxt"):
        return CondContext.from_proto(context_def.cond_ctxt, import_scope)
    if context_def.HasField("while_ctxt"):
        from stillflow.ops.control_flow.while_context import WhileContext

        return WhileContext.from_proto(context_def.while_ctxt, import_scope)
    kind = context_def.WhichOneof("ctxt")
    raise NotImplementedError(f"Unknown ControlFlowContextDef field: {kind}")
