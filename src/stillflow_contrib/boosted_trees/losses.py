"""Losses of single examples, which can be differentiated twice.

Each function returns the losses and an operation without effect, since there is no state.
"""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor

Loss = tuple[Any, Any]


def _weighted(losses: Any, weights: Any) -> Loss:
    return (losses if weights is None else losses * weights), tf.no_op()


def per_example_squared_hinge_loss(labels: Any, weights: Any, predictions: Any) -> Loss:
    """Return the square of the hinge loss of all examples.

    Args:
      labels: 0 or 1, [n, 1].
      weights: float32 [n, 1].
      predictions: float32 [n, 1].

    Returns:
      A scalar, and an operation without effect.
    """
    loss = tf.losses.hinge_loss(labels=labels, logits=predictions, weights=weights)
    return tf.square(loss), tf.no_op()


def per_example_logistic_loss(labels: Any, weights: Any, predictions: Any) -> Loss:
    """Logistic losses.

    Args:
      labels: 0 or 1, [n, 1].
      weights: float32 [n, 1].
      predictions: logits, float32 [n, 1].

    Returns:
      float32 [n, 1], and an operation without effect.
    """
    labels = tf.cast(labels, tf.float32)
    return _weighted(
        tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=predictions), weights
    )


def per_example_quantile_regression_loss(
    labels: Any, weights: Any, predictions: Any, quantile: float
) -> Loss:
    """Losses whose least is at a quantile, squared where they are less than one.

    The second derivative can be zero: trees need a regularization with it.

    Args:
      labels: numbers [n, d].
      weights: float32 [n, 1]; None is without.
      predictions: float32 [n, d].
      quantile: from 0 to 1.

    Returns:
      float32 [n, d], and an operation without effect.
    """

    def smooth(factor: float) -> Tensor:
        return tf.where(error * factor < 1, tf.square(factor * error), factor * error)

    labels = tf.cast(labels, tf.float32)
    error = labels - predictions
    above = smooth(quantile)
    below = smooth(quantile - 1)
    return _weighted(tf.where(error > 0, above, below), weights)


def per_example_maxent_loss(
    labels: Any, weights: Any, logits: Any, num_classes: int, eps: float = 1e-15
) -> Loss:
    """Return the negative logarithm of the probability that is given to the right class.

    Args:
      labels: classes, [n, 1] or [n].
      weights: float32 [n, 1]; None is without.
      logits: float32 [n, num_classes].
      num_classes: how many classes there are.
      eps: how near to 0 and 1 probabilities may come.

    Returns:
      float32 [n, 1], and an operation without effect.
    """
    labels = tf.cast(labels, tf.int64)
    if len(labels.get_shape()) != 2:
        labels = tf.expand_dims(labels, 1)
    one_hot = tf.one_hot(indices=labels, depth=num_classes)
    labels = tf.cast(tf.reduce_sum(one_hot, axis=[1]), tf.float32)
    powers = tf.exp(logits)
    totals = tf.reduce_sum(powers, 1, keepdims=True)
    shares = tf.divide(powers, tf.add(totals, eps))
    share = tf.reduce_sum(labels * shares, 1)
    least = tf.zeros_like(share, dtype=logits.dtype) + eps
    most = tf.ones_like(share, dtype=logits.dtype) - eps
    share = tf.where(share >= eps, share, least)
    share = tf.where(share <= 1 - eps, share, most)
    return _weighted(tf.expand_dims(-tf.log(share), 1), weights)


def per_example_squared_loss(labels: Any, weights: Any, predictions: Any) -> Loss:
    """Squared distances.

    Args:
      labels: float32 [n, d].
      weights: float32 [n, 1].
      predictions: float32 [n, d].

    Returns:
      float32 [n, 1], and an operation without effect.
    """
    squares = tf.squared_difference(predictions, labels)
    return _weighted(tf.reduce_sum(squares, 1, keepdims=True), weights)


def _checked(labels: Any, logits: Any, name: str | None) -> tuple[Any, Any]:
    """Both as tensors; ValueError for shapes that differ."""
    with tf.name_scope(name, "exp_loss", [logits, labels]):
        given = {"logits": logits, "labels": labels}
        logits, labels = (convert_to_tensor(value, name=key) for key, value in given.items())
        if not labels.shape.is_compatible_with(logits.shape):
            raise ValueError(
                f"logits and labels must have the same shape ({logits.shape} vs {labels.shape})"
            )
    return labels, logits


def _signs(labels: Any, logits: Any) -> tuple[Any, Any, Any]:
    """One and minus one for all logits, and which of them the labels are."""
    zeros = tf.zeros_like(logits, dtype=logits.dtype)
    ones = tf.ones_like(logits, dtype=logits.dtype)
    negative = -tf.ones_like(logits, dtype=logits.dtype)
    return ones, negative, tf.where(labels > zeros, ones, negative)


def per_example_exp_loss(
    labels: Any, weights: Any, predictions: Any, name: str | None = None, eps: float = 0.1
) -> Loss:
    """Exponential losses that do not ask by how much a prediction is right.

    Probabilities beyond 0.5 +- eps / 2 count as certain, those between grow evenly.

    Args:
      labels: 0 or 1, [n, d].
      weights: float32 [n, 1].
      predictions: logits, float32 [n, d].
      name: of the scope.
      eps: how far certain predictions are apart.

    Returns:
      float32 [n, d], and an operation without effect.

    Raises:
      ValueError: if labels and predictions have other shapes.
    """
    labels, logits = _checked(tf.cast(labels, tf.float32), predictions, name)
    ones, negative, signs = _signs(labels, logits)
    bent = 1.0 / eps * tf.sigmoid(logits) + -1.0 / 2 / eps
    bent = tf.where(bent < -1, negative, bent)
    bent = tf.where(bent > 1, ones, bent)
    return _weighted(tf.exp(-bent * signs), weights)


def per_example_full_exp_loss(
    labels: Any, weights: Any, predictions: Any, name: str | None = None
) -> Loss:
    """Exponential losses: how much a logit speaks for the wrong class, as a power of e.

    Args:
      labels: 0 or 1, [n, d].
      weights: float32 [n, 1].
      predictions: logits, float32 [n, d].
      name: of the scope.

    Returns:
      float32 [n, d], and an operation without effect.

    Raises:
      ValueError: if labels and predictions have other shapes.
    """
    labels, logits = _checked(tf.cast(labels, tf.float32), predictions, name)
    *_, signs = _signs(labels, logits)
    return _weighted(tf.exp(-1.0 * logits * signs), weights)
