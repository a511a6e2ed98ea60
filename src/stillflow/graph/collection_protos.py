"""How what stands in collections is written into MetaGraphs, and read from there."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from stillflow.graph.graph_keys import GraphKeys


class ProtoFunctions(NamedTuple):
    """What is known of a collection."""

    proto_type: Any
    to_proto: Callable[..., Any] | None
    from_proto: Callable[..., Any] | None


_registered: dict[Any, ProtoFunctions] = {}

# Collections of our own things: the message, the module and the class that turns into it. Found
# when they are asked for: a program that does without them does not load them.
_KNOWN: dict[str, tuple[str, str, str]] = {
    **dict.fromkeys(
        (
            GraphKeys.GLOBAL_VARIABLES,
            GraphKeys.TRAINABLE_VARIABLES,
            GraphKeys.MOVING_AVERAGE_VARIABLES,
            GraphKeys.LOCAL_VARIABLES,
            GraphKeys.MODEL_VARIABLES,
            GraphKeys.GLOBAL_STEP,
            GraphKeys.METRIC_VARIABLES,
        ),
        ("VariableDef", "stillflow.variables.base", "Variable"),
    ),
    GraphKeys.COND_CONTEXT: (
        "CondContextDef",
        "stillflow.ops.control_flow.contexts",
        "CondContext",
    ),
    GraphKeys.WHILE_CONTEXT: (
        "WhileContextDef",
        "stillflow.ops.control_flow.while_context",
        "WhileContext",
    ),
    GraphKeys.QUEUE_RUNNERS: ("QueueRunnerDef", "stillflow.train.queue_runner", "QueueRunner"),
    GraphKeys.SAVERS: ("SaverDef", "stillflow.train", "Saver"),
}


def register_proto_function(
    collection_name: str,
    proto_type: Any = None,
    to_proto: Callable[..., Any] | None = None,
    from_proto: Callable[..., Any] | None = None,
) -> None:
    """Says how the things in a collection are written to MetaGraphs and read from there.

    Args:
      collection_name: The collection.
      proto_type: The message for one of them.
      to_proto: Gives the message, from the thing and `export_scope=`.
      from_proto: Gives the thing, from the message and `import_scope=`.

    Raises:
      TypeError: If a function is none.
    """
    if to_proto and not callable(to_proto):
        raise TypeError("to_proto must be callable.")
    if from_proto and not callable(from_proto):
        raise TypeError("from_proto must be callable.")
    _registered[collection_name] = ProtoFunctions(proto_type, to_proto, from_proto)


def proto_functions(collection_name: Any) -> ProtoFunctions:
    """What is known of a collection; all None if that is nothing."""
    found = _registered.get(collection_name)
    if found is None:
        found = _find(collection_name) or ProtoFunctions(None, None, None)
        if found.proto_type is not None:
            _registered[collection_name] = found
    return found


def _find(collection_name: Any) -> ProtoFunctions | None:
    if collection_name not in _KNOWN:
        return None
    message, module, name = _KNOWN[collection_name]
    try:
        kind = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        return None
    proto_type = getattr(importlib.import_module("stillflow.protos"), message)

    def to_proto(thing: Any, export_scope: str | None = None) -> Any:
        return thing.to_proto(export_scope=export_scope)

    return ProtoFunctions(proto_type, to_proto, kind.from_proto)


def get_collection_proto_type(collection_name: str) -> Any:
    """The message for the things in a collection, or None."""
    return proto_functions(collection_name).proto_type


def get_to_proto_function(collection_name: str) -> Callable[..., Any] | None:
    """What turns the things in a collection into messages, or None."""
    return proto_functions(collection_name).to_proto


def get_from_proto_function(collection_name: str) -> Callable[..., Any] | None:
    """What turns messages into the things of a collection, or None."""
    return proto_functions(collection_name).from_proto
