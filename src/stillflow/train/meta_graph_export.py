"""Graphs with their collections, as `MetaGraphDef` messages."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from typing import Any

from stillflow.graph.card import find
from stillflow.graph.collection_protos import proto_functions
from stillflow.graph.export import export
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.graphdef import op_def
from stillflow.ops.control_flow.contexts import with_scope, without_scope
from stillflow.platform import compat
from stillflow.platform import tf_logging as logging
from stillflow.protos import GraphDef, MetaGraphDef, OpList, SaverDef
from stillflow.version import GIT_VERSION, VERSION

UNBOUND_INPUT_PREFIX = "$unbound_inputs_"
_INTERNAL_OPS = ("_Arg", "_Retval", "_ListToArray", "_ArrayToList")
_SAVE_AND_RESTORE_OPS = frozenset(
    f"{prefix}{name}"
    for prefix in ("", "Legacy")
    for name in ("Save", "SaveSlice", "Restore", "RestoreSlice")
) | {"SaveV2", "RestoreV2"}


def export_scoped_meta_graph(
    filename: str | None = None,
    graph_def: Any = None,
    graph: Graph | None = None,
    export_scope: str | None = None,
    as_text: bool = False,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    clear_devices: bool = False,
    saver_def: Any = None,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> tuple[Any, dict[str, Any]]:
    """Return a graph or one of its scopes as a `MetaGraphDef`, written to a file if one is named.

    A collection names inputs from outside of `export_scope`; the other arguments are those of
    `export_meta_graph` and `create_meta_graph_def`. Returns the message, and the variables that it
    holds, by their names there.
    """
    graph = graph or get_default_graph()
    excluded: Collection[str] | None = None
    if export_scope or clear_extraneous_savers or clear_devices:
        source = graph_def or graph.as_graph_def(add_shapes=True)
        if clear_extraneous_savers:
            excluded = _find_extraneous_saver_nodes(source, saver_def)
        unbound: list[str] = []
        graph_def = _sub_graph(source, export_scope, excluded, unbound, clear_devices)
        if unbound_inputs_col_name:
            graph.clear_collection(unbound_inputs_col_name)
            for name in unbound:
                graph.add_to_collection(unbound_inputs_col_name, name)
    variables = {
        without_scope(variable.name, export_scope): variable
        for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope=export_scope)
        if _is_included(variable, export_scope, excluded)
    }
    message = create_meta_graph_def(
        graph_def=graph_def,
        graph=graph,
        export_scope=export_scope,
        exclude_nodes=excluded,
        clear_extraneous_savers=clear_extraneous_savers,
        saver_def=saver_def,
        strip_default_attrs=strip_default_attrs,
        **kwargs,
    )
    if filename:
        _write(filename, message, as_text)
        if save_debug_info:
            from stillflow.train.debug_info import create_graph_debug_info_def

            names = [with_scope(node.name, export_scope) for node in message.graph_def.node]
            info = create_graph_debug_info_def(
                ("", graph.get_operation_by_name(name)) for name in names
            )
            _write(os.path.splitext(filename)[0] + ".debug", info, as_text)
    return message, variables


def _write(filename: str, message: Any, as_text: bool) -> None:
    from stillflow.train.graph_io import write_graph

    write_graph(message, os.path.dirname(filename), os.path.basename(filename), as_text=as_text)


def create_meta_graph_def(
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Sequence[str] | None = None,
    graph: Graph | None = None,
    export_scope: str | None = None,
    exclude_nodes: Collection[str] | None = None,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
) -> Any:
    """Return a `MetaGraphDef` of a graph and its collections, without `exclude_nodes` in these.

    See `export_meta_graph`. TypeError if an argument is no such message, or no graph.
    """
    _check_type("graph", graph, Graph, "Graph")
    _check_type("meta_info_def", meta_info_def, MetaGraphDef.MetaInfoDef, "MetaInfoDef")
    _check_type("graph_def", graph_def, GraphDef, "GraphDef")
    _check_type("saver_def", saver_def, SaverDef, "SaverDef")
    graph = graph or get_default_graph()
    message = MetaGraphDef()
    info = message.meta_info_def
    if meta_info_def:
        info.MergeFrom(meta_info_def)
    info.tensorflow_version, info.tensorflow_git_version = VERSION, GIT_VERSION
    message.graph_def.MergeFrom(graph_def or graph.as_graph_def(add_shapes=True))
    if not info.stripped_op_list.op:
        info.stripped_op_list.MergeFrom(stripped_op_list_for_graph(message.graph_def))
    if strip_default_attrs:
        strip_graph_default_valued_attrs(message)
    if saver_def:
        message.saver_def.MergeFrom(saver_def)
    keys = graph.get_all_collection_keys() if collection_list is None else collection_list
    for key in keys:
        contents = None
        if clear_extraneous_savers and key == GraphKeys.SAVERS:
            from_proto = proto_functions(key).from_proto
            contents = [from_proto(saver_def)] if from_proto else None
        add_collection_def(
            message,
            key,
            graph=graph,
            export_scope=export_scope,
            exclude_nodes=exclude_nodes,
            override_contents=contents,
        )
    return message


def _check_type(name: str, value: Any, kind: Any, words: str) -> None:
    if value and not isinstance(value, kind):
        raise TypeError(f"{name} must be of type {words}, not %s", type(value))


# ---- Nodes


def _sub_graph(
    source: Any,
    export_scope: str | None,
    excluded: Collection[str] | None,
    unbound: list[str],
    clear_devices: bool,
) -> Any:
    """Return the nodes of a scope, by the names they have in it."""
    result = GraphDef()
    result.versions.CopyFrom(source.versions)
    result.library.CopyFrom(source.library)
    for node in source.node:
        if _is_included(node.name, export_scope, excluded):
            _add_node(result.node.add(), node, export_scope, unbound, clear_devices)
    return result


def _add_node(
    node: Any, source: Any, export_scope: str | None, unbound: list[str], clear_devices: bool
) -> None:
    node.CopyFrom(source)
    for place, name in enumerate(source.input):
        if export_scope and not name.lstrip("^").startswith(export_scope):
            node.input[place] = re.sub(r"([\^]|^)(.*)", rf"\1{UNBOUND_INPUT_PREFIX}\2", name)
            unbound.append(node.input[place])
        else:
            node.input[place] = without_scope(name, export_scope)
    node.name = without_scope(source.name, export_scope)
    if "_class" in source.attr:
        groups = [group.decode() for group in source.attr["_class"].list.s]
        kept = [
            without_scope(group, export_scope).encode()
            for group in groups
            if not export_scope or group.split("@")[1].startswith(export_scope)
        ]
        node.attr["_class"].Clear()
        node.attr["_class"].list.s[:] = kept
        if not kept:
            node.attr["_class"].list.SetInParent()
    if source.op in ("Enter", "RefEnter") and "frame_name" in source.attr:
        frame = source.attr["frame_name"].s.decode()
        if not export_scope or frame.startswith(export_scope):
            node.attr["frame_name"].s = without_scope(frame, export_scope).encode()
    if clear_devices:
        node.device = ""


def _is_included(item: Any, export_scope: str | None, excluded: Collection[str] | None) -> bool:
    name = item if isinstance(item, str) else getattr(item, "name", None)
    if not isinstance(name, str):
        return True
    if excluded and name in excluded:
        return False
    return not export_scope or name.startswith((UNBOUND_INPUT_PREFIX, export_scope))


def _find_extraneous_saver_nodes(graph_def: Any, saver_def: Any) -> set[str]:
    """Return the nodes of all scopes that save or restore, but for those of one saver."""
    kept = set()
    if saver_def is not None:
        for name in (saver_def.save_tensor_name, saver_def.restore_op_name):
            kept.add(_scope_of(name.split(":")[0]) + "/")
    savers = {node.name for node in graph_def.node if node.op in _SAVE_AND_RESTORE_OPS}
    scopes = {scope + "/" for scope in {_scope_of(name) for name in savers} - savers} - kept
    return {node.name for node in graph_def.node if any(node.name.startswith(s) for s in scopes)}


def _scope_of(name: str) -> str:
    return name.rpartition("/")[0]


# ---- Other parts of a MetaGraph


@export("contrib.util.ops_used_by_graph_def")
def ops_used_by_graph_def(graph_def: Any) -> list[str]:
    """Return the types of all operations in a graph and in the functions that it calls."""
    functions = {function.signature.name: function for function in graph_def.library.function}
    used: set[str] = set()
    waiting = [node.op for node in graph_def.node]
    while waiting:
        name = waiting.pop()
        if name not in used:
            used.add(name)
            if name in functions:
                waiting.extend(node.op for node in functions[name].node_def)
    return [name for name in used if name not in functions]


@export("contrib.util.stripped_op_list_for_graph")
def stripped_op_list_for_graph(graph_def: Any) -> Any:
    """Return the signatures of a graph's operations, as an `OpList` in the order of their names.

    Raises:
      ValueError: If one is not known.
    """
    result = OpList()
    for name in sorted(ops_used_by_graph_def(graph_def)):
        card = find(name)
        if card is not None:
            result.op.append(op_def(card.signature))
        elif name not in _INTERNAL_OPS:
            raise ValueError(f"Op {name} is used by the graph, but is not registered")
    return result


def strip_graph_default_valued_attrs(meta_graph_def: Any) -> None:
    """Remove attributes with default values from all nodes of a `MetaGraphDef`."""
    library = meta_graph_def.graph_def.library.function
    functions = {function.signature.name for function in library}
    groups = [meta_graph_def.graph_def.node, *(function.node_def for function in library)]
    for node in (node for nodes in groups for node in nodes):
        card = None if node.op in functions else find(node.op)
        if card is None:
            continue
        defaults = {
            attr.name: attr.default_value
            for attr in op_def(card.signature).attr
            if attr.HasField("default_value")
        }
        for name in [name for name in node.attr if node.attr[name] == defaults.get(name)]:
            del node.attr[name]
    meta_graph_def.meta_info_def.stripped_default_attrs = True


# ---- Collections


def add_collection_def(
    meta_graph_def: Any,
    key: Any,
    graph: Graph | None = None,
    export_scope: str | None = None,
    exclude_nodes: Collection[str] | None = None,
    override_contents: list[Any] | None = None,
) -> None:
    """Write a collection of a graph into a `MetaGraphDef`; one that cannot be is left out.

    Things of `export_scope` are written, `exclude_nodes` aside; or `override_contents`.
    """
    _check_type("graph", graph, Graph, "Graph")
    if not isinstance(key, (str, bytes)):
        logging.warning(
            "Only collections with string type keys will be serialized. This key has %s",
            type(key),
        )
        return
    items = override_contents or (graph or get_default_graph()).get_collection(key)
    items = [item for item in items if _is_included(item, export_scope, exclude_nodes)]
    if not items:
        return
    try:
        _fill_collection(meta_graph_def.collection_def[key], key, items, export_scope)  # type: ignore[arg-type]
    except Exception as error:
        logging.warning(
            "Issue encountered when serializing %s.\n"
            "Type is unsupported, or the types of the items don't match field type in "
            "CollectionDef. Note this is a warning and probably safe to ignore.\n%s",
            key,
            str(error),
        )
        if key in meta_graph_def.collection_def:
            del meta_graph_def.collection_def[key]


def _fill_collection(target: Any, key: str, items: list[Any], scope: str | None) -> None:
    functions = proto_functions(key)
    if functions.to_proto:
        for item in items:
            message = functions.to_proto(item, export_scope=scope)
            if message:
                assert isinstance(message, functions.proto_type)
                target.bytes_list.value.append(message.SerializeToString())
        return
    kind = _kind_of(items[0])
    values = getattr(target, kind).value
    if kind == "node_list":
        for item in items:
            if not scope or item.name.startswith(scope):
                values.append(without_scope(item.name, scope))
    elif kind == "bytes_list":
        values.extend([compat.as_bytes(item) for item in items])
    elif kind == "any_list":  # of whichever pool
        for item in items:
            values.add().MergeFromString(item.SerializeToString())
    else:
        values.extend(items)


def _kind_of(item: Any) -> str:
    if isinstance(item, (str, bytes)):
        return "bytes_list"
    if isinstance(item, int):
        return "int64_list"
    if isinstance(item, float):
        return "float_list"
    descriptor = getattr(item, "DESCRIPTOR", None)
    is_any = getattr(descriptor, "full_name", "") == "google.protobuf.Any"
    return "any_list" if is_any else "node_list"
