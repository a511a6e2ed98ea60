"""Losses of classes: cross entropies of logits, and the hinge loss."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.losses.collections import compute_weighted_loss, replaced

_LOGITS_CHANGED = " Note that the order of the logits and labels arguments has been changed"


@export("contrib.losses.sigmoid_cross_entropy", "contrib.slim.losses.sigmoid_cross_entropy")
@replaced(
    "sigmoid_cross_entropy",
    " Note that the order of the predictions and labels arguments has been changed.",
)
def sigmoid_cross_entropy(
    logits: Any,
    multi_class_labels: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
) -> Tensor:
    """Cross entropy of independent classes.

    Args:
      logits: `[batch, classes]`.
      multi_class_labels: 0 or 1 for each class, of the shape of `logits`.
      weights: a scalar, or `[batch]` or `[batch, classes]`.
      label_smoothing: how far labels are moved towards 0.5, 0 to 1.
      scope: a name for the operations.

    Returns:
      The mean loss, a scalar.

    Raises:
      ValueError: if the shapes do not fit.
    """
    inputs = [logits, multi_class_labels, weights]
    with tf.name_scope(scope, "sigmoid_cross_entropy_loss", inputs) as scope:
        logits.shape.assert_is_compatible_with(multi_class_labels.shape)
        labels: Any = tf.cast(multi_class_labels, logits.dtype)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = tf.nn.sigmoid_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, scope=scope)


@export("contrib.losses.softmax_cross_entropy", "contrib.slim.losses.softmax_cross_entropy")
@replaced("softmax_cross_entropy", f"{_LOGITS_CHANGED}.")
def softmax_cross_entropy(
    logits: Any,
    onehot_labels: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
) -> Tensor:
    """Cross entropy of classes of which one holds.

    Args:
      logits: `[batch, classes]`.
      onehot_labels: 1 for the class that holds, of the shape of `logits`.
      weights: a scalar, or `[batch]` or `[batch, 1]`.
      label_smoothing: how far labels are moved towards the same for all classes, 0 to 1.
      scope: a name for the operations.

    Returns:
      The mean loss, a scalar.

    Raises:
      ValueError: if the shapes do not fit.
    """
    inputs = [logits, onehot_labels, weights]
    with tf.name_scope(scope, "softmax_cross_entropy_loss", inputs) as scope:
        logits.shape.assert_is_compatible_with(onehot_labels.shape)
        labels: Any = tf.cast(onehot_labels, logits.dtype)
        if label_smoothing > 0:
            num_classes: Any = tf.cast(tf.shape(labels)[1], logits.dtype)
            for_all = label_smoothing / num_classes
            labels = labels * (1.0 - label_smoothing) + for_all
        losses = tf.nn.softmax_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, scope=scope)


@export(
    "contrib.losses.sparse_softmax_cross_entropy",
    "contrib.slim.losses.sparse_softmax_cross_entropy",
)
@replaced("sparse_softmax_cross_entropy", f"{_LOGITS_CHANGED}.")
def sparse_softmax_cross_entropy(
    logits: Any, labels: Any, weights: Any = 1.0, scope: str | None = None
) -> Tensor:
    """Cross entropy of classes of which one holds, given by its number.

    Args:
      logits: `[batch, classes]`.
      labels: numbers of classes, integers `[batch]` or `[batch, 1]`.
      weights: a scalar, or `[batch]` or `[batch, 1]`.
      scope: a name for the operations.

    Returns:
      The mean loss, a scalar.

    Raises:
      ValueError: if the shapes do not fit.
    """
    inputs = [logits, labels, weights]
    with tf.name_scope(scope, "sparse_softmax_cross_entropy_loss", inputs) as scope:
        batch = tf.shape(labels)[0]
        given = {"labels": tf.reshape(labels, shape=[batch]), "logits": logits}
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(name="xentropy", **given)
        return compute_weighted_loss(losses, weights, scope=scope)


@export("contrib.losses.hinge_loss", "contrib.slim.losses.hinge_loss")
@replaced("hinge_loss", f"{_LOGITS_CHANGED}, and to stay unweighted, reduction=Reduction.NONE")
def hinge_loss(logits: Any, labels: Any = None, scope: str | None = None) -> Tensor:
    """`max(0, 1 - (2 * labels - 1) * logits)`, not reduced and not collected.

    Args:
      logits: of any shape.
      labels: 0 or 1, of the shape of `logits`.
      scope: a name for the operations.

    Returns:
      The losses, of the shape of `logits`.

    Raises:
      ValueError: if the shapes do not fit.
    """
    with tf.name_scope(scope, "hinge_loss", [logits, labels]):
        logits.shape.assert_is_compatible_with(labels.shape)
        labels = tf.cast(labels, tf.float32)
        ones: Any = tf.ones_like(labels)
        signs = tf.subtract(2 * labels, ones)
        return tf.nn.relu(tf.subtract(ones, tf.multiply(signs, logits)))
