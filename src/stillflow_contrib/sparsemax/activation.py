"""Sparsemax and its loss (Martins and Astudillo, 2016)."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor


@export("contrib.sparsemax.sparsemax")
def sparsemax(logits: Any, name: str | None = None) -> Tensor:
    """Return the probabilities that are nearest to some logits; many of them are 0.

    Args:
      logits: [batch, classes] of half, float32 or float64.
      name: of the scope.

    Returns:
      Of the shape and type of `logits`; NaN in rows with a NaN, or with nothing but -inf.
    """
    with tf.name_scope(name, "sparsemax", [logits]):
        logits = tf.convert_to_tensor(logits, name="logits")
        rows, classes = tf.shape(logits)[0], tf.shape(logits)[1]
        largest, _ = tf.nn.top_k(logits, k=classes)
        sums = tf.cumsum(largest, axis=1)
        number = tf.range(1, tf.cast(classes, logits.dtype) + 1, dtype=logits.dtype)
        above = 1 + number * largest > sums
        support = tf.reduce_sum(tf.cast(above, tf.int32), axis=1)
        last = tf.maximum(support, 1)
        places = tf.stack([tf.range(0, rows), last - 1], axis=1)
        total = tf.gather_nd(sums, places)
        threshold = (total - 1) / tf.cast(support, logits.dtype)
        zero = tf.cast(0, logits.dtype)
        result = tf.maximum(zero, logits - threshold[:, tf.newaxis])
        undefined = tf.logical_or(tf.equal(support, 0), tf.is_nan(sums[:, -1]))
        nothing = tf.fill([rows, classes], tf.cast(float("nan"), logits.dtype))
        return tf.where(undefined, nothing, result)


@export("contrib.sparsemax.sparsemax_loss")
def sparsemax_loss(logits: Any, sparsemax: Any, labels: Any, name: str | None = None) -> Tensor:
    """Return the loss whose gradient is the difference of sparsemax and labels.

    Args:
      logits: [batch, classes] of half, float32 or float64.
      sparsemax: what `tf.contrib.sparsemax.sparsemax` makes of them.
      labels: the right probabilities.
      name: of the scope.

    Returns:
      [batch].
    """
    with tf.name_scope(name, "sparsemax_loss", [logits, sparsemax, labels]):
        logits = tf.convert_to_tensor(logits, name="logits")
        sparsemax = tf.convert_to_tensor(sparsemax, name="sparsemax")
        labels = tf.convert_to_tensor(labels, name="labels")
        supported = tf.logical_or(sparsemax > 0, tf.is_nan(sparsemax))
        gained = sparsemax * (logits - 0.5 * sparsemax)
        gained = tf.where(supported, gained, tf.zeros_like(sparsemax))
        wanted = labels * (0.5 * labels - logits)
        # 0 times infinity is nothing here.
        void = tf.logical_and(tf.equal(labels, 0), tf.is_inf(logits))
        wanted = tf.where(void, tf.zeros_like(logits), wanted)
        return tf.reduce_sum(gained + wanted, axis=1)
