"""Functions of single elements that TensorFlow has as they are."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export


@export("keras.backend.square")
def square(x: Any) -> Any:
    """Squares."""
    return tf.square(x)


@export("keras.backend.abs")
def abs_(x: Any) -> Any:
    """Absolute values."""
    return tf.abs(x)


@export("keras.backend.exp")
def exp(x: Any) -> Any:
    """Exponentials."""
    return tf.exp(x)


@export("keras.backend.log")
def log(x: Any) -> Any:
    """Natural logarithms."""
    return tf.log(x)


@export("keras.backend.round")
def round_(x: Any) -> Any:
    """Nearest integers, halves to even."""
    return tf.round(x)


@export("keras.backend.sign")
def sign(x: Any) -> Any:
    """-1, 0 or 1."""
    return tf.sign(x)


@export("keras.backend.sin")
def sin(x: Any) -> Any:
    """Sines."""
    return tf.sin(x)


@export("keras.backend.cos")
def cos(x: Any) -> Any:
    """Cosines."""
    return tf.cos(x)


@export("keras.backend.pow")
def pow_(x: Any, a: Any) -> Any:
    """`x` to the power of `a`."""
    return tf.pow(x, a)


@export("keras.backend.equal")
def equal(x: Any, y: Any) -> Any:
    """Return True where elements are equal."""
    return tf.equal(x, y)


@export("keras.backend.not_equal")
def not_equal(x: Any, y: Any) -> Any:
    """Return True where elements differ."""
    return tf.not_equal(x, y)


@export("keras.backend.greater")
def greater(x: Any, y: Any) -> Any:
    """Return True where `x > y`."""
    return tf.greater(x, y)


@export("keras.backend.greater_equal")
def greater_equal(x: Any, y: Any) -> Any:
    """Return True where `x >= y`."""
    return tf.greater_equal(x, y)


@export("keras.backend.less")
def less(x: Any, y: Any) -> Any:
    """Return True where `x < y`."""
    return tf.less(x, y)


@export("keras.backend.less_equal")
def less_equal(x: Any, y: Any) -> Any:
    """Return True where `x <= y`."""
    return tf.less_equal(x, y)


@export("keras.backend.maximum")
def maximum(x: Any, y: Any) -> Any:
    """Return the larger of two elements."""
    return tf.maximum(x, y)


@export("keras.backend.minimum")
def minimum(x: Any, y: Any) -> Any:
    """Return the smaller of two elements."""
    return tf.minimum(x, y)


@export("keras.backend.cast")
def cast(x: Any, dtype: Any) -> Any:
    """`x` as another dtype."""
    return tf.cast(x, dtype)


@export("keras.backend.softmax")
def softmax(x: Any, axis: int = -1) -> Any:
    """Exponentials that sum to 1 along an axis."""
    return tf.nn.softmax(x, axis=axis)


@export("keras.backend.softplus")
def softplus(x: Any) -> Any:
    """`log(exp(x) + 1)`."""
    return tf.nn.softplus(x)


@export("keras.backend.softsign")
def softsign(x: Any) -> Any:
    """`x / (abs(x) + 1)`."""
    return tf.nn.softsign(x)


@export("keras.backend.sigmoid")
def sigmoid(x: Any) -> Any:
    """`1 / (1 + exp(-x))`."""
    return tf.nn.sigmoid(x)


@export("keras.backend.tanh")
def tanh(x: Any) -> Any:
    """Hyperbolic tangents."""
    return tf.nn.tanh(x)
