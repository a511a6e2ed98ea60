"""Tensors as messages: `TensorProto` from Python values and arrays, and back.

A constant is kept as a numpy array (`as_array`) and becomes a message only when a graph is written
(`to_proto`). The message is the one TensorFlow writes: it decides by type and size which field
holds the values, and a value that fills a shape stands there once.
"""

from __future__ import annotations

import sys
from math import prod
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.arrays import MAX_BYTES, Array, as_array, as_bytes, repeat_last
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.tensor_shape import shape_from_dims

# Types whose values are written as raw bytes as soon as there are two of them.
_CONTENT_TYPES = frozenset(
    {
        *(dtypes.float32, dtypes.float64),
        *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
        *(dtypes.uint8, dtypes.uint32, dtypes.uint64),
        *(dtypes.qint8, dtypes.qint16, dtypes.qint32, dtypes.quint8, dtypes.quint16),
    }
)

# The field that holds the values otherwise, and the plain type of its elements.
FIELDS: dict[DType, tuple[str, Any]] = {
    dtypes.float32: ("float_val", np.float32),
    dtypes.float64: ("double_val", np.float64),
    dtypes.float16: ("half_val", np.uint16),
    dtypes.bfloat16: ("half_val", np.uint16),
    dtypes.int8: ("int_val", np.int8),
    dtypes.int16: ("int_val", np.int16),
    dtypes.int32: ("int_val", np.int32),
    dtypes.int64: ("int64_val", np.int64),
    dtypes.uint8: ("int_val", np.uint8),
    dtypes.uint16: ("int_val", np.uint16),
    dtypes.uint32: ("uint32_val", np.uint32),
    dtypes.uint64: ("uint64_val", np.uint64),
    dtypes.bool: ("bool_val", np.bool_),
    dtypes.complex64: ("scomplex_val", np.float32),
    dtypes.complex128: ("dcomplex_val", np.float64),
    dtypes.qint8: ("int_val", np.int8),
    dtypes.quint8: ("int_val", np.uint8),
    dtypes.qint16: ("int_val", np.int16),
    dtypes.quint16: ("int_val", np.uint16),
    dtypes.qint32: ("int_val", np.int32),
}


# ---- Arrays to messages ----------------------------------------------------------------------


def to_proto(array: Any, dtype: Any = None) -> Any:
    """Return an array as a `TensorProto`, written the way TensorFlow writes it.

    `dtype` is needed if the array alone does not tell it (integers for a quantized type). TypeError
    if no field holds the type (resource, variant), ValueError for more than 2 GB.
    """
    from stillflow.protos import TensorProto

    array = np.asanyarray(array)
    kind = dtypes.as_dtype(array.dtype if dtype is None else dtype).base_dtype
    shape = shape_from_dims(array.shape).as_proto()
    message = TensorProto(dtype=kind.as_datatype_enum, tensor_shape=shape)
    given = _given(array)
    if given.size == array.size > 1 and kind in _CONTENT_TYPES:
        if array.nbytes >= MAX_BYTES:
            raise ValueError("Cannot create a tensor proto whose content is larger than 2GB.")
        message.tensor_content = _little_endian(given).tobytes()
    elif kind is dtypes.string:
        message.string_val.extend([as_bytes(item) for item in given.tolist()])
    else:
        if kind not in FIELDS:
            raise TypeError(f"Element type not supported in TensorProto: {kind.name}")
        field, plain = FIELDS[kind]
        getattr(message, field).extend(_plain_view(given, kind, plain).tolist())
    return message


def _given(array: Array) -> Array:
    """Return the values of an array without those that only repeat the last one."""
    given = getattr(array, "given", None)
    if given is not None:
        return given
    if array.size > 1 and not any(array.strides):
        return array[(slice(1),) * array.ndim].reshape(1)
    return np.ascontiguousarray(array).reshape(-1)


def _plain_view(values: Array, dtype: DType, plain: Any) -> Array:
    """Return the bits of the values as the numbers that the message field holds."""
    if values.dtype != dtype.np_dtype and values.dtype != plain:
        values = values.astype(dtype.np_dtype)
    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    return values.view(plain)


def _little_endian(values: Array) -> Array:
    if values.dtype.isnative and sys.byteorder == "little":
        return values
    return values.astype(values.dtype.newbyteorder("<"), copy=False)


@export("make_tensor_proto", "contrib.util.make_tensor_proto")
def make_tensor_proto(
    values: Any,
    dtype: Any = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> Any:
    """Create a `TensorProto` from Python values or an array.

    Args:
      values: A Python number, bool, str or bytes, nested lists of such, an array, or a
        `TensorProto`, which is returned as it is.
      dtype: The wanted type; by default it follows from the values.
      shape: The wanted shape. If it holds more elements, the last value is repeated.
      verify_shape: Whether `values` must have exactly this shape.
      allow_broadcast: Whether a single value may fill the shape, and nothing else.

    Returns:
      The message.

    Raises:
      TypeError: If values do not fit the type, or (when it is checked) the shape.
      ValueError: If `values` is None, ragged, or has more elements than `shape`.
    """
    if allow_broadcast and verify_shape:
        raise ValueError("allow_broadcast and verify_shape are not both allowed.")
    if _is_tensor_proto(values):
        return values
    kind = None if dtype is None else dtypes.as_dtype(dtype)
    return to_proto(as_array(values, kind, shape, verify_shape, allow_broadcast), kind)


# ---- Messages to arrays ----------------------------------------------------------------------


def from_proto(tensor: Any, drops_rest: bool = False) -> Array:
    """Return the value of a `TensorProto` as an array that may be read-only.

    Memory is allocated only after the message was found to have as many values as its shape. A
    shape of unknown rank is that of a scalar; `drops_rest` allows more values than the shape has
    elements, as kernels do. TypeError if tensors of this type hold no values (resource, variant),
    ValueError if shape and values contradict each other.
    """
    dtype = dtypes.as_dtype(tensor.dtype).base_dtype
    if dtype.np_dtype is None:
        raise TypeError(f"Unsupported tensor type: {tensor.dtype}")
    shape = tuple([dim.size for dim in tensor.tensor_shape.dim])
    if any(size < 0 for size in shape):
        raise ValueError("A tensor's value has a shape that is not fully known.")
    count = prod(shape)
    if tensor.tensor_content:
        return _from_content(tensor.tensor_content, dtype, count).reshape(shape)
    values = _from_field(tensor, dtype)
    if drops_rest:
        values = values[:count]
    if values.size > count:
        raise ValueError(f"A tensor of shape {list(shape)} cannot hold {values.size} values.")
    if values.size == 0 and count:
        values = np.zeros(1, dtype.np_dtype)
        if dtype is dtypes.string:
            values[0] = b""
    return repeat_last(values, shape, count)


def _from_field(tensor: Any, dtype: DType) -> Array:
    if dtype is dtypes.string:
        values = np.empty(len(tensor.string_val), object)
        values[:] = list(tensor.string_val)
        return values
    field, plain = FIELDS[dtype]
    numbers_ = getattr(tensor, field)
    if field in ("int_val", "half_val"):
        # 32-bit fields that hold narrower numbers; larger numbers wrap around.
        values = np.array(numbers_, np.int32).astype(plain)
    else:
        values = np.array(numbers_, plain)
    if dtype.is_complex:
        values = values[: values.size // 2 * 2]
    return values.view(dtype.np_dtype)


def _from_content(content: bytes, dtype: DType, count: int) -> Array:
    if dtype is dtypes.string:
        return _from_string_content(content, count)
    if len(content) != count * dtype.size:
        raise ValueError(
            f"A tensor with {count} elements of type {dtype.name} takes {count * dtype.size} "
            f"bytes, but its content has {len(content)}."
        )
    values: Array = np.frombuffer(content, dtype.np_dtype)
    return values if sys.byteorder == "little" else values.byteswap()


def _from_string_content(content: bytes, count: int) -> Array:
    """Strings as bytes: the lengths as base-128 varints, then everything joined."""
    refusal = ValueError(f"The content of a tensor of {count} strings is damaged.")
    if count > len(content):
        raise refusal
    lengths: list[int] = []
    position = 0
    while len(lengths) < count:
        length = shift = 0
        while True:
            if position >= len(content) or shift > 28:
                raise refusal
            byte = content[position]
            position += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        lengths.append(length)
    if position + sum(lengths) != len(content):
        raise refusal
    values = np.empty(count, object)
    for index, length in enumerate(lengths):
        values[index] = content[position : position + length]
        position += length
    return values


@export("make_ndarray", "contrib.util.make_ndarray")
def make_ndarray(tensor: Any) -> Array:
    """Create an array from a `TensorProto`.

    Args:
      tensor: The message.

    Returns:
      A new array with its type, shape and values.

    Raises:
      TypeError: If tensors of this type hold no values (resource, variant).
      ValueError: If shape and values contradict each other, or a value is repeated into more
        than 2 GB.
    """
    return _copied(from_proto(tensor))


def kernel_array(tensor: Any) -> Array:
    """Create the array of a kernel from a `TensorProto`, without values beyond its shape.

    TypeError and ValueError as of `make_ndarray`.
    """
    return _copied(from_proto(tensor, drops_rest=True))


def _copied(array: Array) -> Array:
    if array.nbytes > MAX_BYTES and not any(array.strides):
        raise ValueError(
            f"A tensor of shape {list(array.shape)} would repeat its value into more than 2GB."
        )
    return np.array(array, order="C")


# Its name in the module where older programs look for it.
MakeNdarray = make_ndarray


def ShapeEquals(tensor_proto: Any, shape: Any) -> bool:
    """Return True if a `TensorProto` has a shape, given as a `TensorShapeProto`, list or tuple."""
    if not _is_tensor_proto(tensor_proto):
        raise TypeError("tensor_proto is not a tensor_pb2.TensorProto object")
    if hasattr(shape, "unknown_rank"):
        shape = TensorShapeProtoToList(shape)
    elif not isinstance(shape, (list, tuple)):
        raise TypeError("shape is not a list or tuple")
    return TensorShapeProtoToList(tensor_proto.tensor_shape) == list(shape)


def TensorShapeProtoToList(shape: Any) -> list[int]:
    """Return the sizes in a `TensorShapeProto`, -1 for unknown ones."""
    return [dim.size for dim in shape.dim]


def _is_tensor_proto(value: Any) -> bool:
    return type(value).__name__ == "TensorProto" and hasattr(value, "tensor_content")
