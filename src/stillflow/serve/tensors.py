"""Arrays of requests and responses: `TensorProto` in, `TensorProto` out."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.files.varint import encode
from stillflow.graph import dtypes
from stillflow.graph.arrays import as_bytes
from stillflow.graph.tensor_proto import FIELDS, kernel_array
from stillflow.protos import TensorProto

# A message may repeat its last value over a shape. A few bytes must not ask for gigabytes.
MOST_REPEATED = 1 << 26
# Elements that a packed field holds as their own bytes.
_AS_BYTES = (np.float32, np.float64, np.bool_)


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
    """Return an output as a `TensorProto`; see `fill`."""
    message = TensorProto()
    fill(message, array)
    return message


def fill(message: Any, array: np.ndarray[Any, Any]) -> None:
    """Write an output into an empty `TensorProto`, its values into the field of their type.

    Clients of TensorFlow Serving read `float_val` and the like, so `tensor_content` stays empty.

    Raises:
      TypeError: if messages hold no values of the type (resource, variant).
    """
    dtype = dtypes.as_dtype(array.dtype)
    message.dtype = dtype.as_datatype_enum
    message.tensor_shape.SetInParent()
    for size in array.shape:
        message.tensor_shape.dim.add(size=size)
    if dtype is dtypes.string:
        message.string_val.extend([as_bytes(item) for item in array.reshape(-1).tolist()])
        return
    if dtype not in FIELDS:
        raise TypeError(f"No message holds values of type {dtype.name}")
    field, plain = FIELDS[dtype]
    values = np.ascontiguousarray(array).reshape(-1).view(plain)
    if plain in _AS_BYTES and values.size:
        content = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
        number = TensorProto.DESCRIPTOR.fields_by_name[field].number
        tag = bytes([number << 3 | 2])  # wire type 2: a length, then bytes
        message.MergeFromString(tag + encode(len(content)) + content)
    else:
        getattr(message, field).extend(values.tolist())
