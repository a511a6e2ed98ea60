"""Attribute values: plain Python inside the graph, `AttrValue` messages at its borders.

kind      inside                          message field
type      DType                           type
int       int                             i
float     float                           f
bool      bool                            b
string    bytes                           s
shape     TensorShape                     shape
tensor    numpy array, or TensorProto     tensor
func      NameAttrList                    func
list(...) list of the above               list
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow._hooks import Hook
from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType
from stillflow.graph.tensor_shape import TensorShape, as_shape

if TYPE_CHECKING:
    from stillflow.graph.signature import Attr

# The graph to which functions are added that attributes name.
default_graph: Hook[Callable[[], Any]] = Hook("graph.attrs.default_graph")


def _int(value: Any, name: str) -> int:
    if isinstance(value, str):
        raise TypeError(f"Expected int for argument '{name}' not {value!r}.")
    try:
        return int(value)
    except (ValueError, TypeError):
        raise TypeError(f"Expected int for argument '{name}' not {value!r}.") from None


def _float(value: Any, name: str) -> float:
    if not isinstance(value, numbers.Real) and not hasattr(value, "__float__"):
        raise TypeError(f"Expected float for argument '{name}' not {value!r}.")
    return float(np.float32(value))  # AttrValue.f is of single precision


def _bool(value: Any, name: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"Expected bool for argument '{name}' not {value!r}.")
    return bool(value)


def _bytes(value: Any, name: str) -> bytes:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise TypeError(f"Expected string for argument '{name}' not {value!r}.")
    return value.encode()


def _type(value: Any, name: str) -> DType:
    try:
        return dtypes.as_dtype(value).base_dtype
    except TypeError:
        raise TypeError(f"Expected DataType for argument '{name}' not {value!r}.") from None


def _shape(value: Any, name: str) -> TensorShape:
    if type(value).__name__ == "TensorShapeProto":
        return TensorShape(value)
    try:
        return as_shape(value)
    except TypeError as error:
        raise TypeError(f"Error converting {name} to a TensorShape: {error}.") from None
    except ValueError as error:
        raise ValueError(f"Error converting {name} to a TensorShape: {error}.") from None


def _tensor(value: Any, name: str) -> Any:
    if isinstance(value, np.ndarray) or type(value).__name__ == "TensorProto":
        return value
    raise TypeError(f"Don't know how to convert {value!r} to a TensorProto for argument '{name}'")


def _func(value: Any, name: str) -> Any:
    from stillflow.protos import NameAttrList

    if type(value).__name__ == "NameAttrList":
        return value
    if isinstance(value, (str, bytes)):
        return NameAttrList(name=value)
    if hasattr(value, "add_to_graph"):
        value.add_to_graph(default_graph.value())
        return NameAttrList(name=value.name)
    raise TypeError(f"Don't know how to convert {value!r} to a func for argument {name}")


_NORMALIZE: dict[str, Callable[[Any, str], Any]] = {
    "int": _int, "float": _float, "bool": _bool, "string": _bytes, "type": _type,
    "shape": _shape, "tensor": _tensor, "func": _func,
}  # fmt: skip


# Attributes that TF's functions of the operations call otherwise.
_ARGUMENTS = {"squeeze_dims": "axis"}


def normalize(value: Any, attr: Attr, function: str) -> Any:
    """Convert a caller's attribute value to the internal form; TypeError for the wrong kind.

    `function` is what TF's function of the op is called, for messages.
    """
    convert = _NORMALIZE[attr.element]
    name = _ARGUMENTS.get(attr.name, attr.name)
    if not attr.is_list:
        return convert(value, name)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"Expected list for '{name}' argument to '{function}' Op, not {value!r}.")
    return [convert(item, name) for item in value]


def _check_sizes(shape: TensorShape, name: str) -> None:
    for size in shape._dims or ():
        if size is not None and size >> 63:
            problem = f"Value out of range: {size}"
            raise ValueError(f"Error converting {name} to a TensorShape: {problem}")


def check(value: Any, attr: Attr, op_type: str) -> None:
    """Check a value in internal form against the limits of its attribute; types apart."""
    if attr.minimum is not None:
        if not attr.is_list and value < attr.minimum:
            raise ValueError(
                f"Attr '{attr.name}' of '{op_type}' Op passed {value} less than "
                f"minimum {attr.minimum}."
            )
        if attr.is_list and len(value) < attr.minimum:
            raise ValueError(
                f"Attr '{attr.name}' of '{op_type}' Op passed list of length {len(value)} less "
                f"than minimum {attr.minimum}."
            )
    if attr.element == "shape":
        for shape in value if attr.is_list else (value,):
            _check_sizes(shape, attr.name)
    if attr.allowed is not None and attr.element == "string":
        for item in value if attr.is_list else (value,):
            if item not in attr.allowed:
                raise ValueError(_not_in(item, attr, op_type))


def _not_in(value: bytes, attr: Attr, op_type: str) -> str:
    assert attr.allowed is not None
    options = '", "'.join(item.decode() for item in attr.allowed)
    return (
        f"Attr '{attr.name}' of '{op_type}' Op passed string '{value.decode()}' "
        f'not in: "{options}".'
    )


def kind_of(value: Any) -> str:
    """Return the kind of a value in internal form, for attributes that no signature declares."""
    if isinstance(value, (list, tuple)):
        return f"list({kind_of(value[0])})" if value else "list(int)"
    for kind, types in _TYPE_OF_KIND:
        if isinstance(value, types):
            return kind
    return "func"


_TYPE_OF_KIND: tuple[tuple[str, Any], ...] = (
    ("bool", (bool, np.bool_)), ("int", (int, np.integer)), ("float", (float, np.floating)),
    ("string", bytes), ("type", DType), ("shape", TensorShape), ("tensor", np.ndarray),
)  # fmt: skip

_FIELD = {
    "int": "i", "float": "f", "bool": "b", "string": "s", "type": "type", "shape": "shape",
    "tensor": "tensor", "func": "func",
}  # fmt: skip


def _tensor_proto(value: Any) -> Any:
    from stillflow.graph.tensor_proto import to_proto

    return to_proto(value) if isinstance(value, np.ndarray) else value


_ENCODE: dict[str, Callable[[Any], Any]] = {
    "type": lambda value: value.as_datatype_enum,
    "shape": lambda value: value.as_proto(),
    "tensor": _tensor_proto,
}


def _same(value: Any) -> Any:
    return value


def fill_proto(message: Any, value: Any, kind: str | None) -> None:
    """Write a value in internal form into an `AttrValue` message."""
    if type(value).__name__ == "AttrValue":
        message.CopyFrom(value)
        return
    kind = kind or kind_of(value)
    is_list = kind.startswith("list(")
    element = kind[5:-1] if is_list else kind
    encode, field = _ENCODE.get(element, _same), _FIELD[element]
    if is_list:
        message.list.SetInParent()
        getattr(message.list, field).extend(encode(item) for item in value)
    elif element in ("shape", "tensor", "func"):
        getattr(message, field).CopyFrom(encode(value))
    else:
        setattr(message, field, encode(value))


def _decode_type(value: int) -> DType:
    return dtypes.as_dtype(value)


_DECODE: dict[str, Callable[[Any], Any]] = {"type": _decode_type, "shape": TensorShape}


def from_proto(message: Any, kind: str | None) -> Any:
    """Read an `AttrValue` message into internal form."""
    field = message.WhichOneof("value")
    if field is None or field == "placeholder":
        return message
    if field == "list":
        for list_field, _ in message.list.ListFields():
            decode = _DECODE.get(list_field.name, _same)
            return [decode(item) for item in getattr(message.list, list_field.name)]
        return [] if kind is None or kind.startswith("list(") else message
    return _DECODE.get(field, _same)(getattr(message, field))


def public_value(value: Any) -> Any:
    """Return the value as `Operation.get_attr` does: protos for shapes and tensors."""
    if isinstance(value, (list, tuple)):
        return [public_value(item) for item in value]
    if isinstance(value, TensorShape):
        return value.as_proto()
    if isinstance(value, np.ndarray):
        return _tensor_proto(value)
    return value
