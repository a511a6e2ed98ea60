"""Functions of each element by itself."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.config import floatx
from stillflow.ops.arrays.select import where
from stillflow.ops.constants import constant
from stillflow.ops.math import unary
from stillflow.ops.math.binary import add, multiply
from stillflow.ops.math.cast import cast
from stillflow.ops.math.clip import clip_by_value
from stillflow.ops.math.comparison import greater
from stillflow.ops.nn import activations as nn

Number: TypeAlias = float | Array


def _like(value: Any, x: Tensor) -> Tensor:
    return constant(value, dtype=x.dtype.base_dtype)


@export("keras.backend.clip")
def clip(x: Tensor, min_value: Any, max_value: Any) -> Tensor:
    """`x` within bounds; None for no upper bound."""
    if max_value is not None and max_value < min_value:
        max_value = min_value
    upper = np.inf if max_value is None else max_value
    return clip_by_value(x, _like(min_value, x), _like(upper, x))


@export("keras.backend.sqrt")
def sqrt(x: Tensor) -> Tensor:
    """Return the square root; 0 for negative elements."""
    result: Tensor = unary.sqrt(clip_by_value(x, _like(0.0, x), _like(np.inf, x)))
    return result


@export("keras.backend.relu")
def relu(
    x: Any, alpha: Number = 0.0, max_value: Number | None = None, threshold: Number = 0
) -> Tensor:
    """`x` where it is above the threshold, `alpha * (x - threshold)` elsewhere.

    Args:
      alpha: the slope below the threshold.
      max_value: an upper bound, or None.
    """
    if alpha != 0.0:
        if max_value is None and threshold == 0:
            return nn.leaky_relu(x, alpha=alpha)
        negative = nn.relu(-x + threshold) if threshold != 0 else nn.relu(-x)
    clipped = max_value is not None
    if threshold != 0:
        x = x * cast(greater(x, threshold), floatx())
    elif max_value == 6:
        x, clipped = nn.relu6(x), False
    else:
        x = nn.relu(x)
    if clipped:
        upper = _like(max_value, x)
        x = clip_by_value(x, _like(0.0, x), upper)
    if alpha != 0.0:
        slope: Any = _like(alpha, x)
        x -= slope * negative
    result: Tensor = x
    return result


@export("keras.backend.elu")
def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """`x` where it is positive, `alpha * (exp(x) - 1)` elsewhere."""
    result: Any = nn.elu(x)
    return result if alpha == 1 else where(x > 0, result, alpha * result)


@export("keras.backend.hard_sigmoid")
def hard_sigmoid(x: Tensor) -> Tensor:
    """`0.2 * x + 0.5` between 0 and 1."""
    slope, offset = _like(0.2, x), _like(0.5, x)
    return clip_by_value(add(multiply(x, slope), offset), 0.0, 1.0)
