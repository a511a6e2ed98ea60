"""Values as `TensorProto` messages, encoded as TensorFlow's tasks do: as their bytes in memory."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.files.varint import encode
from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType
from stillflow.graph.tensor_proto import kernel_array
from stillflow.ops.value_arrays import to_array

_HANDLES = ("resource", "variant")


def fill(message: Any, value: Any, dtype: DType) -> None:
    """Write a value into an empty `TensorProto`.

    Raises:
      tf.errors.UnimplementedError: for a handle, which means nothing in another process.
    """
    dtype = dtype.base_dtype
    if dtype.name in _HANDLES:
        raise errors.unimplemented(
            f"Stillflow cannot send a value of type {dtype.name} to another process"
        )
    # An array of NumPy's own strings would end before trailing zeros.
    text = isinstance(value, (bytes, str))
    array = np.asarray(value, dtype=object) if text else _array(value)
    message.dtype = dtype.as_datatype_enum
    message.tensor_shape.SetInParent()
    for size in array.shape:
        message.tensor_shape.dim.add(size=size)
    if dtype is dtypes.string:
        items = [_as_bytes(item) for item in array.reshape(-1).tolist()]
        message.tensor_content = b"".join([*(encode(len(item)) for item in items), *items])
    elif array.size:
        if sys.byteorder == "big":
            array = array.byteswap()
        message.tensor_content = array.tobytes()


def array_of(message: Any) -> np.ndarray[Any, Any]:
    """Return the value of a `TensorProto`.

    Raises:
      tf.errors.InvalidArgumentError: for a message whose type, shape and values do not fit.
    """
    try:
        return kernel_array(message)
    except (TypeError, ValueError, OverflowError, KeyError) as error:
        raise errors.invalid_argument(f"Invalid TensorProto: {error}") from None


def _array(value: Any) -> np.ndarray[Any, Any]:
    return np.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else to_array(value)


def _as_bytes(text: Any) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)
