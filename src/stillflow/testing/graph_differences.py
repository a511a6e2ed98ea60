"""The first difference of two GraphDefs, told in TensorFlow's words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph.summarize import escape, summarize
from stillflow.graph.tensor_proto import make_ndarray
from stillflow.graph.tensor_shape import TensorShape

_LONGEST_TEXT = 80  # from so many characters on the middle is left out
_LONGEST_LIST = 15
_ENTRIES = 3  # of a tensor


def difference(actual: Any, expected: Any) -> str:
    """Return the first difference of two GraphDefs, node by node in any order; "" if none.

    Attributes whose names begin with "_", versions and libraries are not compared, nor is the order
    of control inputs.
    """
    left = {node.name: node for node in actual.node}
    for node in expected.node:
        if node.name not in left:
            return f"Did not find expected node '{_node(node)}'"
        found = _difference_of_nodes(left.pop(node.name), node)
        if found:
            return f"Node named '{node.name}' {found}"
    return f"Found unexpected node '{_node(next(reversed(left.values())))}'" if left else ""


def _difference_of_nodes(actual: Any, expected: Any) -> str:
    for field in ("op", "device"):
        one, other = getattr(actual, field), getattr(expected, field)
        if one != other:
            return f"has {field} '{one}' that is not expected '{other}'"
    return _difference_of_inputs(actual.input, expected.input) or _difference_of_attributes(
        _public(actual.attr), _public(expected.attr)
    )


def _difference_of_inputs(actual: Any, expected: Any) -> str:
    if len(actual) != len(expected):
        one, other = ", ".join(actual), ", ".join(expected)
        return f"has inputs '{one}' that don't match expected '{other}'"
    data = next((i for i, name in enumerate(actual) if name.startswith("^")), len(actual))
    for index, (one, other) in enumerate(zip(actual[:data], expected[:data], strict=True)):
        if one.removesuffix(":0") != other.removesuffix(":0"):
            return f"has input {index} '{one}' that doesn't match expected '{other}'"
    for name in expected[data:]:
        if name not in actual[data:]:
            return f"missing expected control input '{name}'"
    for name in actual[data:]:
        if name not in expected[data:]:
            return f"has unexpected control input '{name}'"
    return ""


def _public(attributes: Any) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if not name.startswith("_")}


def _difference_of_attributes(actual: dict[str, Any], expected: dict[str, Any]) -> str:
    for name, value in expected.items():
        if name not in actual:
            return f"missing expected attr '{name}' with value: {_value(value)}"
        if not _same(actual[name], value):
            return (
                f"has attr '{name}' with value: {_value(actual[name])} that does not match "
                f"expected: {_value(value)}"
            )
    for name in actual.keys() - expected.keys():
        return f"has unexpected attr '{name}' with value: {_value(actual[name])}"
    return ""


def _same(one: Any, other: Any) -> bool:
    """Return True if two AttrValues mean the same: tensors may be encoded in different ways."""
    if one.HasField("tensor") and other.HasField("tensor"):
        return _same_tensors(one.tensor, other.tensor)
    if one.HasField("func") and other.HasField("func"):
        attributes, others = one.func.attr, other.func.attr
        return (
            one.func.name == other.func.name
            and attributes.keys() == others.keys()
            and all(_same(attributes[name], others[name]) for name in attributes)
        )
    return _bytes(one) == _bytes(other)


def _same_tensors(one: Any, other: Any) -> bool:
    if _bytes(one) == _bytes(other):
        return True
    try:
        left, right = make_ndarray(one), make_ndarray(other)
    except (TypeError, ValueError):
        return False
    if (left.dtype, left.shape) != (right.dtype, right.shape):
        return False
    if left.dtype == object:
        return bool((left == right).all())
    return left.tobytes() == right.tobytes()


def _bytes(message: Any) -> bytes:
    return message.SerializeToString(deterministic=True)


def _node(node: Any) -> str:
    attributes = [f"{name}={_value(node.attr[name])}" for name in sorted(node.attr)]
    if node.device:
        attributes.append(f'_device="{node.device}"')
    return f"{{{{node {node.name}}}}} = {node.op}[{', '.join(attributes)}]({', '.join(node.input)})"


def _text(value: bytes) -> str:
    told = escape(value)
    return f'"{told}"' if len(told) < _LONGEST_TEXT else f'"{told[:10]}...{told[-10:]}"'


def _type(value: int) -> str:
    from stillflow.protos import DataType

    return DataType.Name(value)


def _shape(value: Any) -> str:
    if value.unknown_rank:
        return "<unknown>"
    sizes = TensorShape(value).as_list()
    return f"[{','.join('?' if size is None else str(size) for size in sizes)}]"


def _tensor(value: Any) -> str:
    try:
        array = make_ndarray(value)
    except (TypeError, ValueError):
        return f"<Invalid TensorProto: {' '.join(str(value).split())}>"
    shape = ",".join(map(str, array.shape))
    values = summarize(array, _ENTRIES)
    kind = _type(value.dtype).removeprefix("DT_").lower()
    return f"Tensor<type: {kind} shape: [{shape}] values: {values}>"


def _function(value: Any) -> str:
    attributes = sorted(f"{name}={_value(given)}" for name, given in value.attr.items())
    return f"{value.name}[{', '.join(attributes)}]"


def _list(value: Any) -> str:
    fields = value.ListFields()
    if not fields:
        return "[]"
    tell = _TOLD[fields[0][0].name]
    entries = [tell(entry) for entry in fields[0][1]]
    if len(entries) >= _LONGEST_LIST:
        entries[5:-5] = ["..."]
    return f"[{', '.join(entries)}]"


_TOLD: dict[str, Callable[[Any], str]] = {
    "s": _text,
    "i": str,
    "f": lambda value: summarize(np.asarray(value, np.float32), 1),
    "b": lambda value: str(value).lower(),
    "type": _type,
    "shape": _shape,
    "tensor": _tensor,
    "list": _list,
    "func": _function,
    "placeholder": lambda value: f"${value}",
}


def _value(value: Any) -> str:
    """Return an AttrValue in one line."""
    kind = value.WhichOneof("value")
    return "<Unknown AttrValue type>" if kind is None else _TOLD[kind](getattr(value, kind))
