"""Values on their way between tasks: a short description, and the bytes as they are in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType
from stillflow.ops.value_arrays import to_array

_HANDLES = ("resource", "variant")


def pack(value: Any, dtype: DType) -> tuple[Any, Any]:
    """Return a value as its description and its bytes, which share its memory.

    The description is the fields of a `Tensor` message: type, shape, and a list of strings, if it
    is of strings. UnimplementedError if it is a handle, which means nothing in another process.
    """
    dtype = dtype.base_dtype
    if dtype.name in _HANDLES:
        raise errors.UnimplementedError(
            None, None, f"Stillflow cannot send a value of type {dtype.name} to another task"
        )
    # An array of NumPy's own strings would end before trailing zeros.
    text = isinstance(value, (bytes, str))
    array = np.asarray(value, dtype=object) if text else _array(value)
    head = dtype.as_datatype_enum, array.shape
    if dtype == dtypes.string:
        return (*head, [_as_bytes(item) for item in array.reshape(-1).tolist()]), b""
    flat = np.ascontiguousarray(array).reshape(-1)
    return head, flat.view(np.uint8).data if flat.size else b""


def _array(value: Any) -> np.ndarray:
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    return to_array(value)


def _as_bytes(text: Any) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)


def room_for(head: Any) -> Callable[[], np.ndarray]:
    """Return a function that makes an array for the value of a `Tensor` message, with its strings.

    Memory of it is taken up only as it is written to, so that a lie about the size costs nothing.
    ValueError if it makes no sense, of the function too; MemoryError if it is too large.
    """
    shape = tuple(head.shape)
    if any(size < 0 for size in shape):
        raise ValueError(f"a tensor cannot have the shape {shape}")
    try:
        dtype = dtypes.as_dtype(head.dtype)
    except TypeError as error:
        raise ValueError(str(error)) from None
    if dtype == dtypes.string:
        if len(head.strings) != prod(shape):
            raise ValueError(f"{len(head.strings)} strings are no tensor of shape {shape}")
        strings = np.empty(len(head.strings), dtype=object)
        strings[:] = head.strings
        return strings.reshape(shape).copy
    if dtype.name in _HANDLES or dtype._is_ref_dtype:
        raise ValueError(f"a value of type {dtype.name} cannot be sent")
    return partial(np.empty, shape, dtype.as_numpy_dtype)


def writable_bytes(array: np.ndarray) -> memoryview | None:
    """Return the writable bytes of an array; None if there are none."""
    if array.dtype.hasobject or not array.size:
        return None
    return array.reshape(-1).view(np.uint8).data


def pack_all(values: Sequence[Any], types: Sequence[DType]) -> list[tuple[Any, Any]]:
    """`pack` for several values."""
    return [pack(value, dtype) for value, dtype in zip(values, types, strict=True)]
