"""Nested structures as messages: composite tensors in a SavedModel."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from stillflow._hooks import Hook
from stillflow.graph import dtypes, type_spec
from stillflow.graph.tensor_shape import TensorShape
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.graph.type_spec import TypeSpec
from stillflow.protos import NoneValue, StructuredValue

# Types of composite tensors: number in a TypeSpecProto -> their name and their class.
_TYPE_SPECS: dict[int, tuple[str, Hook[type[TypeSpec]]]] = {
    1: ("SparseTensorSpec", type_spec.sparse_tensor_spec),
    2: ("IndexedSlicesSpec", type_spec.indexed_slices_spec),
    3: ("RaggedTensorSpec", type_spec.ragged_tensor_spec),
    4: ("TensorArraySpec", type_spec.tensor_array_spec),
    5: ("DatasetSpec", type_spec.dataset_spec),
    7: ("OptionalSpec", type_spec.optional_spec),
}
_TYPE_NUMBERS = {name: number for number, (name, _) in _TYPE_SPECS.items()}


class NotEncodableError(Exception):
    """A value has no form as a message."""


def _type_spec(message: Any) -> TypeSpec:
    if message.type_spec_class not in _TYPE_SPECS:
        raise ValueError(
            f"The type '{message.type_spec_class_name}' is not supported by this version of "
            "TensorFlow. (The object you are loading must have been created with a newer version "
            "of TensorFlow.)"
        )
    _, kind = _TYPE_SPECS[message.type_spec_class]
    return kind.value._deserialize(decode(message.type_state))


def _named_tuple(message: Any) -> tuple[Any, ...]:
    items = {pair.key: decode(pair.value) for pair in message.values}
    return collections.namedtuple(message.name, items)(**items)


def _items(values: Any) -> dict[str, list[Any]]:
    return {"values": [encode(value) for value in values]}


# For each kind of message: its test, its encoder, and its decoder.
_Is = Callable[[Any], bool]
_KINDS: list[tuple[str, _Is, Callable[[Any], Any], Callable[[Any], Any]]] = [
    ("list_value", lambda x: isinstance(x, list), _items,
     lambda m: [decode(item) for item in m.values]),
    ("named_tuple_value", lambda x: isinstance(x, tuple) and hasattr(x, "_fields"),
     lambda x: {"name": type(x).__name__, "values": [
         {"key": key, "value": encode(value)} for key, value in x._asdict().items()]},
     _named_tuple),
    ("tuple_value", lambda x: isinstance(x, tuple), _items,
     lambda m: tuple([decode(item) for item in m.values])),
    ("dict_value", lambda x: isinstance(x, dict),
     lambda x: {"fields": {key: encode(value) for key, value in x.items()}},
     lambda m: {key: decode(value) for key, value in m.fields.items()}),
    ("float64_value", lambda x: isinstance(x, float), float, float),
    ("bool_value", lambda x: isinstance(x, bool), bool, bool),
    ("int64_value", lambda x: isinstance(x, int), int, int),
    ("string_value", lambda x: isinstance(x, str), str, str),
    ("none_value", lambda x: x is None, lambda x: NoneValue(), lambda m: None),
    ("tensor_shape_value", lambda x: isinstance(x, TensorShape),
     lambda x: x.as_proto(), lambda m: TensorShape(m)),
    ("tensor_dtype_value", lambda x: isinstance(x, dtypes.DType),
     lambda x: x.as_datatype_enum, dtypes.as_dtype),
    ("tensor_spec_value", lambda x: isinstance(x, TensorSpec),
     lambda x: {"name": x.name or "", "shape": x.shape.as_proto(),
                "dtype": x.dtype.as_datatype_enum},
     lambda m: TensorSpec(TensorShape(m.shape), dtypes.as_dtype(m.dtype), m.name or None)),
    ("type_spec_value", lambda x: isinstance(x, TypeSpec) and type(x).__name__ in _TYPE_NUMBERS,
     lambda x: {"type_spec_class": _TYPE_NUMBERS[type(x).__name__],
                "type_state": encode(x._serialize()),
                "type_spec_class_name": type(x).__name__},
     _type_spec),
]  # fmt: skip


def encode(structure: Any) -> Any:
    """Return a `StructuredValue` that describes `structure`, or raise NotEncodableError."""
    for kind, is_it, form, _ in _KINDS:
        if is_it(structure):
            return StructuredValue(**{kind: form(structure)})
    raise NotEncodableError(f"No encoder for object [{structure}] of type [{type(structure)}].")


def decode(message: Any) -> Any:
    """Return the structure that a `StructuredValue` describes, or raise NotEncodableError.

    ValueError if it has a type in it that is not known.
    """
    found = message.WhichOneof("kind")
    for kind, _, _, back in _KINDS:
        if kind == found:
            return back(getattr(message, kind))
    raise NotEncodableError(f"No encoder for object [{message}] of type [{type(message)}].")


class StructureCoder:
    """`encode` and `decode` under the names that TensorFlow has for them."""

    def encode_structure(self, nested_structure: Any) -> Any:
        """See `encode`."""
        return encode(nested_structure)

    def decode_proto(self, proto: Any) -> Any:
        """See `decode`."""
        return decode(proto)

    def can_encode(self, nested_structure: Any) -> bool:
        """Return True if `encode` takes a structure."""
        try:
            encode(nested_structure)
        except NotEncodableError:
            return False
        return True
