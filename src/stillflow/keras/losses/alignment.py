"""Predictions, targets and weights whose ranks differ by one, brought to one shape."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.losses.weights import broadcast_weights
from stillflow.ops.math.confusion import remove_squeezable_dimensions


def align_targets(y_pred: Any, y_true: Any) -> tuple[Any, Any]:
    """Predictions and targets, a last dimension of 1 removed from the one that has more."""
    pred_rank, true_rank = y_pred.shape.ndims, y_true.shape.ndims
    if true_rank is not None and pred_rank is not None:
        if pred_rank - true_rank != 1 or y_pred.shape.as_list()[-1] == 1:
            y_true, y_pred = remove_squeezable_dimensions(y_true, y_pred)
        return y_pred, y_true
    more = tf.rank(y_pred) - tf.rank(y_true)
    is_last_1 = tf.equal(1, tf.shape(y_pred)[-1])

    def squeezed() -> tuple[Tensor, Tensor]:
        return remove_squeezable_dimensions(y_true, y_pred)

    def maybe_squeezed() -> Any:
        return tf.cond(is_last_1, squeezed, lambda: (y_true, y_pred))

    y_true, y_pred = tf.cond(tf.equal(1, more), maybe_squeezed, squeezed)
    return y_pred, y_true


def align_weights(values: Any, weights: Any) -> Any:
    """Weights with a last dimension of 1 more or less, so that their rank is that of `values`."""
    weights = convert_to_tensor(weights)
    rank, wanted = weights.shape.ndims, values.shape.ndims
    if rank == 0:
        return weights
    if rank is not None and wanted is not None:
        if rank - wanted == 1:
            return tf.squeeze(weights, [-1])
        return tf.expand_dims(weights, [-1]) if wanted - rank == 1 else weights
    unknown_rank = tf.rank(weights)
    more = unknown_rank - tf.rank(values)

    def maybe_expanded() -> Any:
        return tf.cond(tf.equal(more, -1), lambda: tf.expand_dims(weights, [-1]), lambda: weights)

    def adjusted() -> Any:
        return tf.cond(tf.equal(more, 1), lambda: tf.squeeze(weights, [-1]), maybe_expanded)

    return tf.cond(tf.equal(unknown_rank, 0), lambda: weights, adjusted)


def weigh(losses: Any, sample_weight: Any) -> Tensor:
    """Losses times weights, as float32."""
    losses = tf.cast(losses, tf.float32)
    sample_weight = align_weights(losses, tf.cast(sample_weight, tf.float32))
    return tf.multiply(losses, broadcast_weights(sample_weight, losses))
