"""Shared parts of string kernels: functions of one string, applied to arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import torch
from stillflow.util.texts import strings_by

OneString = Callable[[bytes], Any]


def strings_of(items: list[bytes], shape: tuple[int, ...]) -> np.ndarray:
    """Return a string tensor's value, from its elements in row-major order."""
    result = np.empty(len(items), object)
    result[:] = items
    return result.reshape(shape)


def to_strings(function: OneString) -> Callable[[Any], Any]:
    """Return the kernel that maps every string to a string."""
    return all_to_strings(lambda items: list(map(function, items)))


def all_to_strings(
    function: Callable[[list[bytes]], list[bytes]], loop: str | None = None, *how: int
) -> Callable[[Any], Any]:
    """Return the kernel that maps all strings of a tensor at once, by a native loop if it can."""

    def kernel(x: Any) -> Array:
        found = None if loop is None else strings_by(loop, x, *how)
        return strings_of(function(x.reshape(-1).tolist()), x.shape) if found is None else found

    return kernel


def to_numbers(function: OneString, dtype: DType) -> Callable[[Any], Any]:
    """Return the kernel that maps every string to a number."""
    kind = dtype.as_numpy_dtype

    def kernel(x: Any) -> torch.Tensor:
        with np.errstate(over="ignore"):  # too large for a float is infinity
            found = np.fromiter(map(function, x.reshape(-1).tolist()), kind, x.size)
        return torch.from_numpy(found.reshape(x.shape))

    return kernel
