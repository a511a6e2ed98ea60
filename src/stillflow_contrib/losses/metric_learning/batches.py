"""Losses of all pairs of a batch: triplets with semi-hard negatives, and lifted structures."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.losses.metric_learning.pairs import column


def pairwise_distance(feature: Any, squared: bool = False) -> Tensor:
    """Return the distances between all rows, float32 `[rows, rows]`; 0 on the diagonal.

    Args:
      feature: float32 `[rows, size]`.
      squared: whether distances are squared.
    """
    rows = tf.reduce_sum(tf.square(feature), axis=[1], keepdims=True)
    columns = tf.reduce_sum(tf.square(tf.transpose(feature)), axis=[0], keepdims=True)
    sums: Any = tf.add(rows, columns)
    squares: Any = tf.maximum(sums - 2.0 * tf.matmul(feature, tf.transpose(feature)), 0.0)
    are_zero = tf.less_equal(squares, 0.0)
    # The root has no gradient at 0, so that is kept away from there, and masked afterwards.
    distances = squares if squared else tf.sqrt(squares + tf.cast(are_zero, tf.float32) * 1e-16)
    distances = tf.multiply(distances, tf.cast(tf.logical_not(are_zero), tf.float32))
    count: Any = tf.shape(feature)
    count = count[0]
    off_diagonal = tf.ones_like(distances) - tf.diag(tf.ones([count]))
    return tf.multiply(distances, off_diagonal)


def _masked_maximum(data: Any, mask: Any) -> Tensor:
    """Return the maximum of each row where the mask is 1; its minimum where it never is."""
    least: Any = tf.reduce_min(data, 1, keepdims=True)
    return tf.reduce_max(tf.multiply(data - least, mask), 1, keepdims=True) + least


def _masked_minimum(data: Any, mask: Any) -> Tensor:
    """Return the minimum of each row where the mask is 1; its maximum where it never is."""
    most: Any = tf.reduce_max(data, 1, keepdims=True)
    return tf.reduce_min(tf.multiply(data - most, mask), 1, keepdims=True) + most


def _semi_hard_negatives(distances: Any, differ: Any, batch_size: Any) -> Tensor:
    """Return for each pair the distance to the closest negative farther away than the pair's other.

    Where there is none, the distance to the farthest negative.
    """
    square = [batch_size, batch_size]
    tiled = tf.tile(distances, [batch_size, 1])
    negative = tf.tile(differ, [batch_size, 1])
    farther = tf.greater(tiled, tf.reshape(tf.transpose(distances), [-1, 1]))
    mask = tf.logical_and(negative, farther)
    count = tf.reduce_sum(tf.cast(mask, dtype=tf.float32), 1, keepdims=True)
    exists = tf.transpose(tf.reshape(tf.greater(count, 0.0), square))
    differ = tf.cast(differ, dtype=tf.float32)
    mask = tf.cast(mask, dtype=tf.float32)
    outside = tf.transpose(tf.reshape(_masked_minimum(tiled, mask), square))
    inside = tf.tile(_masked_maximum(distances, differ), [1, batch_size])
    return tf.where(exists, outside, inside)


def _other_positives(alike: Any, batch_size: Any) -> Tensor:
    """Return 1 where two different examples are of one class."""
    return tf.cast(alike, dtype=tf.float32) - tf.diag(tf.ones([batch_size]))


@export("contrib.losses.metric_learning.triplet_semihard_loss")
def triplet_semihard_loss(labels: Any, embeddings: Any, margin: float = 1.0) -> Tensor:
    """Return the triplet loss with semi-hard negatives.

    Args:
      labels: numbers of classes, integers `[batch]`.
      embeddings: float32 `[batch, size]`, of length 1.
      margin: by how much negatives have to be farther.

    Returns:
      The mean over all pairs of a class, a float32 scalar.
    """
    labels = column(labels)
    distances = pairwise_distance(embeddings, squared=True)
    alike = tf.equal(labels, tf.transpose(labels))
    differ = tf.logical_not(alike)
    batch_size = tf.size(labels)
    negatives = _semi_hard_negatives(distances, differ, batch_size)
    losses = tf.add(margin, distances - negatives)
    positives = _other_positives(alike, batch_size)
    count = tf.reduce_sum(positives)
    total = tf.reduce_sum(tf.maximum(tf.multiply(losses, positives), 0.0))
    return tf.truediv(total, count, name="triplet_semihard_loss")


def _lifted(distances: Any, differ: Any, batch_size: Any, margin: float) -> Tensor:
    """Return the soft maximum of the margin violations by the negatives of both of a pair."""
    lacks: Any = margin - distances
    mask = tf.cast(differ, dtype=tf.float32)
    most: Any = _masked_maximum(lacks, mask)
    most = tf.maximum(most, tf.transpose(most))
    tiled = tf.tile(lacks, [batch_size, 1])
    mask = tf.tile(mask, [batch_size, 1])
    # Exponents are relative to the maximum, so that none overflows.
    relative_to = tf.reshape(tf.transpose(most), [-1, 1])
    powers = tf.exp(tiled - relative_to)
    sums = tf.reduce_sum(tf.multiply(powers, mask), 1, keepdims=True)
    of_one: Any = tf.reshape(sums, [batch_size, batch_size])
    return most + tf.log(of_one + tf.transpose(of_one))


@export("contrib.losses.metric_learning.lifted_struct_loss")
def lifted_struct_loss(labels: Any, embeddings: Any, margin: float = 1.0) -> Tensor:
    """Return the lifted structured loss (arXiv:1511.06452).

    Args:
      labels: numbers of classes, integers `[batch]`.
      embeddings: float32 `[batch, size]`; not normalized.
      margin: how far negatives have to be.

    Returns:
      The mean over all pairs of a class, a float32 scalar.
    """
    labels = column(labels)
    distances = pairwise_distance(embeddings)
    alike = tf.equal(labels, tf.transpose(labels))
    differ = tf.logical_not(alike)
    batch_size = tf.size(labels)
    losses = _lifted(distances, differ, batch_size, margin) + distances
    positives = _other_positives(alike, batch_size)
    count = tf.reduce_sum(positives) / 2.0
    hinges = tf.maximum(tf.multiply(losses, positives), 0.0)
    total: Any = 0.25 * tf.reduce_sum(tf.square(hinges))
    return tf.truediv(total, count, name="liftedstruct_loss")
