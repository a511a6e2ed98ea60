"""tf.xla.experimental.compile: builds a function's operations as one cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow import nest
from stillflow.graph.api import control_dependencies, device
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.clusters import xla_cluster_output_op
from stillflow.ops.control import group, identity, no_op
from stillflow.ops.control_flow.contexts import XLAControlFlowContext, in_context
from stillflow.protos import AttrValue
from stillflow.variables.variable_scope import get_variable_scope

_ATTRIBUTE = "_xla_compile_id"


class _Cluster(XLAControlFlowContext):
    """Marks the operations added inside, and lets no control edge from outside reach them."""

    def __init__(self, name: str, pivot: Operation) -> None:
        super().__init__()
        self._name = name
        self._pivot = pivot

    def AddOp(self, op: Operation) -> None:
        if any(tensor.dtype._is_ref_dtype for tensor in op.inputs):
            raise NotImplementedError(
                "Non-resource Variables are not supported inside XLA computations (operator name: "
                f"{op.name})"
            )
        if _ATTRIBUTE in op.node_def.attr:
            raise ValueError(
                f"XLA compiled computations cannot be nested, (operator name: {op.name})"
            )
        op._set_attr(_ATTRIBUTE, AttrValue(s=self._name.encode()))
        op.graph.prevent_fetching(op)
        self._keep_inside(op)
        if self._outer_context is not None:
            self._outer_context.AddInnerOp(op)

    def AddInnerOp(self, op: Operation) -> None:
        self.AddOp(op)

    def _keep_inside(self, op: Operation) -> None:
        inner = [control for control in op.control_inputs if in_context(control, self)]
        outer = [control for control in op.control_inputs if not in_context(control, self)]
        if outer:
            op._remove_all_control_inputs()
            op._add_control_inputs(inner)
        if not op.inputs and not inner:
            op._add_control_inputs([self._pivot])
        if outer:
            with control_dependencies(None):
                self.Enter()
                outer = [identity(one.outputs[0]).op for one in outer if one.outputs]
                self.Exit()
            op._add_control_inputs(outer)


@export("xla.experimental.compile", "contrib.compiler.xla.compile")
def compile(computation: Callable[..., Any], inputs: Any = None) -> Any:
    """Builds `computation(*inputs)` as a cluster; what compiles it changes no value.

    Args:
      computation: gives tensors in any structure, or tensors followed by operations. Its variables
        must be resources.
      inputs: a list of what it is called with, each converted to tensors.

    Returns:
      Its tensors, in the same structure (a list if it is flat); what runs its operations if there
      are no tensors.

    Raises:
      TypeError: if `inputs` is no list.
      ValueError: if it returns something else, or clusters are nested.
      NotImplementedError: if it uses a reference variable.
    """
    inputs = [] if inputs is None else inputs
    if not isinstance(inputs, Sequence):
        raise TypeError("inputs must be a list")
    given = [convert_to_tensor(value) for value in nest.flatten(inputs)]
    name = get_default_graph().unique_name("cluster")
    cluster = _Cluster(name, no_op(name=f"{name}/pivot"))
    cluster.Enter()
    try:
        entered = [identity(value, name=f"input_{index}") for index, value in enumerate(given)]
        outputs = _with_resources(computation, nest.pack_sequence_as(inputs, entered))
        flat = _is_flat(outputs)
        tensors, operations = _of_flat(outputs) if flat else (_of_structure(outputs), [])
        cluster.ExitResult(tensors)
    finally:
        cluster.Exit()
    if not tensors:
        return group(operations, name="output_0")
    left = [
        xla_cluster_output_op(tensor, name=f"output{index}") for index, tensor in enumerate(tensors)
    ]
    with control_dependencies(operations):
        results = [identity(value, name=f"output_{index}") for index, value in enumerate(left)]
    return results if flat else nest.pack_sequence_as(outputs, results)


def _with_resources(computation: Callable[..., Any], inputs: Any) -> Any:
    """Calls it where `get_variable` makes resource variables."""
    scope = get_variable_scope()
    before = scope.use_resource
    scope.set_use_resource(True)
    try:
        return computation(*inputs)
    finally:
        scope.set_use_resource(before)


def _is_flat(outputs: Any) -> bool:
    if isinstance(outputs, dict):
        return False
    parts = outputs if isinstance(outputs, Sequence) else ()
    return not any(isinstance(part, (Sequence, dict)) for part in parts)


def _of_flat(outputs: Any) -> tuple[list[Tensor], list[Operation]]:
    outputs = () if outputs is None else outputs
    outputs = list(outputs) if isinstance(outputs, Sequence) else [outputs]
    converted = [_output(value) for value in [*outputs, no_op()]]
    tensors = [value for value in converted if not isinstance(value, Operation)]
    operations = [value for value in converted if isinstance(value, Operation)]
    kinds = [isinstance(value, Operation) for value in converted]
    if kinds != sorted(kinds):
        raise ValueError(
            "XLA computation function must return zero or more Tensor values followed by zero or "
            "more Operations."
        )
    return [_copied(tensor) for tensor in tensors], operations


def _of_structure(outputs: Any) -> list[Tensor]:
    tensors = []
    for value in nest.flatten(outputs):
        if isinstance(value, Operation):
            raise ValueError(
                "xla.compile does not support Operation as return value in non-flat output "
                "structure. You can set returned Operations as control dependencies of returned "
                "Tensors so Operations are triggered when Tensors are evaluated. Operation found: "
                f'"{value.name}"'
            )
        tensors.append(_copied(_output(value)))
    return tensors


def _output(value: Any) -> Any:
    if isinstance(value, Operation):
        return value
    try:
        return convert_to_tensor(value)
    except Exception as error:
        raise ValueError(
            "XLA computation function return values must all either be Operations or convertible "
            f'to Tensors. Got error: "{error}"'
        ) from error


def _copied(tensor: Tensor) -> Tensor:
    with device(tensor.device or ""):
        return identity(tensor)
