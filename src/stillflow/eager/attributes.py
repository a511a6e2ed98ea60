"""Kinds of attributes of operations, by TensorFlow's numbers, and their values in eager code."""

from __future__ import annotations

from typing import Any

from stillflow.graph.card import get
from stillflow.graph.dtypes import as_dtype
from stillflow.graph.tensor_shape import as_shape

TF_ATTR_STRING = 0
TF_ATTR_INT = 1
TF_ATTR_FLOAT = 2
TF_ATTR_BOOL = 3
TF_ATTR_TYPE = 4
TF_ATTR_SHAPE = 5
TF_ATTR_TENSOR = 6
TF_ATTR_PLACEHOLDER = 7
TF_ATTR_FUNC = 8

_NUMBERS = {
    "string": TF_ATTR_STRING, "int": TF_ATTR_INT, "float": TF_ATTR_FLOAT, "bool": TF_ATTR_BOOL,
    "type": TF_ATTR_TYPE, "shape": TF_ATTR_SHAPE, "tensor": TF_ATTR_TENSOR, "func": TF_ATTR_FUNC,
}  # fmt: skip


def op_attr_type(op_type: str, attr_name: str) -> int | list[Any]:
    """Return the number of an attribute's kind, in a list if its value is a list, or KeyError."""
    kind = get(op_type).signature.attrs[attr_name].kind
    if kind.startswith("list("):
        return [_NUMBERS[kind[5:-1]]]
    return _NUMBERS[kind]


def make_attr(attr_type: Any, value: Any) -> Any:
    """Return the value of an attribute as gradient functions see it.

    `attr_type` is the number of its kind, in a list for a list; types are numbers, too.
    """
    if attr_type == TF_ATTR_TYPE:
        return as_dtype(value)
    if attr_type == TF_ATTR_SHAPE:
        return as_shape(value).as_proto()
    if attr_type in ([TF_ATTR_TYPE], [TF_ATTR_SHAPE]):
        return [make_attr(attr_type[0], one) for one in value]
    return value.encode() if isinstance(value, str) else value
