"""Names of `tf.contrib.framework` that are defined elsewhere."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import graph_from_inputs
from stillflow.graph.export import export, export_value
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.sparse_tensor import convert_to_tensor_or_sparse_tensor
from stillflow.ops.arrays.top_k import argsort, sort
from stillflow.ops.control_flow.case import smart_case
from stillflow.ops.control_flow.cond import smart_cond, smart_constant_value
from stillflow.ops.debugging.ranks import assert_scalar
from stillflow.ops.debugging.types import assert_same_float_dtype
from stillflow.ops.io.readers.record_input import RecordInput
from stillflow.train import initial_checkpoint
from stillflow.util.deprecation import deprecated, deprecated_arg_values, deprecated_args

export_value("contrib.framework.RecordInput", RecordInput)
export_value("contrib.framework.argsort", argsort)
export_value("contrib.framework.assert_same_float_dtype", assert_same_float_dtype)
export_value("contrib.framework.assert_scalar", assert_scalar)
export_value(
    "contrib.framework.convert_to_tensor_or_sparse_tensor", convert_to_tensor_or_sparse_tensor
)
export_value("contrib.framework.deprecated", "contrib.slim.deprecated", deprecated)
export_value("contrib.framework.deprecated_args", deprecated_args)
export_value(
    "contrib.framework.deprecated_arg_values", "contrib.slim.deprecated_arg_values",
    deprecated_arg_values,
)  # fmt: skip
export_value("contrib.framework.smart_case", smart_case)
export_value("contrib.framework.smart_cond", smart_cond)
export_value("contrib.framework.smart_constant_value", smart_constant_value)
export_value("contrib.framework.sort", sort)


@export("contrib.framework.init_from_checkpoint")
def init_from_checkpoint(checkpoint_dir: Any, assignment_map: dict[str, Any]) -> None:
    """Make variables start with the values of tensors in a checkpoint.

    Args:
      checkpoint_dir: the checkpoint or its directory.
      assignment_map: see `tf.train.init_from_checkpoint`.

    Raises:
      ValueError: if there is no such tensor, variable or scope, or a shape differs.
    """
    initial_checkpoint.init_from_checkpoint(checkpoint_dir, assignment_map)


@export("contrib.framework.get_graph_from_inputs")
def get_graph_from_inputs(op_input_list: Any, graph: Graph | None = None) -> Graph:
    """Return the graph that all of some values belong to.

    Args:
      op_input_list: tensors, operations and others.
      graph: the graph that they have to belong to.

    Raises:
      ValueError: if they belong to several.
    """
    return graph_from_inputs(op_input_list, graph)


@export("contrib.framework.get_name_scope")
def get_name_scope() -> str:
    """Return the current name scope of the default graph."""
    return get_default_graph().get_name_scope()


@export("contrib.framework.get_placeholders")
def get_placeholders(graph: Graph) -> list[Any]:
    """Return the outputs of a graph's placeholders.

    Raises:
      TypeError: for values that are no graph.
    """
    if not isinstance(graph, Graph):
        raise TypeError(f"Input graph needs to be a Graph: {graph}")
    return [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
