"""tf.graph_util: the parts of a GraphDef that some nodes need, and GraphDefs that only infer."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.operation import Operation
from stillflow.graph.tensor_proto import make_tensor_proto
from stillflow.graph.tensor_shape import TensorShape
from stillflow.platform import tf_logging as logging
from stillflow.protos import GraphDef, NodeDef
from stillflow.util.notices import noticed

_VARIABLE_OPS = frozenset(
    {
        "Assign",
        "AssignAdd",
        "AssignSub",
        "Queue",
        "ScatterAdd",
        "ScatterSub",
        "ScatterUpdate",
        "TruncatedNormal",
        "Variable",
        "VariableV2",
    }
)
_PASSED_THROUGH = frozenset({"Switch", "Enter", "Exit", "Identity", "Merge", "NextIteration"})
# Ops that run on the CPU for some types, and the attribute that tells the type.
_ON_CPU_FOR = {
    "Const": ("dtype", (dtypes.string, dtypes.int32)),
    "DynamicStitch": ("T", (dtypes.int32,)),
    "ParallelDynamicStitch": ("T", (dtypes.int32,)),
    "Cast": ("SrcT", (dtypes.int32,)),
}


@export("graph_util.must_run_on_cpu")
@noticed("graph_util.must_run_on_cpu")
def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Return True for a node that TensorFlow keeps on the CPU.

    Args:
      node: an `Operation` or a `NodeDef`.
      pin_variables_on_cpu: whether the ops of variables count as such.
    """
    node_def = node.node_def if isinstance(node, Operation) else node
    assert isinstance(node_def, NodeDef)
    if pin_variables_on_cpu and node_def.op in _VARIABLE_OPS:
        return True
    if node_def.op not in _ON_CPU_FOR:
        return False
    attr, types = _ON_CPU_FOR[node_def.op]
    return node_def.attr[attr].type in [dtype.as_datatype_enum for dtype in types]


@export("graph_util.tensor_shape_from_node_def_name")
@noticed("graph_util.tensor_shape_from_node_def_name")
def tensor_shape_from_node_def_name(graph: Any, input_name: str) -> TensorShape:
    """Return the static shape of the tensor that a node's input names.

    Args:
      graph: the `Graph` that has the tensor.
      input_name: "op:index", or "op" for the op's first output.
    """
    name = input_name if ":" in input_name else input_name + ":0"
    return graph.get_tensor_by_name(name).get_shape()


def node_name(name: str) -> str:
    """Return the node that an input names."""
    return name[1:] if name.startswith("^") else name.split(":")[0]


def needed_by(node: Any) -> Iterator[str]:
    """Yield the names of the nodes that must be kept along with a node."""
    for name in node.input:
        yield node_name(name)
    if "_class" in node.attr:
        for group in node.attr["_class"].list.s:
            if group.startswith(b"loc:@"):
                yield group[5:].decode("utf-8")


@export("graph_util.extract_sub_graph")
@noticed("graph_util.extract_sub_graph")
def extract_sub_graph(graph_def: Any, dest_nodes: Sequence[str]) -> Any:
    """Return the nodes of a graph that some of them need, in their order.

    Args:
      graph_def: a `GraphDef`.
      dest_nodes: names of the nodes to keep with all that they depend on.

    Returns:
      A new `GraphDef`.

    Raises:
      TypeError: if `graph_def` is no `GraphDef`, or `dest_nodes` is a string.
      AssertionError: if a destination is not in the graph.
    """
    if not isinstance(graph_def, GraphDef):
        raise TypeError("graph_def must be a graph_pb2.GraphDef proto.")
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    nodes = {node_name(node.name): node for node in graph_def.node}
    order = {
        name: position
        for position, name in enumerate([node_name(node.name) for node in graph_def.node])
    }
    for name in dest_nodes:
        assert name in nodes, f"{name} is not in graph"
    kept: set[str] = set()
    pending = list(dest_nodes)
    while pending:
        name = pending.pop()
        if name not in kept:
            kept.add(name)
            pending.extend(needed_by(nodes[name]) if name in nodes else ())
    result = GraphDef()
    result.node.extend([nodes[name] for name in sorted(kept, key=lambda name: order[name])])
    result.library.CopyFrom(graph_def.library)
    result.versions.CopyFrom(graph_def.versions)
    return result


def _is_converted(name: str, whitelist: Any, blacklist: Any) -> bool:
    if whitelist is not None and name not in whitelist:
        return False
    return blacklist is None or name not in blacklist


def _variables(graph_def: Any, whitelist: Any, blacklist: Any) -> dict[str, str]:
    """Return the tensor that reads each variable to be converted, by the variable's name."""
    reads = {"Variable": ":0", "VariableV2": ":0", "VarHandleOp": "/Read/ReadVariableOp:0"}
    return {
        node.name: node.name + reads[node.op]
        for node in graph_def.node
        if node.op in reads and _is_converted(node.name, whitelist, blacklist)
    }


def _source(node: Any, position: int = 0) -> str:
    return node.input[position].split(":")[0]


def _handle_paths(graph_def: Any) -> dict[str, Any]:
    """Return the nodes that pass a variable's handle to its reader, and the type of the value."""
    nodes = {node.name: node for node in graph_def.node}
    passing: dict[str, Any] = {}
    for reader in graph_def.node:
        if reader.op not in ("ReadVariableOp", "ResourceGather"):
            continue
        pending = [_source(reader)]
        while pending:
            node = nodes[pending.pop()]
            if node.op not in _PASSED_THROUGH:
                if node.op != "VarHandleOp":
                    raise ValueError(
                        "Cannot find the variable that is an input to the ReadVariableOp."
                    )
            elif node.name not in passing:
                passing[node.name] = reader.attr["dtype"]
                pending.append(_source(node))
                if node.op == "Merge":
                    pending.append(_source(node, 1))
    return passing


def _const(name: str, dtype: Any, value: Any, shape: Any = None) -> Any:
    node = NodeDef(name=name, op="Const")
    node.attr["dtype"].CopyFrom(dtype)
    node.attr["value"].tensor.CopyFrom(make_tensor_proto(value, dtype=dtype.type, shape=shape))
    return node


def _rewritten(node: Any, op: str, inputs: Sequence[str], **attrs: Any) -> Any:
    """Return a node of another op in a node's place, that stays where the node was colocated."""
    result = NodeDef(name=node.name, op=op, input=inputs)
    for name, value in attrs.items():
        result.attr[name].CopyFrom(value)
    if "_class" in node.attr:
        result.attr["_class"].CopyFrom(node.attr["_class"])
    return result


def _passing_values(node: Any, dtype: Any) -> Any:
    """Return a node that passed a handle, made to pass the value.

    Recorded shapes are the handle's.
    """
    result = NodeDef()
    result.CopyFrom(node)
    if "_output_shapes" in result.attr:
        del result.attr["_output_shapes"]
    result.attr["T"].CopyFrom(dtype)
    return result


def _frozen(node: Any, values: dict[str, Any], passing: dict[str, Any]) -> list[Any]:
    """Return the replacement of a node where variables are constants."""
    attr = node.attr
    if node.name in values:
        value = values[node.name]
        return [_const(node.name, attr["dtype"], value, value.shape)]
    if node.name in passing:
        return [_passing_values(node, passing[node.name])]
    if node.op == "ReadVariableOp":
        return [_rewritten(node, "Identity", [node.input[0]], T=attr["dtype"])]
    if node.op == "ResourceGather":
        if attr["batch_dims"].i != 0:
            raise ValueError("batch_dims != 0 is not supported by freeze_graph.")
        axis = _const(node.name + "/axis", attr["Tindices"], 0)
        inputs = [node.input[0], node.input[1], axis.name]
        return [
            axis,
            _rewritten(
                node,
                "GatherV2",
                inputs,
                Tparams=attr["dtype"],
                Tindices=attr["Tindices"],
                Taxis=attr["Tindices"],
            ),
        ]
    return [node]


@export("graph_util.convert_variables_to_constants")
@noticed("graph_util.convert_variables_to_constants")
def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Sequence[str],
    variable_names_whitelist: Collection[str] | None = None,
    variable_names_blacklist: Collection[str] | None = None,
) -> Any:
    """Return a graph with constants instead of variables, pruned to the inputs of some nodes.

    Args:
      sess: the session that holds the variables' values.
      input_graph_def: the `GraphDef` of the session's graph.
      output_node_names: names of the nodes to keep with all that they depend on.
      variable_names_whitelist: the only variables to convert, all by default.
      variable_names_blacklist: variables that are not converted.

    Returns:
      A new `GraphDef`.

    Raises:
      ValueError: if a read value cannot be followed back to its variable.
    """
    part = extract_sub_graph(input_graph_def, output_node_names)
    variables = _variables(part, variable_names_whitelist, variable_names_blacklist)
    passing = _handle_paths(part)
    read = sess.run(list(variables.values())) if variables else []
    values = dict(zip(variables, read))
    logging.info("Froze %d variables.", len(read))
    result = GraphDef()
    for node in part.node:
        result.node.extend(_frozen(node, values, passing))
    result.library.CopyFrom(part.library)
    logging.info("Converted %d variables to const ops.", len(values))
    return result


def _without_caret(name: str) -> str:
    return re.sub(r"^\^", "", name)


def _with_inputs(node: Any, inputs: Sequence[str]) -> Any:
    result = NodeDef()
    result.CopyFrom(node)
    del result.input[:]
    result.input.extend(inputs)
    return result


def _without_checks(nodes: Any, protected: Collection[str]) -> list[Any]:
    removed = {n.name for n in nodes if n.op == "CheckNumerics" and n.name not in protected}
    return [
        _with_inputs(node, [name for name in node.input if _without_caret(name) not in removed])
        for node in nodes
        if node.name not in removed
    ]


def _spliced(nodes: Sequence[Any], protected: Collection[str]) -> dict[str, str]:
    """Return the Identity nodes without control edges, and the inputs that they pass on."""
    edges = [(node.name, name) for node in nodes for name in node.input if "^" in name]
    touched = {name for name, _ in edges} | {name.replace("^", "") for _, name in edges}
    return {
        node.name: node.input[0]
        for node in nodes
        if node.op == "Identity" and node.name not in protected and node.name not in touched
    }


@export("graph_util.remove_training_nodes")
@noticed("graph_util.remove_training_nodes")
def remove_training_nodes(input_graph: Any, protected_nodes: Collection[str] | None = None) -> Any:
    """Return a graph without its CheckNumerics nodes and without Identity nodes that do nothing.

    Args:
      input_graph: a `GraphDef`.
      protected_nodes: names of nodes to keep in any case.

    Returns:
      A new `GraphDef`.
    """
    protected = protected_nodes or []
    nodes = _without_checks(input_graph.node, protected)
    sources = _spliced(nodes, protected)

    def past_identities(name: str) -> str:
        while _without_caret(name) in sources:
            name = sources[_without_caret(name)]
        return name

    result = GraphDef()
    result.node.extend(
        [
            _with_inputs(node, [past_identities(name) for name in node.input])
            for node in nodes
            if node.name not in sources
        ]
    )
    return result
