"""Graphs as `GraphDef` messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillflow.graph import attrs as attr_values
from stillflow.graph.library_order import table_order
from stillflow.graph.signature import Arg, Attr, Signature

if TYPE_CHECKING:
    from stillflow.graph.graph import Graph
    from stillflow.graph.operation import Operation


def node_def(op: Operation, add_shapes: bool = False) -> Any:
    """Return an operation as a `NodeDef`."""
    from stillflow.protos import NodeDef

    node = NodeDef()
    fill_node(node, op, add_shapes)
    return node


def fill_node(node: Any, op: Operation, add_shapes: bool = False) -> None:
    """Write an operation into a `NodeDef` message."""
    node.name = op.name
    node.op = op.type
    node.input.extend(tensor._as_node_def_input() for tensor in op._inputs)
    # As TF's C++ graph does, control inputs are written in order of their names.
    node.input.extend(sorted(f"^{control.name}" for control in op._control_inputs))
    if op._device:
        node.device = op._device
    declared = op.card.signature.attrs
    for name, value in op.attrs.items():
        attr = declared.get(name)
        attr_values.fill_proto(node.attr[name], value, None if attr is None else attr.kind)
    if add_shapes and op._outputs:
        shapes = node.attr["_output_shapes"].list
        shapes.SetInParent()
        shapes.shape.extend(tensor.shape.as_proto() for tensor in op._outputs)


def graph_def(graph: Graph, add_shapes: bool = False) -> Any:
    """See `Graph.as_graph_def`."""
    from stillflow.protos import GraphDef

    result = GraphDef()
    result.versions.CopyFrom(graph.graph_def_versions)
    for op in graph._operations:
        fill_node(result.node.add(), op, add_shapes)
    if graph._functions:
        fill_library(result.library, graph._functions)
    return result


def fill_library(library: Any, functions: dict[str, Any]) -> None:
    """Write functions into a `FunctionDefLibrary` message."""
    for name in table_order(functions):
        library.function.add().CopyFrom(functions[name].definition)
    gradients = {name: f.grad_func_name for name, f in functions.items() if f.grad_func_name}
    for name in table_order(gradients):
        library.gradient.add(function_name=name, gradient_func=gradients[name])


def op_def(signature: Signature) -> Any:
    """Return a signature as an `OpDef` message."""
    from stillflow.protos import OpDef

    message = OpDef(name=signature.name)
    for arg in signature.inputs:
        _fill_arg(message.input_arg.add(), arg)
    for arg in signature.outputs:
        _fill_arg(message.output_arg.add(), arg)
    for attr in signature.attrs.values():
        _fill_attr(message.attr.add(), attr)
    message.is_stateful = "stateful" in signature.flags
    message.is_commutative = "commutative" in signature.flags
    message.is_aggregate = "aggregate" in signature.flags
    message.allows_uninitialized_input = "uninitialized" in signature.flags
    return message


def _fill_arg(message: Any, arg: Arg) -> None:
    message.name = arg.name
    if arg.dtype is not None:
        message.type = arg.dtype.as_datatype_enum
    for field in ("type_attr", "number_attr", "type_list_attr"):
        value = getattr(arg, field)
        if value is not None:
            setattr(message, field, value)
    message.is_ref = arg.is_ref


def _fill_attr(message: Any, attr: Attr) -> None:
    message.name, message.type = attr.name, attr.kind
    if attr.minimum is not None:
        message.has_minimum, message.minimum = True, attr.minimum
    if attr.allowed is not None:
        attr_values.fill_proto(message.allowed_values, list(attr.allowed), f"list({attr.element})")
    if attr.has_default:
        attr_values.fill_proto(message.default_value, attr.default, attr.kind)
