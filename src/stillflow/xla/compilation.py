"""tf.xla.experimental.compile: builds a function's operations as one cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow import nest
from stillflow.graph.api import control_dependencies
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation
from stillflow.ops.control_flow.identity_and_group import group, identity, no_op
from stillflow.ops.xla import xla_cluster_output_op
from stillflow.variables.variable_scope import get_variable_scope
from stillflow.xla.clusters import ClusterContext, Leaving, is_flat

_NO_TENSORS = (
    "XLA computation function return values must all either be Operations or convertible to "
    'Tensors. Got error: "{}"'
)
_LEAVING = Leaving(
    no_tensors=_NO_TENSORS,
    no_tensors_inside=_NO_TENSORS,
    order=(
        "XLA computation function must return zero or more Tensor values followed by zero or more "
        "Operations."
    ),
    operation=(
        "xla.compile does not support Operation as return value in non-flat output structure. You "
        "can set returned Operations as control dependencies of returned Tensors so Operations "
        "are triggered when Tensors are evaluated."
    ),
)


class _Cluster(ClusterContext):
    """Cluster of operations that are compiled together."""

    attribute = "_xla_compile_id"
    where = ("in XLA", "XLA computations")

    def _nested(self, op: Operation) -> str:
        return f"XLA compiled computations cannot be nested, (operator name: {op.name})"

    def _mark(self, op: Operation) -> None:
        super()._mark(op)
        op.graph.prevent_fetching(op)


@export("xla.experimental.compile", "contrib.compiler.xla.compile")
def compile(computation: Callable[..., Any], inputs: Any = None) -> Any:
    """Build `computation(*inputs)` as a cluster; its compilation changes no value.

    Args:
      computation: gives tensors in any structure, or tensors followed by operations. Its variables
        must be resources.
      inputs: a list of its operands, each converted to tensors.

    Returns:
      Its tensors, in the same structure (a list if it is flat); the op that runs its operations if
        there
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
        flat = is_flat(outputs)
        tensors, operations = _LEAVING.flat(outputs) if flat else (_LEAVING.structure(outputs), [])
        cluster.ExitResult(tensors)
    finally:
        cluster.report_unsupported_operations()
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
    """Call it where `get_variable` makes resource variables."""
    scope = get_variable_scope()
    before = scope.use_resource
    scope.set_use_resource(True)
    try:
        return computation(*inputs)
    finally:
        scope.set_use_resource(before)
