"""What kernels of strings share: functions of one string, applied to arrays of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import torch
from stillflow.ops.kernels import torch_type

OneString = Callable[[bytes], Any]


def strings_of(items: list[bytes], shape: tuple[int, ...]) -> np.ndarray:
    """A string tensor's value, from its elements in row-major order."""
    result = np.empty(len(items), object)
    result[:] = items
    return result.reshape(shape)


def to_strings(function: OneString) -> Callable[[Any], Any]:
    """The kernel that maps every string to a string."""
    return lambda x: strings_of([function(item) for item in x.reshape(-1)], x.shape)


def to_numbers(function: OneString, dtype: DType) -> Callable[[Any], Any]:
    """The kernel that maps every string to a number."""
    kind = torch_type(dtype)

    def kernel(x: Any) -> Any:
        found = [function(item) for item in x.reshape(-1)]
        return torch.tensor(found, dtype=kind).reshape(x.shape)

    return kernel
