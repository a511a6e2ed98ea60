"""Run-time values: torch tensors, and arrays for strings; as NumPy has them, and back."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.dtypes import DType
from stillflow.graph.operation import Tensor
from stillflow.ops.value_arrays import as_fed, to_array

# Plans only read the feeds, so read-only arrays are safe to share.
warnings.filterwarnings("ignore", message="The given NumPy array is not writ")


@cache
def torch_type(dtype: DType) -> torch.dtype | None:
    """Return the torch dtype that holds values of `dtype`; None for strings and handles."""
    name = dtype.base_dtype.torch_name
    return None if name is None else getattr(torch, name)


def from_array(array: np.ndarray, device: Any = None) -> Any:
    """Return a numpy array as a run-time value, sharing memory where possible.

    Strings stay arrays.
    """
    if not isinstance(array, np.ndarray):
        return array  # a run-time value already
    kind = array.dtype
    if kind.hasobject:
        return array
    if kind.kind == "V":
        array = _plain(array)
        if kind.name == "bfloat16":
            return torch.from_numpy(array).view(torch.bfloat16)
    if any(stride < 0 for stride in array.strides) or not kind.isnative:
        array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    value = torch.from_numpy(np.asarray(array))
    return value if device is None or device == "cpu" else value.to(device)


def _plain(array: np.ndarray) -> np.ndarray:
    """bfloat16 as its bits, quantized types as the integers they are."""
    if array.dtype.name == "bfloat16":
        numbers = np.ascontiguousarray(array).view(np.int16)
    else:
        assert array.dtype.names is not None
        numbers = np.ascontiguousarray(array[array.dtype.names[0]])
    return numbers.reshape(array.shape)  # numpy makes vectors of scalars


def fetch_converter(tensor: Tensor, copy: bool) -> Callable[[Any], Any] | None:
    """Return the conversion of a run-time value to the fetched numpy value, in its own memory."""
    dtype = tensor.dtype.base_dtype
    if dtype == dtypes.string:
        return _fetch_string_copy if copy else _fetch_string
    if dtype in (dtypes.resource, dtypes.variant):
        return None
    if dtype == dtypes.bfloat16:
        return _fetch_bfloat16
    return _fetch_copy if copy else _fetch


def fetch_fed(value: Any) -> Array:
    """Return a feed as an array, also if it is a scalar."""
    return as_fed(value) if isinstance(value, np.ndarray) else to_array(value)


def _fetch(value: Any) -> Any:
    try:
        array = value.numpy()
    except (RuntimeError, TypeError):  # it is on a GPU, or a view that NumPy does not know
        array = to_array(value)
    except ValueError:
        raise errors.internal(
            f"A value of {value.ndim} dimensions cannot be fetched: NumPy holds fewer"
        ) from None
    if not array.flags.c_contiguous:
        return array.copy()  # nor does it keep a larger tensor alive of which it is a part
    return array if array.ndim else array[()]


def _fetch_copy(value: Any) -> Array:
    array = to_array(value)
    return array.copy() if array.ndim else array[()]


def _fetch_string(value: Any) -> Array | bytes:
    if isinstance(value, np.ndarray):
        return value if value.ndim else value[()]
    return _fetch_handle(value)


def _fetch_string_copy(value: Any) -> Array | bytes:
    if isinstance(value, np.ndarray):
        return value.copy() if value.ndim else value[()]
    return _fetch_handle(value)


def _fetch_handle(value: Any) -> Array:
    """Return a handle that is a reference to strings: the container, and the name in it."""
    return np.array([b"localhost", value.name.encode()], dtype=object)


def _fetch_bfloat16(value: Any) -> Any:
    kind = dtypes.bfloat16.as_numpy_dtype
    array = to_array(value).copy()
    return array.view(kind) if array.ndim else array.astype(kind)[()]
