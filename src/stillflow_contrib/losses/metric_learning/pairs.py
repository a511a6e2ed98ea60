"""Losses of pairs of embeddings: contrastive, and N-pairs with one label or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor


@export("contrib.losses.metric_learning.contrastive_loss")
def contrastive_loss(
    labels: Any, embeddings_anchor: Any, embeddings_positive: Any, margin: float = 1.0
) -> Tensor:
    """Return the squared distances of positive pairs, and the margin violations of the others.

    Args:
      labels: whether a pair belongs together, `[batch]`.
      embeddings_anchor, embeddings_positive: the two of each pair, float32 `[batch, size]`.
      margin: the distance from which on others cost nothing.

    Returns:
      The mean, a float32 scalar.
    """
    squares = tf.squared_difference(embeddings_anchor, embeddings_positive)
    distances: Any = tf.sqrt(tf.reduce_sum(squares, 1))
    together: Any = tf.cast(labels, distances.dtype) * tf.square(distances)
    are_apart = 1.0 - tf.cast(labels, distances.dtype)
    apart = are_apart * tf.square(tf.maximum(margin - distances, 0.0))
    return tf.reduce_mean(together + apart, name="contrastive_loss")


def _regularizer(anchor: Any, positive: Any, reg_lambda: float) -> Tensor:
    """Return the regularization: the lengths of the embeddings."""
    of_anchor: Any = tf.reduce_mean(tf.reduce_sum(tf.square(anchor), 1))
    of_positive = tf.reduce_mean(tf.reduce_sum(tf.square(positive), 1))
    return tf.multiply(0.25 * reg_lambda, of_anchor + of_positive, name="l2loss")


def _total(length: Any, similarity: Any, adjacency: Any, print_losses: bool) -> Tensor:
    """Return the cross entropy of similarities with the adjacency, and the length."""
    shares = adjacency / tf.reduce_sum(adjacency, 1, keepdims=True)
    losses = tf.nn.softmax_cross_entropy_with_logits(logits=similarity, labels=shares)
    mean = tf.reduce_mean(losses, name="xentropy")
    if not print_losses:
        return length + mean
    return length + tf.Print(mean, ["cross entropy:", mean, "l2loss:", length])


def column(labels: Any) -> Tensor:
    """Labels `[batch]` as `[batch, 1]`."""
    size: Any = tf.shape(labels)
    assert size.shape == 1
    return tf.reshape(labels, [size[0], 1])


@export("contrib.losses.metric_learning.npairs_loss")
def npairs_loss(
    labels: Any,
    embeddings_anchor: Any,
    embeddings_positive: Any,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Tensor:
    """Return the cross entropy of finding, for each anchor, the example with its label.

    Args:
      labels: numbers of classes, integers `[batch]`.
      embeddings_anchor, embeddings_positive: the two of each pair, float32 `[batch, size]`; not
        normalized.
      reg_lambda: the weight of the lengths of embeddings.
      print_losses: whether both parts are printed when run.

    Returns:
      A float32 scalar.
    """
    length = _regularizer(embeddings_anchor, embeddings_positive, reg_lambda)
    similarity = tf.matmul(embeddings_anchor, embeddings_positive, transpose_b=True)
    labels = column(labels)
    adjacency = tf.cast(tf.equal(labels, tf.transpose(labels)), tf.float32)
    return _total(length, similarity, adjacency, print_losses)


def _common_labels(sparse_labels: Sequence[Any]) -> Tensor:
    """Return the number of common labels for all pairs of examples."""
    count = len(sparse_labels)
    adjacency: Any = tf.zeros([count, count])
    for i, first in enumerate(sparse_labels):
        for j, second in enumerate(sparse_labels):
            shared = tf.sparse_reduce_sum(tf.sparse_minimum(first, second))
            shared = tf.cast(shared, tf.float32)
            shared = tf.expand_dims(tf.expand_dims(shared, 0), 1)
            around = [[i, count - i - 1], [j, count - j - 1]]
            adjacency += tf.pad(shared, around, "CONSTANT")
    return adjacency


@export("contrib.losses.metric_learning.npairs_loss_multilabel")
def npairs_loss_multilabel(
    sparse_labels: Sequence[Any],
    embeddings_anchor: Any,
    embeddings_positive: Any,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Tensor:
    """`npairs_loss` of examples that have several labels.

    Args:
      sparse_labels: for each example a sparse tensor of ones where it has a label.
      embeddings_anchor, embeddings_positive: the two of each pair, float32 `[batch, size]`; not
        normalized.
      reg_lambda: the weight of the lengths of embeddings.
      print_losses: whether both parts are printed when run.

    Returns:
      A float32 scalar.

    Raises:
      TypeError: if a label is not a sparse tensor.
    """
    if not all(isinstance(label, tf.SparseTensor) for label in sparse_labels):
        raise TypeError(f"sparse_labels must be a list of SparseTensors, but got {sparse_labels}")
    with tf.name_scope("NpairsLossMultiLabel"):
        length = _regularizer(embeddings_anchor, embeddings_positive, reg_lambda)
        similarity = tf.matmul(embeddings_anchor, embeddings_positive, transpose_b=True)
        adjacency = tf.cast(_common_labels(sparse_labels), tf.float32)
        return _total(length, similarity, adjacency, print_losses)
