"""Losses of numbers: absolute, squared, pairwise, logarithmic, cosine."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.util.renamed import renamed_argument
from stillflow_contrib.losses.collections import (
    add_loss,
    compute_weighted_loss,
    num_present,
    replaced,
    require_rank,
    scale_losses,
)

_CHANGED = " Note that the order of the predictions and labels arguments has been changed."


def _as_floats(predictions: Any, labels: Any) -> tuple[Any, Any]:
    predictions.shape.assert_is_compatible_with(labels.shape)
    return tf.cast(predictions, tf.float32), tf.cast(labels, tf.float32)


@export("contrib.losses.absolute_difference", "contrib.slim.losses.absolute_difference")
@replaced("absolute_difference")
def absolute_difference(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None
) -> Tensor:
    """Return the mean of `|predictions - labels|`.

    Args:
      predictions: of any shape `[batch, ...]`.
      labels: of the shape of `predictions`.
      weights: a scalar, or of the first dimensions of `predictions`.
      scope: a name for the operations.

    Returns:
      The mean loss, a scalar.

    Raises:
      ValueError: if the shapes do not fit.
    """
    with tf.name_scope(scope, "absolute_difference", [predictions, labels, weights]) as scope:
        predictions, labels = _as_floats(predictions, labels)
        losses = tf.abs(tf.subtract(predictions, labels))
        return compute_weighted_loss(losses, weights, scope=scope)


@export("contrib.losses.log_loss", "contrib.slim.losses.log_loss")
@replaced("log_loss", _CHANGED)
def log_loss(
    predictions: Any,
    labels: Any = None,
    weights: Any = 1.0,
    epsilon: float = 1e-07,
    scope: str | None = None,
) -> Tensor:
    """Return the cross entropy of probabilities.

    Args:
      predictions: probabilities, of any shape `[batch, ...]`.
      labels: 0 or 1, or a probability; of the shape of `predictions`.
      weights: a scalar, or of the first dimensions of `predictions`.
      epsilon: added to probabilities before their logarithm is taken.
      scope: a name for the operations.

    Returns:
      The mean loss, a scalar.

    Raises:
      ValueError: if the shapes do not fit.
    """
    with tf.name_scope(scope, "log_loss", [predictions, labels, weights]) as scope:
        predictions, labels = _as_floats(predictions, labels)
        yes: Any = -tf.multiply(labels, tf.log(predictions + epsilon))
        losses = yes - tf.multiply(1 - labels, tf.log(1 - predictions + epsilon))
        return compute_weighted_loss(losses, weights, scope=scope)


@export("contrib.losses.mean_squared_error", "contrib.slim.losses.mean_squared_error")
@replaced("mean_squared_error")
def mean_squared_error(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None
) -> Tensor:
    """Return the mean of `(predictions - labels) ** 2`.

    Args:
      predictions: of any shape `[batch, ...]`.
      labels: of the shape of `predictions`.
      weights: a scalar, or of the first dimensions of `predictions`.
      scope: a name for the operations.

    Returns:
      The mean loss, a scalar.

    Raises:
      ValueError: if the shapes do not fit.
    """
    with tf.name_scope(scope, "mean_squared_error", [predictions, labels, weights]) as scope:
        predictions, labels = _as_floats(predictions, labels)
        losses = tf.squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, scope=scope)


@export(
    "contrib.losses.mean_pairwise_squared_error", "contrib.slim.losses.mean_pairwise_squared_error"
)
@replaced("mean_pairwise_squared_error", _CHANGED)
def mean_pairwise_squared_error(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None
) -> Tensor:
    """Return the squared difference of differences, over all pairs of elements of an example.

    Args:
      predictions: of any shape `[batch, ...]`.
      labels: of the shape of `predictions`.
      weights: a scalar, or one per example.
      scope: a name for the operations.

    Returns:
      A scalar.

    Raises:
      ValueError: if the shapes do not fit or a rank is not known.
    """
    inputs = [predictions, labels, weights]
    with tf.name_scope(scope, "mean_pairwise_squared_error", inputs):
        predictions, labels = _as_floats(predictions, labels)
        weights = tf.cast(tf.convert_to_tensor(weights), tf.float32)
        differences = tf.subtract(predictions, labels)
        require_rank("diffs", differences)
        require_rank("weights", weights)
        axes = list(range(1, differences.shape.ndims))
        squares = tf.reduce_sum(tf.square(differences), axis=axes)
        count: Any = num_present(differences, weights, per_batch=True)
        own: Any = 2.0 * tf.div_no_nan(squares, count, name="value")
        total = tf.reduce_sum(differences, axis=axes)
        shared = 2.0 * tf.div_no_nan(tf.square(total), tf.square(count), name="value")
        loss = scale_losses(own - shared, weights)
        any_present = tf.reduce_sum(count) > 0
        loss = tf.where(any_present, loss, tf.zeros_like(loss), name="value")
        add_loss(loss)
        return loss


@export("contrib.losses.cosine_distance", "contrib.slim.losses.cosine_distance")
@replaced("cosine_distance")
def cosine_distance(
    predictions: Any,
    labels: Any = None,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """Return the mean of `1 - sum(predictions * labels)` along an axis, for vectors of length 1.

    Args:
      predictions: of any shape `[batch, ...]`.
      labels: of the shape of `predictions`.
      axis: the axis of the vectors; `dim` is its old name.
      weights: a scalar, or of the first dimensions of `predictions`.
      scope: a name for the operations.

    Returns:
      The mean loss, a scalar.

    Raises:
      ValueError: if the shapes do not fit or no axis is given.
    """
    axis = renamed_argument("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    with tf.name_scope(scope, "cosine_distance_loss", [predictions, labels, weights]) as scope:
        products = tf.multiply(*_as_floats(predictions, labels))
        cosines = tf.reduce_sum(products, axis=[axis])
        return compute_weighted_loss(1 - cosines, weights, scope=scope)
