"""Conversion of collections to and from MetaGraph messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stillflow._hooks import Hook
from stillflow.graph.graph_keys import GraphKeys


class ProtoFunctions(NamedTuple):
    """Message type and conversion functions of a collection."""

    proto_type: Any
    to_proto: Callable[..., Any] | None
    from_proto: Callable[..., Any] | None


_registered: dict[Any, ProtoFunctions] = {}

# The item classes of TensorFlow's own collections.
variable: Hook[Any] = Hook("graph.collection_protos.variable")
cond_context: Hook[Any] = Hook("graph.collection_protos.cond_context")
while_context: Hook[Any] = Hook("graph.collection_protos.while_context")
queue_runner: Hook[Any] = Hook("graph.collection_protos.queue_runner")
saver: Hook[Any] = Hook("graph.collection_protos.saver")

# Collection -> the name of the message, and the class that turns into it. Asked for when it is
# needed: a program that does without these classes does not load them.
_KNOWN: dict[str, tuple[str, Hook[Any]]] = {
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
        ("VariableDef", variable),
    ),
    GraphKeys.COND_CONTEXT: ("CondContextDef", cond_context),
    GraphKeys.WHILE_CONTEXT: ("WhileContextDef", while_context),
    GraphKeys.QUEUE_RUNNERS: ("QueueRunnerDef", queue_runner),
    GraphKeys.SAVERS: ("SaverDef", saver),
}


def register_proto_function(
    collection_name: str,
    proto_type: Any = None,
    to_proto: Callable[..., Any] | None = None,
    from_proto: Callable[..., Any] | None = None,
) -> None:
    """Register how the things in a collection are written to MetaGraphs and read from there.

    `to_proto` is called with the thing and `export_scope=`, `from_proto` with the message, of the
    class `proto_type`, and `import_scope=`.
    """
    if to_proto and not callable(to_proto):
        raise TypeError("to_proto must be callable.")
    if from_proto and not callable(from_proto):
        raise TypeError("from_proto must be callable.")
    _registered[collection_name] = ProtoFunctions(proto_type, to_proto, from_proto)


def proto_functions(collection_name: Any) -> ProtoFunctions:
    """Return the type and conversion functions of a collection; all None if none are registered."""
    found = _registered.get(collection_name)
    if found is None:
        found = _find(collection_name) or ProtoFunctions(None, None, None)
        if found.proto_type is not None:
            _registered[collection_name] = found
    return found


def _find(collection_name: Any) -> ProtoFunctions | None:
    if collection_name not in _KNOWN:
        return None
    from stillflow import protos

    message, kind = _KNOWN[collection_name]

    def to_proto(thing: Any, export_scope: str | None = None) -> Any:
        return thing.to_proto(export_scope=export_scope)

    return ProtoFunctions(getattr(protos, message), to_proto, kind.value.from_proto)


def get_collection_proto_type(collection_name: str) -> type[Any]:
    """Return the message for the things in a collection, or None."""
    return proto_functions(collection_name).proto_type


def get_to_proto_function(collection_name: str) -> Callable[..., Any] | None:
    """Return the function that converts a collection's items to messages, or None."""
    return proto_functions(collection_name).to_proto


def get_from_proto_function(collection_name: str) -> Callable[..., Any] | None:
    """Return the function that converts messages to a collection's items, or None."""
    return proto_functions(collection_name).from_proto
