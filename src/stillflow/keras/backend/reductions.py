"""Functions of all elements along an axis."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.config import floatx


def _numbers(x: Any) -> Tensor:
    return tf.cast(x, floatx()) if x.dtype.base_dtype == tf.bool else x


@export("keras.backend.max")
def max_(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the largest elements along an axis."""
    return tf.reduce_max(x, axis, keepdims)


@export("keras.backend.min")
def min_(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the smallest elements along an axis."""
    return tf.reduce_min(x, axis, keepdims)


@export("keras.backend.sum")
def sum_(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return sums along an axis."""
    return tf.reduce_sum(x, axis, keepdims)


@export("keras.backend.prod")
def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Products along an axis."""
    return tf.reduce_prod(x, axis, keepdims)


@export("keras.backend.cumsum")
def cumsum(x: Any, axis: int = 0) -> Any:
    """Return sums of all elements up to each."""
    return tf.cumsum(x, axis=axis)


@export("keras.backend.cumprod")
def cumprod(x: Any, axis: int = 0) -> Any:
    """Products of all elements up to each."""
    return tf.cumprod(x, axis=axis)


@export("keras.backend.var")
def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Variances along an axis."""
    return tf.math.reduce_variance(_numbers(x), axis=axis, keepdims=keepdims)


@export("keras.backend.std")
def std(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return standard deviations along an axis."""
    return tf.math.reduce_std(_numbers(x), axis=axis, keepdims=keepdims)


@export("keras.backend.mean")
def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Means along an axis."""
    return tf.reduce_mean(_numbers(x), axis, keepdims)


@export("keras.backend.any")
def any_(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return True if any element along an axis is true."""
    return tf.reduce_any(tf.cast(x, tf.bool), axis, keepdims)


@export("keras.backend.all")
def all_(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return True if all elements along an axis are true."""
    return tf.reduce_all(tf.cast(x, tf.bool), axis, keepdims)


@export("keras.backend.argmax")
def argmax(x: Any, axis: int = -1) -> Any:
    """Return the indices of the largest elements along an axis."""
    return tf.argmax(x, axis)


@export("keras.backend.argmin")
def argmin(x: Any, axis: int = -1) -> Any:
    """Return the indices of the smallest elements along an axis."""
    return tf.argmin(x, axis)


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Logarithms of sums of exponentials."""
    return tf.reduce_logsumexp(x, axis, keepdims)
