"""Losses of each example, as functions of targets and predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.backend import crossentropy
from stillflow.keras.backend.config import epsilon, floatx
from stillflow.keras.backend.elementwise import clip
from stillflow.keras.backend.reductions import mean
from stillflow.ops.control_flow.cond import smart_cond


def _floats(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Return the targets as the predictions' dtype, and the predictions."""
    y_pred = convert_to_tensor(y_pred)
    return tf.cast(y_true, y_pred.dtype), y_pred


def _signs(y_true: Any) -> Tensor:
    """Targets 0 and 1 as -1 and 1; others as they are."""
    is_binary = tf.reduce_all(tf.logical_or(tf.equal(y_true, 0), tf.equal(y_true, 1)))
    return smart_cond(is_binary, lambda: 2.0 * y_true - 1.0, lambda: y_true)


@export(
    "keras.metrics.mean_squared_error",
    "keras.metrics.mse",
    "keras.metrics.MSE",
    "keras.losses.mean_squared_error",
    "keras.losses.mse",
    "keras.losses.MSE",
)
def mean_squared_error(y_true: Any, y_pred: Any) -> Tensor:
    """Return the mean of squared differences."""
    y_true, y_pred = _floats(y_true, y_pred)
    return mean(tf.squared_difference(y_pred, y_true), axis=-1)


@export(
    "keras.metrics.mean_absolute_error",
    "keras.metrics.mae",
    "keras.metrics.MAE",
    "keras.losses.mean_absolute_error",
    "keras.losses.mae",
    "keras.losses.MAE",
)
def mean_absolute_error(y_true: Any, y_pred: Any) -> Tensor:
    """Return the mean of absolute differences."""
    y_true, y_pred = _floats(y_true, y_pred)
    return mean(tf.abs(y_pred - y_true), axis=-1)


@export(
    "keras.metrics.mean_absolute_percentage_error",
    "keras.metrics.mape",
    "keras.metrics.MAPE",
    "keras.losses.mean_absolute_percentage_error",
    "keras.losses.mape",
    "keras.losses.MAPE",
)
def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Tensor:
    """Return the mean of absolute differences in percent of the targets."""
    y_true, y_pred = _floats(y_true, y_pred)
    difference = tf.abs((y_true - y_pred) / clip(tf.abs(y_true), epsilon(), None))
    return 100.0 * mean(difference, axis=-1)


@export(
    "keras.metrics.mean_squared_logarithmic_error",
    "keras.metrics.msle",
    "keras.metrics.MSLE",
    "keras.losses.mean_squared_logarithmic_error",
    "keras.losses.msle",
    "keras.losses.MSLE",
)
def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> Tensor:
    """Return the mean of squared differences of logarithms."""
    y_true, y_pred = _floats(y_true, y_pred)
    of_pred = tf.log(clip(y_pred, epsilon(), None) + 1.0)
    of_true = tf.log(clip(y_true, epsilon(), None) + 1.0)
    return mean(tf.squared_difference(of_pred, of_true), axis=-1)


@export("keras.metrics.squared_hinge", "keras.losses.squared_hinge")
def squared_hinge(y_true: Any, y_pred: Any) -> Tensor:
    """Return the mean of squared hinges; targets are -1 and 1, or 0 and 1."""
    y_true, y_pred = _floats(y_true, y_pred)
    y_true = _signs(y_true)
    return mean(tf.square(tf.maximum(1.0 - y_true * y_pred, 0.0)), axis=-1)


@export("keras.metrics.hinge", "keras.losses.hinge")
def hinge(y_true: Any, y_pred: Any) -> Tensor:
    """Return the mean of `max(1 - y_true * y_pred, 0)`; targets are -1 and 1, or 0 and 1."""
    y_true, y_pred = _floats(y_true, y_pred)
    y_true = _signs(y_true)
    return mean(tf.maximum(1.0 - y_true * y_pred, 0.0), axis=-1)


@export("keras.losses.categorical_hinge")
def categorical_hinge(y_true: Any, y_pred: Any) -> Tensor:
    """Return the hinge between the right class and the best of the others."""
    y_true, y_pred = _floats(y_true, y_pred)
    right = tf.reduce_sum(y_true * y_pred, axis=-1)
    wrong = tf.reduce_max((1.0 - y_true) * y_pred, axis=-1)
    return tf.maximum(0.0, wrong - right + 1.0)


@export("keras.losses.logcosh")
def logcosh(y_true: Any, y_pred: Any) -> Tensor:
    """Return the mean logarithm of the hyperbolic cosine of differences."""
    y_true, y_pred = _floats(y_true, y_pred)
    x = y_pred - y_true
    return mean(x + tf.nn.softplus(-2.0 * x) - tf.log(2.0), axis=-1)


@export(
    "keras.metrics.kullback_leibler_divergence",
    "keras.metrics.kld",
    "keras.metrics.KLD",
    "keras.losses.kullback_leibler_divergence",
    "keras.losses.kld",
    "keras.losses.KLD",
)
def kullback_leibler_divergence(y_true: Any, y_pred: Any) -> Tensor:
    """Return the divergence of the predictions from the targets."""
    y_true, y_pred = _floats(y_true, y_pred)
    y_true = clip(y_true, epsilon(), 1)
    y_pred = clip(y_pred, epsilon(), 1)
    return tf.reduce_sum(y_true * tf.log(y_true / y_pred), axis=-1)


@export("keras.metrics.poisson", "keras.losses.poisson")
def poisson(y_true: Any, y_pred: Any) -> Tensor:
    """Return the mean of `y_pred - y_true * log(y_pred)`."""
    y_true, y_pred = _floats(y_true, y_pred)
    return mean(y_pred - y_true * tf.log(y_pred + epsilon()), axis=-1)


def huber_loss(y_true: Any, y_pred: Any, delta: float = 1.0) -> Tensor:
    """Half the squared differences up to `delta`, linear beyond; of each element."""
    y_pred, y_true = tf.cast(y_pred, dtype=floatx()), tf.cast(y_true, dtype=floatx())
    error = tf.abs(tf.subtract(y_pred, y_true))
    quadratic = tf.minimum(error, delta)
    linear = tf.subtract(error, quadratic)
    half = convert_to_tensor(0.5, dtype=quadratic.dtype)
    squared = tf.multiply(half, tf.multiply(quadratic, quadratic))
    return tf.add(squared, tf.multiply(delta, linear))


def _smoothed(targets: Any, smoothing: Any, moved: Callable[[Any], Any]) -> Tensor:
    """Return `moved(smoothing)` unless the smoothing is 0."""
    smoothing = convert_to_tensor(smoothing, dtype=floatx())
    return smart_cond(smoothing, lambda: moved(smoothing), lambda: targets)


@export("keras.metrics.categorical_crossentropy", "keras.losses.categorical_crossentropy")
def categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: Any = 0
) -> Tensor:
    """Return the cross entropy of distributions over classes.

    Args:
      y_true, y_pred: [batch, classes].
      from_logits: whether the predictions are logits.
      label_smoothing: the part of the targets that is spread over all classes.
    """
    targets, y_pred = _floats(y_true, y_pred)

    def moved(smoothing: Any) -> Any:
        classes = tf.cast(tf.shape(targets)[1], y_pred.dtype)
        return targets * (1.0 - smoothing) + smoothing / classes

    y_true = _smoothed(targets, label_smoothing, moved)
    return crossentropy.categorical_crossentropy(y_true, y_pred, from_logits=from_logits)


@export(
    "keras.metrics.sparse_categorical_crossentropy", "keras.losses.sparse_categorical_crossentropy"
)
def sparse_categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """Return the cross entropy of classes given as integers."""
    return crossentropy.sparse_categorical_crossentropy(
        y_true, y_pred, from_logits=from_logits, axis=axis
    )


@export("keras.metrics.binary_crossentropy", "keras.losses.binary_crossentropy")
def binary_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: Any = 0
) -> Tensor:
    """Return the mean cross entropy of yes-or-no questions.

    Args:
      y_true, y_pred: of the same shape.
      from_logits: whether the predictions are logits.
      label_smoothing: how far targets are moved towards 0.5.
    """
    targets, y_pred = _floats(y_true, y_pred)

    def moved(smoothing: Any) -> Any:
        return targets * (1.0 - smoothing) + 0.5 * smoothing

    y_true = _smoothed(targets, label_smoothing, moved)
    losses = crossentropy.binary_crossentropy(y_true, y_pred, from_logits=from_logits)
    return mean(losses, axis=-1)


@export(
    "keras.metrics.cosine_proximity",
    "keras.metrics.cosine",
    "keras.losses.cosine_proximity",
    "keras.losses.cosine",
    "keras.losses.cosine_similarity",
)
def cosine_proximity(y_true: Any, y_pred: Any, axis: int = -1) -> Tensor:
    """Return the cosine of the angle between targets and predictions."""
    y_true, y_pred = tf.nn.l2_normalize(y_true, axis=axis), tf.nn.l2_normalize(y_pred, axis=axis)
    return tf.reduce_sum(y_true * y_pred, axis=axis)
