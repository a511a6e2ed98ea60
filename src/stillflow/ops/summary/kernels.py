"""What kernels of summaries share."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.lazy import torch


def in_numpy(value: Any) -> np.ndarray[Any, Any]:
    """A run-time value as an array; bfloat16 as float32."""
    if isinstance(value, np.ndarray):
        return value
    if value.dtype is torch.bfloat16:
        value = value.float()
    array: np.ndarray[Any, Any] = value.detach().cpu().numpy()
    return array


def serialized(message: Any) -> np.ndarray[Any, Any]:
    """A message as the value of a string tensor."""
    result = np.empty((), object)
    result[()] = message.SerializeToString()
    return result


def one_string(value: np.ndarray[Any, Any], message: str) -> str:
    """The text in a string tensor without dimensions.

    Raises:
      InvalidArgumentError: with this message, if it has some.
    """
    if value.ndim:
        raise errors.InvalidArgumentError(None, None, message)
    return text(value[()])


def text(value: bytes) -> str:
    """Bytes as the text of a message's field."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise errors.InvalidArgumentError(
            None, None, f"the tag {value!r} is no UTF-8 text"
        ) from None


def shape_text(shape: Any) -> str:
    """A shape in the words of kernels: [2,3]."""
    return f"[{','.join(str(int(size)) for size in shape)}]"
