"""Bodies of functions as `FunctionDef` messages, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from stillflow import errors
from stillflow.graph.build import arg_length
from stillflow.graph.dims import Dims
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.graph import Graph
from stillflow.graph.graphdef import fill_node
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.signature import Signature

# ---- to a message


class _Names:
    """Names inside of a function definition."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def free(self, name: str) -> str:
        """`name`, with a number where it is taken; taken from now on."""
        result, number = name, 0
        while result in self.used:
            result = f"{name}_{number}"
            number += 1
        self.used.add(result)
        return result

    def argument(self, name: str) -> str:
        """Return the name of an argument: lower case, letters first."""
        plain = re.sub(r"[^a-z0-9]", "_", name.lower())
        return self.free(re.sub(r"^[^a-z]+", "", plain) or "unknown")


def function_def(
    body: FuncGraph,
    name: str,
    output_names: Sequence[str] = (),
    description: str | None = None,
    append_hash: bool = False,
) -> Any:
    """Return the `FunctionDef` of a body; InvalidArgumentError for references, or equal names.

    Results are by default called after the operations; a hash is of the definition.
    """
    from stillflow.protos import FunctionDef

    message = FunctionDef()
    if description:
        message.signature.description = description
    names = _Names()
    _write_outputs(message, body.outputs, output_names, names)
    tensors = _write_inputs(message, body.inputs, names)
    inputs = {tensor.op for tensor in body.inputs}
    ops = [op for op in body._operations if op not in inputs]
    renamed = {op: names.free(op.name) for op in ops}
    for op in ops:
        for tensor, text in zip(op._outputs, output_texts(op), strict=True):
            tensors.setdefault(tensor, f"{renamed[op]}:{text}")
    sources = renamed | {tensor.op: tensors[tensor] for tensor in body.inputs}
    for op in ops:
        _write_node(message, op, sources, tensors, name)
    for arg, tensor in zip(message.signature.output_arg, body.outputs, strict=True):
        message.ret[arg.name] = tensors[tensor]
    if append_hash:
        from stillflow.graph.function_hash import name_suffix

        name = f"{name}_{name_suffix(message)}"
    message.signature.name = name
    for op in body.control_outputs:
        message.control_ret[op.name] = renamed[op]
    message.signature.control_output.extend(sorted(op.name for op in body.control_outputs))
    return message


def _write_outputs(
    message: Any, outputs: Sequence[Tensor], output_names: Sequence[str], names: _Names
) -> None:
    if output_names and len(output_names) != len(outputs):
        raise errors.invalid_argument(
            "output names must be either empty or equal in size to outputs. output names size = "
            f"{len(output_names)} outputs size = {len(outputs)}"
        )
    for index, tensor in enumerate(outputs):
        if tensor.dtype._is_ref_dtype:
            raise errors.invalid_argument(
                f"Output {tensor.value_index} of node '{tensor.op.name}' has a reference type "
                f"{tensor.dtype.name.removesuffix('_ref')}_ref"
            )
        arg = message.signature.output_arg.add()
        arg.type = tensor.dtype.as_datatype_enum
        if output_names:
            if output_names[index] in names.used:
                raise errors.invalid_argument(
                    f"Cannot have duplicate output names. Name '{output_names[index]}' appears "
                    "more than once in 'output_names' array."
                )
            names.used.add(output_names[index])
            arg.name = output_names[index]
        else:
            arg.name = names.argument(tensor.op.name)


def _write_inputs(message: Any, inputs: Sequence[Tensor], names: _Names) -> dict[Tensor, str]:
    tensors: dict[Tensor, str] = {}
    for index, tensor in enumerate(inputs):
        arg = message.signature.input_arg.add()
        arg.type = tensor.dtype.as_datatype_enum
        arg.name = tensors[tensor] = names.argument(tensor.op.name)
        node = tensor.op.node_def
        message.arg_attr[index].SetInParent()
        for key, value in node.attr.items():
            if key.startswith("_"):
                message.arg_attr[index].attr[key].CopyFrom(value)
    return tensors


def _write_node(
    message: Any,
    op: Operation,
    renamed: dict[Operation, str],
    tensors: dict[Tensor, str],
    name: str,
) -> None:
    node = message.node_def.add()
    fill_node(node, op)
    node.name = renamed[op]
    del node.input[:]
    node.input.extend(tensors[tensor] for tensor in op._inputs)
    for control in sorted(op._control_inputs, key=lambda control: control.name):
        if control not in renamed:
            raise errors.invalid_argument(
                f"The source of control edge {control.name} -> {op.name} is not in the body. "
                f"Encountered while creating function '{name}'"
            )
        node.input.append(f"^{renamed[control]}")
    if op._is_stateful:
        message.signature.is_stateful = True


def output_texts(op: Operation) -> Iterator[str]:
    """`output_argument:index` for each output of an operation."""
    return _texts(op.card.signature, op.attrs)


def _texts(signature: Signature, attrs: dict[str, Any]) -> Iterator[str]:
    for arg in signature.outputs:
        for index in range(arg_length(signature, arg, attrs)):
            yield f"{arg.name}:{index}"


# ---- from a message


def body_of(
    message: Any,
    graph: Graph,
    attrs: dict[str, Any],
    body: FuncGraph | None = None,
    shapes: Sequence[Dims] | None = None,
) -> FuncGraph:
    """Return the body that a `FunctionDef` describes; ValueError if it is not well formed.

    The library of `graph` has the functions that it calls; `attrs` are `AttrValue` messages. The
    body is made, and the arguments' static shapes are unknown, by default.
    """
    from stillflow.graph.importer import Importer
    from stillflow.protos import GraphDef

    body = FuncGraph(message.signature.name, outer=graph) if body is None else body
    with body.as_default():
        for arg in message.signature.input_arg:
            for dtype in _arg_types(arg, message, attrs):
                dims = None if shapes is None else shapes[len(body.inputs)]
                _add_attributes(message, body.add_argument(dtype, dims, arg.name).op, body)
        nodes = {node.name: node for node in message.node_def}
        given = _given(message, body, attrs)
        graph_def = GraphDef()
        for node in message.node_def:
            copy = graph_def.node.add()
            copy.CopyFrom(node)
            _fill_placeholders(copy, attrs)
            _leave_colocations(copy, nodes)
            del copy.input[:]
            copy.input.extend(_source(text, nodes, graph, attrs, given) for text in node.input)
        mapped: dict[str, Any] = {n: t for n, t in given.items() if _uses(graph_def, n)}
        mapped |= {f"^{n}": t.op for n, t in given.items() if _uses(graph_def, f"^{n}")}
        graph_def.versions.producer = graph._producer
        importer = Importer(body, graph_def, "", mapped)
        importer.run(())
    for arg in message.signature.output_arg:
        text = _source(message.ret[arg.name], nodes, graph, attrs, given)
        found = given[text] if text in given else importer.element(_full(text))
        assert isinstance(found, Tensor)
        body.outputs.append(found)
    body.structured_outputs = list(body.outputs)
    body.control_outputs = [importer.made[name] for name in message.control_ret.values()]
    return body


def _add_attributes(message: Any, op: Operation, body: FuncGraph) -> None:
    """Give the last argument of a body the private attributes that the message has for it."""
    place = len(body.inputs) - 1
    if place in message.arg_attr:  # looking a missing key up would add it
        for key, value in message.arg_attr[place].attr.items():
            if key.startswith("_"):
                op._set_attr(key, value)


def _full(text: str) -> str:
    return text if ":" in text else f"{text}:0"


def _uses(graph_def: Any, name: str) -> bool:
    return any(name in node.input for node in graph_def.node)


def _arg_types(arg: Any, message: Any, attrs: dict[str, Any]) -> list[Any]:
    if arg.type_list_attr:
        return list(_attr(message, attrs, arg.type_list_attr).list.type)
    kind = arg.type or _attr(message, attrs, arg.type_attr).type
    return [kind] * (_attr(message, attrs, arg.number_attr).i if arg.number_attr else 1)


def _attr(message: Any, attrs: dict[str, Any], name: str) -> Any:
    if name in attrs:
        return attrs[name]
    for attr in message.signature.attr:
        if attr.name == name and attr.HasField("default_value"):
            return attr.default_value
    raise errors.invalid_argument(f"Attr {name} is not found from {message.signature.name}")


def _given(message: Any, body: FuncGraph, attrs: dict[str, Any]) -> dict[str, Tensor]:
    """Return the arguments by the names that nodes of the body have for them."""
    given: dict[str, Tensor] = {}
    position = 0
    for arg in message.signature.input_arg:
        for index in range(len(_arg_types(arg, message, attrs))):
            if index == 0:
                given[arg.name] = body.inputs[position]
            given[f"{arg.name}:{index}"] = body.inputs[position]
            position += 1
    return given


def _fill_placeholders(node: Any, attrs: dict[str, Any]) -> None:
    for value in node.attr.values():
        if value.WhichOneof("value") == "placeholder" and value.placeholder in attrs:
            value.CopyFrom(attrs[value.placeholder])


def _leave_colocations(node: Any, nodes: dict[str, Any]) -> None:
    """Drop colocations with nodes outside of the body: arguments have no place of their own."""
    if "_class" not in node.attr:
        return
    groups = [g for g in node.attr["_class"].list.s if g[5:].decode() in nodes]
    del node.attr["_class"]
    if groups:
        node.attr["_class"].list.s.extend(groups)


def _source(
    text: str, nodes: dict[str, Any], graph: Graph, attrs: dict[str, Any], given: dict[str, Any]
) -> str:
    """Return an input as graphs write it: `node:index` for `node:argument:index`."""
    if text.startswith("^") or text in given:
        return text
    name, _, rest = text.partition(":")
    node = nodes.get(name)
    if node is None:
        raise errors.invalid_argument(f"input {text} is not found")
    argument, _, index = rest.partition(":")
    signature, values = _node_signature(node, graph, attrs)
    first = 0
    for arg in signature.outputs:
        if arg.name == argument:
            number = first + int(index or 0)
            return name if number == 0 else f"{name}:{number}"
        first += arg_length(signature, arg, values)
    raise errors.invalid_argument(f"{node.op} has no output '{argument}' (in input {text})")


def _node_signature(
    node: Any, graph: Graph, attrs: dict[str, Any]
) -> tuple[Signature, dict[str, Any]]:
    from stillflow.graph import attrs as attr_values
    from stillflow.graph.functions import card_for

    card = card_for(graph, node.op)
    values: dict[str, Any] = {}
    for name, attr in card.signature.attrs.items():
        if name in node.attr:
            value = node.attr[name]
            if value.WhichOneof("value") == "placeholder":
                value = attrs.get(value.placeholder, value)
            values[name] = attr_values.from_proto(value, attr.kind)
        elif attr.has_default:
            values[name] = attr.default
    return card.signature, values
