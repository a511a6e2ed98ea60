"""Arguments that must end in an error, or in a plain result, and in nothing else.

A `Case` is an op with its inputs and attributes, and the expected outcome. The tables next to this
module hold the kinds of arguments that crashed TensorFlow 1.15 or made it read foreign memory,
according to its security advisories, and more of each kind.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

HUGE = 2**62


@dataclass(frozen=True)
class Case:
    """An op with arguments that need care.

    Attributes:
      op: the op's type.
      args: the inputs, in signature order.
      attrs: the attributes.
      shape: of the first output (all zeros) for valid arguments; None for an error.
    """

    op: str
    args: tuple[Any, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    shape: tuple[int, ...] | None = None


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def ints(*values: Any) -> np.ndarray:
    return np.array(values, np.int32)


def longs(*values: Any) -> np.ndarray:
    return np.array(values, np.int64)


def scalar(value: int, dtype: Any = np.int32) -> np.ndarray:
    return np.array(value, dtype)


def no_rows(columns: int, dtype: Any = np.int64) -> np.ndarray:
    return np.zeros((0, columns), dtype)


def texts(*values: bytes) -> np.ndarray:
    return np.array(values, object)


def refused(op: str, *args: Any, **attrs: Any) -> Case:
    return Case(op, args, attrs)


def gives(shape: tuple[int, ...], op: str, *args: Any, **attrs: Any) -> Case:
    return Case(op, args, attrs, shape)
