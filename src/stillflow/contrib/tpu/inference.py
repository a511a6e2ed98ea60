"""`rewrite_for_inference`: a computation for TPUs whose variables are read outside of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.contrib.tpu.replication import rewrite
from stillflow.graph.api import control_dependencies
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.contexts import XLAControlFlowContext
from stillflow.ops.control_flow.identity_and_group import guarantee_const
from stillflow.variables.variable_scope import get_variable_scope

_REFUSED = frozenset((
    "ReadVariableOp", "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp",
    "VarHandleOp", "Variable", "VariableV2",
))  # fmt: skip


class _TPUInferenceContext(XLAControlFlowContext):
    """Context that raises an error for variables inside."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def AddOp(self, op: Operation) -> None:
        if op.type in _REFUSED:
            raise NotImplementedError(
                f"Operation of type {op.type} ({op.name}) is not supported on the TPU for "
                "inference. Execution will fail if this op is used in the graph. Make sure your "
                "variables are using variable_scope."
            )
        if self._outer_context is not None:
            self._outer_context.AddInnerOp(op)

    AddInnerOp = AddOp

    def AddValue(self, val: Tensor) -> Tensor:
        return val if self._outer_context is None else self._outer_context.AddValue(val)


def under_tpu_inference_context() -> bool:
    """Return True if the graph under construction is part of a computation for inference."""
    graph: Any = get_default_graph()
    while graph is not None:
        context = graph._get_control_flow_context()
        while context is not None:
            if isinstance(context, _TPUInferenceContext):
                return True
            context = context.outer_context
        graph = getattr(graph, "outer_graph", None)
    return False


def validate_inference_rewrite_for_variables(graph: Graph) -> None:
    """Raise RuntimeError unless variables are read outside of the computation."""
    if not any(op.type == "GuaranteeConst" for op in graph.get_operations()):
        raise RuntimeError(
            "No GuaranteeConst ops found in the graph after running "
            "tpu.rewrite_for_inference(...). Please check that you are using tf.get_variable() to "
            "create and access variables in your tpu computation."
        )


def rewrite_for_inference(
    computation: Callable[..., Any], inputs: Any = None, infeed_queue: Any = None,
    device_assignment: Any = None, name: str | None = None,
) -> list[Tensor]:  # fmt: skip
    """Rewrite like `rewrite`; `get_variable`'s variables are read outside, as constants."""

    def constant_getter(getter: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Tensor:
        with control_dependencies(None):
            return guarantee_const(getter(name, *args, **kwargs), name=f"{name}/GuaranteeConst")

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        context = _TPUInferenceContext(get_default_graph().unique_name("rewrite_for_inference"))
        context.Enter()
        try:
            scope = get_variable_scope()
            getter, device = scope.custom_getter, scope.caching_device
            scope.set_custom_getter(constant_getter)
            scope.set_caching_device(lambda op: op.device)
            result = computation(*args, **kwargs)
            scope.set_custom_getter(getter)
            scope.set_caching_device(device)
        finally:
            context.Exit()
        return result

    return rewrite(wrapped, inputs, infeed_queue, device_assignment, name)
