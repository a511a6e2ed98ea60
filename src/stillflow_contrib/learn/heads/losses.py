"""Losses of heads: of a batch, and of an example on average."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow.losses.weights import broadcast_weights
from stillflow.util.function_utils import fn_args


def weighted(losses: Any, weights: Any) -> tuple[Any, Any]:
    """Return the mean of losses, and their average by weight.

    Args:
      losses: of each example.
      weights: that broadcast to the losses, or None.
    """
    with tf.name_scope("loss", values=(losses, weights)) as scope:
        if weights is None:
            return (tf.reduce_mean(losses, name=scope),) * 2
        weights = broadcast_weights(weights, losses)
        with tf.name_scope(None, "weighted_loss", (losses, weights)) as name:
            losses = tf.multiply(losses, weights, name=name)
        mean = tf.reduce_mean(losses, name=scope)
        sums = [tf.reduce_sum(each) for each in (losses, weights)]
        average = tf.div(sums[0], tf.cast(sums[1], tf.float32), name="weighted_average_loss")
        return mean, average


def _as_column(tensor: Any) -> Tensor:
    """Return a vector as [batch, 1], other tensors as they are."""
    return tf.expand_dims(tensor, axis=1) if len(tensor.get_shape()) == 1 else tensor


def _as_columns(logits: Any, labels: Any) -> tuple[Any, Any]:
    """Both as [batch, dimension]."""
    labels, logits = _as_column(labels), _as_column(logits)
    logits.get_shape().assert_is_compatible_with(labels.get_shape())
    return logits, labels


def mean_squared_loss(labels: Any, logits: Any, weights: Any = None) -> tuple[Any, Any]:
    """Return the squared differences of predictions and labels."""
    with tf.name_scope(None, "mean_squared_loss", (logits, labels)) as name:
        logits, labels = _as_columns(tf.convert_to_tensor(logits), tf.convert_to_tensor(labels))
        labels = tf.cast(labels, tf.float32)
        return weighted(tf.squared_difference(logits, labels, name=name), weights)


def poisson_loss(labels: Any, logits: Any, weights: Any = None) -> tuple[Any, Any]:
    """Return the Poisson loss of count labels, whose expectations' logarithms are the logits."""
    with tf.name_scope(None, "_poisson_loss", (logits, labels)) as name:
        logits, labels = _as_columns(tf.convert_to_tensor(logits), tf.convert_to_tensor(labels))
        losses = tf.nn.log_poisson_loss(labels, logits, compute_full_loss=True, name=name)
        return weighted(losses, weights)


def _sigmoid_cross_entropy(labels: Any, logits: Any, weights: Any, name: str) -> tuple[Any, Any]:
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name=name)
    return weighted(losses, weights)


def log_loss_with_two_classes(labels: Any, logits: Any, weights: Any = None) -> tuple[Any, Any]:
    """Return the cross entropy of labels of two classes."""
    with tf.name_scope(None, "log_loss_with_two_classes", (logits, labels)) as name:
        logits = tf.convert_to_tensor(logits)
        labels = _as_column(tf.cast(labels, tf.float32))
        return _sigmoid_cross_entropy(labels, logits, weights, name)


def softmax_cross_entropy_loss(labels: Any, logits: Any, weights: Any = None) -> tuple[Any, Any]:
    """Return the cross entropy of labels that are numbers of classes."""
    with tf.name_scope(None, "softmax_cross_entropy_loss", (logits, labels)) as name:
        labels = tf.convert_to_tensor(labels)
        if not labels.dtype.is_integer:
            raise ValueError(f"Labels dtype should be integer Instead got {labels.dtype}.")
        column = len(labels.get_shape()) == 2
        if column:
            labels = tf.squeeze(labels, axis=(1,))
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=logits, name=name
        )
        if column:
            losses = tf.expand_dims(losses, axis=(1,))
        return weighted(losses, weights)


def sigmoid_cross_entropy_loss(labels: Any, logits: Any, weights: Any = None) -> tuple[Any, Any]:
    """Return the cross entropy of labels of many classes, each of which is there or not."""
    with tf.name_scope(None, "sigmoid_cross_entropy_loss", (logits, labels)) as name:
        return _sigmoid_cross_entropy(tf.cast(labels, tf.float32), logits, weights, name)


def hinge_loss(labels: Any, logits: Any, weights: Any = None) -> tuple[Any, Any]:
    """Return the hinge loss of a support vector machine."""
    with tf.name_scope(None, "hinge_loss", (logits, labels)) as name:
        rank = tf.less_equal(tf.rank(labels), 2)
        told = ("labels shape should be either [batch_size, 1] or [batch_size]",)
        with tf.control_dependencies((tf.Assert(rank, told),)):
            labels = tf.reshape(labels, shape=(-1, 1))
        losses = tf.losses.hinge_loss(
            labels=labels, logits=logits, scope=name, reduction=tf.losses.Reduction.NONE
        )
        return weighted(losses, weights)


def user_loss(loss_fn: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """Return a user's loss as one of these, or None.

    Raises:
      ValueError: if it takes no labels, logits or weights.
    """
    if not loss_fn:
        return None
    for name in ("labels", "logits", "weights"):
        if name not in fn_args(loss_fn):
            raise ValueError(f"Argument {name} not found in loss_fn.")

    def wrapped(labels: Any, logits: Any, weights: Any = None) -> tuple[Any, Any]:
        loss = loss_fn(labels, logits, *([] if weights is None else [weights]))
        return loss, loss

    return wrapped
