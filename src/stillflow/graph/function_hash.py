"""The hash of a function's definition, which names of functions end in.

TensorFlow hashes the parts of the message with MurmurHash64A, one after the other, each with the
hash so far as its seed.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stillflow.files import varint
from stillflow.graph.tensor_proto import make_ndarray
from stillflow.util.string_hashes import murmur64

_SEED = 0xDECAFCAFFE
_MASK = (1 << 64) - 1


def name_suffix(definition: Any) -> str:
    """Return the suffix that TensorFlow appends to the names of unnamed functions."""
    digest = definition_hash(definition).to_bytes(8, "little")
    text = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    return text.replace("-", "a").replace("_", "A")


def definition_hash(definition: Any) -> int:
    """Return the 64-bit hash of a `FunctionDef`."""
    result = _signature(definition.signature)
    for name, value in sorted(definition.attr.items()):
        if value.WhichOneof("value") is not None:
            result = _combine(_attr_value(value), _text(name, result))
    result = _combine(_nodes(definition.node_def), result)
    for pairs in (definition.ret, definition.control_ret):
        for key, value in sorted(pairs.items()):
            result = _text(value, _text(key, result))
    return result


def _text(text: str | bytes, seed: int = _SEED) -> int:
    return murmur64(text.encode() if isinstance(text, str) else text, seed)


def _combine(a: int, b: int) -> int:
    return (a ^ (b + 0x9E3779B97F4A7800 + (a << 10) + (a >> 4))) & _MASK


def _message(message: Any, seed: int = _SEED) -> int:
    return _text(message.SerializeToString(deterministic=True), seed)


def _signature(op_def: Any) -> int:
    result = _SEED
    for attr in sorted(op_def.attr, key=lambda attr: attr.name):
        result = _combine(_attr_def(attr), _text(attr.name, result))
    for name in sorted(set(op_def.control_output)):
        result = _combine(result, _text(name))
    copy = type(op_def)()
    copy.CopyFrom(op_def)
    copy.ClearField("attr")
    copy.ClearField("control_output")
    return _message(copy, result)


def _attr_def(attr: Any) -> int:
    result = _text(attr.type, _text(attr.name))
    result = _text(attr.description, _combine(_attr_value(attr.default_value), result))
    result = _combine(attr.minimum & _MASK, _combine(int(attr.has_minimum), result))
    return _combine(_attr_value(attr.allowed_values), result)


def _nodes(nodes: Sequence[Any]) -> int:
    result = _SEED
    for node in sorted(nodes, key=lambda node: node.name):
        result = _combine(_node(node), _text(node.name, result))
    return result


def _node(node: Any) -> int:
    result = _text(node.name)
    data = [text for text in node.input if not text.startswith("^")]
    control = sorted({text for text in node.input if text.startswith("^")})
    for text in (node.op, node.device, *data, *control):
        result = _text(text, result)
    return _attrs({k: v for k, v in node.attr.items() if not k.startswith("_")}, result)


def _attrs(attrs: Mapping[str, Any], result: int) -> int:
    for name, value in sorted(attrs.items()):
        result = _combine(_attr_value(value), _text(name, result))
    return result


def _attr_value(value: Any) -> int:
    kind = value.WhichOneof("value")
    if kind == "tensor":
        return _message(_with_content(value.tensor))
    if kind == "func":
        return _attrs(value.func.attr, _text(value.func.name))
    return _message(value)


def _with_content(proto: Any) -> Any:
    """Return the same tensor with its values as bytes, however they were written."""
    message = type(proto)(dtype=proto.dtype)
    message.tensor_shape.CopyFrom(proto.tensor_shape)
    array = make_ndarray(proto)
    if array.dtype.hasobject:
        values = [bytes(value) for value in array.ravel()]
        message.tensor_content = b"".join(varint.encode(len(v)) for v in values) + b"".join(values)
    elif array.size:
        message.tensor_content = np.ascontiguousarray(array).tobytes()
    return message
