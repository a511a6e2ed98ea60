"""Shared parts of summary kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.lazy import torch


def in_numpy(value: Any) -> np.ndarray[Any, Any]:
    """Return a run-time value as an array; bfloat16 as float32."""
    if isinstance(value, np.ndarray):
        return value
    if value.dtype is torch.bfloat16:
        value = value.float()
    array: np.ndarray[Any, Any] = (value if value.is_cpu else value.cpu()).numpy()
    return array


def string(value: bytes) -> np.ndarray[Any, Any]:
    """Bytes as the value of a string tensor."""
    result: np.ndarray[Any, Any] = np.empty((), object)
    result[()] = value
    return result


def one_string(value: np.ndarray[Any, Any], message: str) -> bytes:
    """Return the string in a tensor without dimensions; InvalidArgumentError for any others."""
    if value.ndim:
        raise errors.InvalidArgumentError(None, None, message)
    content: Any = value[()]
    return bytes(content)


def shown(value: bytes) -> str:
    """Bytes as a message to people shows them."""
    return value.decode(errors="replace")
