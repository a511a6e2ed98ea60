"""Run-time values as checkpoints store them, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.files import tensor_types
from stillflow.graph.arrays import Array
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import torch


def to_stored(value: Any) -> np.ndarray:
    """Return a value's elements in NumPy, in the memory of the value where that is possible."""
    if isinstance(value, np.ndarray):  # strings, or several variants
        return value
    if not isinstance(value, torch.Tensor):  # a single one
        single = np.empty((), object)
        single[()] = value
        return single
    if value.dtype is torch.bfloat16:
        return value.view(torch.int16).numpy(force=True).view(tensor_types.STORAGE[14])
    return value.numpy(force=True)


def from_stored(array: np.ndarray, dtype: DType, device: Any) -> torch.Tensor | Array:
    """Return the value for stored elements. It shares the array's memory if that is its own."""
    if dtype.torch_name is None:
        return array[()] if dtype.name == "variant" else array
    if not array.flags.carray:
        array = np.array(array, order="C")  # of a file's bytes; variables live on in it
    if dtype.torch_name == "bfloat16":
        value = torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    else:
        value = torch.from_numpy(array)
    return value if value.device == device else value.to(device)


def path_in(value: np.ndarray) -> str:
    """Return the path in a string tensor of one element."""
    return str(value.reshape(-1)[0].decode(errors="surrogateescape"))
