"""Collections of a MetaGraphDef: nodes to be kept, and the rest of the collections."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from stillflow.graph.collection_protos import get_collection_proto_type
from stillflow.graph.graph_keys import GraphKeys
from stillflow.platform import tf_logging as logging
from stillflow.saved_model import names

_VARIABLES = (
    GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES, GraphKeys.MOVING_AVERAGE_VARIABLES,
    GraphKeys.LOCAL_VARIABLES, GraphKeys.MODEL_VARIABLES,
)  # fmt: skip
_SINGLE = (
    names.LEGACY_INIT_OP_KEY, names.MAIN_OP_KEY, GraphKeys.INIT_OP, GraphKeys.LOCAL_INIT_OP,
    GraphKeys.READY_OP, GraphKeys.READY_FOR_LOCAL_INIT_OP,
)  # fmt: skip
_NODE = re.compile(r"[/a-zA-Z0-9_]+")


def retained_nodes(meta_graph_def: Any) -> dict[str, list[str]]:
    """Return the nodes that stay whether or not outputs need them, by their collections.

    These are those of savers, and the initializers of variables, tables and sessions.

    Raises:
      ValueError: for a collection of another kind, or of several where one is expected.
    """
    found: dict[str, list[str]] = {}
    savers = [meta_graph_def.saver_def] if meta_graph_def.HasField("saver_def") else []
    savers += _messages(meta_graph_def, GraphKeys.SAVERS)
    for saver in savers:
        found.setdefault(GraphKeys.SAVERS, []).extend(
            (saver.filename_tensor_name, saver.save_tensor_name, saver.restore_op_name)
        )
    for key in _VARIABLES:
        initializers = [each.initializer_name for each in _messages(meta_graph_def, key)]
        if initializers:
            found[key] = initializers
    tables = node_names(meta_graph_def, GraphKeys.TABLE_INITIALIZERS)
    if tables:
        found[GraphKeys.TABLE_INITIALIZERS] = tables
    for key in _SINGLE:
        nodes = node_names(meta_graph_def, key)
        if len(nodes) > 1:
            given = meta_graph_def.collection_def[key].bytes_list
            raise ValueError(f"Collection {key} is has {given} elements; expected exactly one.")
        if nodes:
            found[key] = nodes
    return found


def node_names(meta_graph_def: Any, key: str) -> list[str]:
    """Return the nodes in a collection, none if it is not there; ValueError if it holds others."""
    if key not in meta_graph_def.collection_def:
        return []
    nodes = meta_graph_def.collection_def[key].node_list.value
    if not nodes:
        raise ValueError(f"Collection {key} is present but type is not node_list.")
    return list(nodes)


def _messages(meta_graph_def: Any, key: str) -> list[Any]:
    """Return the messages in a collection, none if it is not there.

    ValueError if it holds others.
    """
    if key not in meta_graph_def.collection_def:
        return []
    values = meta_graph_def.collection_def[key].bytes_list.value
    if not values:
        raise ValueError(f"Collection {key} is present but type is not bytes_list.")
    kind = get_collection_proto_type(key)
    return [kind.FromString(value) for value in values]


def is_removed(tensor_name: str, removed: Collection[str]) -> bool:
    """Return True if a tensor is one of a removed node."""
    return tensor_name.partition(":")[0] in removed


def require_kept(tensor_name: str, removed: Collection[str]) -> None:
    """Raise ValueError for tensors without a name, and those of removed nodes."""
    if not tensor_name:
        raise ValueError("Tensor name should not be empty")
    if is_removed(tensor_name, removed):
        raise ValueError(f"Expected Tensor, but it was removed: {tensor_name}")


def mentions_removed(message: bytes, removed: Iterable[str]) -> bool:
    """Return True if a serialized message has a name that ends with that of a removed node."""
    ends = tuple(removed)
    return any(name.endswith(ends) for name in _NODE.findall(message.decode("utf-8", "replace")))


def copy_collection(base: Any, target: Any, key: str, removed: Collection[str]) -> None:
    """Copy a collection without items that mention removed nodes.

    Args:
      base: the MetaGraphDef that has it.
      target: the one that it is copied to.
      key: the collection.
      removed: names of nodes.
    """
    old, new = base.collection_def[key], target.collection_def[key]
    if old.HasField("any_list"):
        kept = [each for each in old.any_list.value if not mentions_removed(each.value, removed)]
        new.any_list.value.extend(kept)
    elif old.HasField("bytes_list"):
        values = old.bytes_list.value
        new.bytes_list.value[:] = [x for x in values if not mentions_removed(x, removed)]
        gone = sorted(x for x in values if mentions_removed(x, removed))
        logging.info("In collection %s, nodes excluded are: %s", key, gone)
    elif old.HasField("node_list"):
        new.node_list.value[:] = [x for x in old.node_list.value if not is_removed(x, removed)]
    else:
        new.CopyFrom(old)
