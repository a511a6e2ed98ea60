"""Graph transforms that change names, attributes and devices, or the order of nodes."""

from __future__ import annotations

import string
from typing import Any

from stillflow.graph.default_attrs import add_default_attrs
from stillflow.protos import GraphDef
from stillflow.tools.graph_transforms.context import Context, invalid, transforms
from stillflow.tools.graph_transforms.nodes import by_execution, changed, node_name

_LETTERS = string.digits + string.ascii_lowercase + string.ascii_uppercase


def _once(context: Context, names: tuple[str, ...], message: str) -> list[str]:
    values = [context.parameters.get(name, []) for name in names]
    if any(len(value) != 1 for value in values):
        raise invalid(message)
    return [value[0] for value in values]


@transforms("add_default_attributes")
def add_default_attributes(graph_def: Any, context: Context) -> Any:
    """Write out attributes that have their defaults."""
    result = GraphDef()
    result.CopyFrom(graph_def)
    add_default_attrs(result)
    return result


@transforms("remove_attribute")
def remove_attribute(graph_def: Any, context: Context) -> Any:
    """Leaves out an attribute of all nodes, or of those of one type."""
    (name,) = _once(
        context,
        ("attribute_name",),
        "remove_attribute expects exactly one 'attribute_name' "
        "argument, e.g. remove_attribute(op_name=Mul, attribute_name=foo)",
    )
    ops = context.parameters.get("op_name", ["*"])
    if len(ops) != 1:
        raise invalid(f"remove_attribute expects a single op_name argument, but found {len(ops)}")

    def change(node: Any) -> None:
        if ops[0] in ("*", node.op):
            node.attr.pop(name, None)

    return changed(graph_def, change)


@transforms("rename_attribute")
def rename_attribute(graph_def: Any, context: Context) -> Any:
    """Rename an attribute of all nodes, or of those of one type."""
    old, new = _once(
        context,
        ("old_attribute_name", "new_attribute_name"),
        "rename_attribute expects exactly one 'old_attribute_name' and one 'new_attribute_name' "
        "argument, e.g. rename_attribute(old_attribute_name=foo, new_attribute_name=bar)",
    )
    op = context.parameters.get("op_name", ["*"])[0]

    def change(node: Any) -> None:
        if op in ("*", node.op) and old in node.attr:
            value = node.attr.pop(old)
            if new not in node.attr:
                node.attr[new].CopyFrom(value)

    return changed(graph_def, change)


@transforms("rename_op")
def rename_op(graph_def: Any, context: Context) -> Any:
    """Change the type of nodes."""
    old, new = _once(
        context,
        ("old_op_name", "new_op_name"),
        "rename_op expects exactly one 'old_op_name' and "
        "'new_op_name' argument, e.g. rename_op(old_op_name=Mul, new_op_name=Multiply)",
    )

    def change(node: Any) -> None:
        if node.op == old:
            node.op = new

    return changed(graph_def, change)


@transforms("remove_device")
def remove_device(graph_def: Any, context: Context) -> Any:
    """Leaves out where nodes run."""
    return changed(graph_def, lambda node: node.ClearField("device"))


@transforms("set_device")
def set_device(graph_def: Any, context: Context) -> Any:
    """Says where nodes run, all or those that have no place yet."""
    device, only_unset = context.one("device", ""), context.flag("if_default", False)

    def change(node: Any) -> None:
        if not only_unset or not node.device:
            node.device = device

    return changed(graph_def, change)


@transforms("remove_control_dependencies")
def remove_control_dependencies(graph_def: Any, context: Context) -> Any:
    """Remove control dependencies."""

    def change(node: Any) -> None:
        node.input[:] = [source for source in node.input if not source.startswith("^")]

    return changed(graph_def, change)


@transforms("sort_by_execution_order")
def sort_by_execution_order(graph_def: Any, context: Context) -> Any:
    """Put nodes behind those that they read."""
    return by_execution(graph_def)


@transforms("backport_concatv2")
def backport_concatv2(graph_def: Any, context: Context) -> Any:
    """Replace ConcatV2, which is missing in old runtimes, by Concat."""

    def change(node: Any) -> None:
        if node.op == "ConcatV2":
            node.op = "Concat"
            node.input[:] = [node.input[-1], *node.input[:-1]]
            node.attr.pop("Tidx", None)

    return changed(graph_def, change)


@transforms("obfuscate_names")
def obfuscate_names(graph_def: Any, context: Context) -> Any:
    """Give all nodes but inputs and outputs the shortest possible names."""
    kept = {*context.inputs, *context.outputs}
    names: dict[str, str] = {}
    index = 0
    for node in graph_def.node:
        name = node.name
        if name not in kept:
            name = _short(index)
            index += 1
            while name in kept:
                name = _short(index)
                index += 1
        names[node.name] = name

    def change(node: Any) -> None:
        for source in node.input:
            if node_name(source) not in names:
                raise invalid(f"No node named {node_name(source)} for input to {node.name}")
        node.name = names[node.name]
        node.input[:] = [
            source.replace(node_name(source), names[node_name(source)], 1) for source in node.input
        ]

    return changed(graph_def, change)


def _short(index: int) -> str:
    name = ""
    while True:
        index, place = divmod(index, len(_LETTERS))
        name = _LETTERS[place] + name
        if not index:
            return name
