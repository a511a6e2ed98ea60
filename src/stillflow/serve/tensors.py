"""Arrays of requests and responses: `TensorProto` in, `TensorProto` out."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.files.varint import encode
from stillflow.graph import dtypes
from stillflow.graph.arrays import as_bytes
from stillflow.graph.tensor_proto import kernel_array, to_proto
from stillflow.protos import TensorProto

# A message may repeat its last value over a shape. A few bytes must not ask for gigabytes.
MOST_REPEATED = 1 << 26

# The field of a type's values, and the plain type of its elements.
_FIELDS = {
    "bool": ("bool_val", np.bool_),
    "int8": ("int_val", np.int8),
    "int16": ("int_val", np.int16),
    "int32": ("int_val", np.int32),
    "int64": ("int64_val", np.int64),
    "uint8": ("int_val", np.uint8),
    "uint16": ("int_val", np.uint16),
    "uint32": ("uint32_val", np.uint32),
    "uint64": ("uint64_val", np.uint64),
    "float16": ("half_val", np.uint16),
    "bfloat16": ("half_val", np.uint16),
}
# Packed fields of fixed width are encoded as the array's own bytes: the number of the field.
_PACKED = {"float32": 5, "float64": 6, "complex64": 9, "complex128": 12}


def from_proto(name: str, message: Any) -> np.ndarray[Any, Any]:
    """Return the array of an input.

    Args:
      name: of the input, for errors.
      message: a `TensorProto`.

    Raises:
      InvalidArgumentError: for a message whose type, shape and values do not fit.
    """
    try:
        if not message.tensor_content:
            _check_repeats(message)
        return kernel_array(message)
    except (TypeError, ValueError, OverflowError, KeyError) as error:
        raise errors.invalid_argument(f"Invalid tensor for input {name!r}: {error}") from None


def _check_repeats(message: Any) -> None:
    count = prod(dim.size for dim in message.tensor_shape.dim)
    if count > MOST_REPEATED and message.ByteSize() < count:
        raise ValueError(f"the shape asks for {count} elements, of which the message has few")


def to_message(array: np.ndarray[Any, Any]) -> Any:
    """Return an output as a `TensorProto` with its values in the field of their type.

    Clients of TensorFlow Serving read `float_val` and the like, so `tensor_content` stays empty.

    Raises:
      TypeError: if messages hold no values of the type (resource, variant).
    """
    dtype = dtypes.as_dtype(array.dtype)
    if dtype is not dtypes.string and dtype.name not in _FIELDS and dtype.name not in _PACKED:
        return to_proto(array)
    message = TensorProto(dtype=dtype.as_datatype_enum)
    message.tensor_shape.SetInParent()
    for size in array.shape:
        message.tensor_shape.dim.add(size=size)
    if not array.size:
        return message
    if dtype is dtypes.string:
        message.string_val.extend([as_bytes(item) for item in array.reshape(-1).tolist()])
    elif dtype.name in _FIELDS:
        field, plain = _FIELDS[dtype.name]
        flat = np.ascontiguousarray(array).reshape(-1)
        getattr(message, field).extend(flat.view(plain).tolist())
    else:
        content = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        tag = bytes([_PACKED[dtype.name] << 3 | 2])  # wire type 2: a length, then bytes
        message.MergeFromString(tag + encode(len(content)) + content)
    return message
