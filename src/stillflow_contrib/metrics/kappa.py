"""Cohen's kappa: how far a classifier and the truth agree beyond chance."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.metrics.alignment import align
from stillflow.metrics.variables import Pair, metric_variable, value_and_update


def _kappa(agreed: Any, by_column: Any, by_row: Any, name: str) -> Tensor:
    agreements = tf.reduce_sum(agreed)
    total = tf.reduce_sum(by_column)
    expected: Any = tf.div_no_nan(
        tf.cast(by_column * by_row, tf.float64), tf.cast(total, tf.float64)
    )
    expected = tf.reduce_sum(expected)
    agreements, expected, total = (
        tf.cast(number, tf.float64) for number in (agreements, expected, total)
    )
    return tf.div_no_nan(agreements - expected, total - expected, name=name)


@export("contrib.metrics.cohen_kappa", "contrib.slim.metrics.cohen_kappa")
def cohen_kappa(
    labels: Any,
    predictions_idx: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return Cohen's kappa of predictions and labels, at most 1, 0 for chance.

    Args:
      labels: numbers of classes, integers `[batch]` or `[batch, 1]`.
      predictions_idx: numbers of classes, integers of the shape of `labels`.
      num_classes: how many classes there are, at least 2.
      weights: of the shape of `labels`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The coefficient, a float64 scalar, and the operation that updates it.

    Raises:
      RuntimeError: if eager execution is enabled.
      ValueError: if there are too few classes or the shapes do not fit.
    """
    if tf.executing_eagerly():
        raise RuntimeError(
            "tf.contrib.metrics.cohen_kappa is not supported when eager execution is enabled."
        )
    if num_classes < 2:
        raise ValueError(f"`num_classes` must be >= 2.Found: {num_classes}")
    with tf.variable_scope(name, "cohen_kappa", (labels, predictions_idx, weights)):
        labels.shape.with_rank_at_most(2)
        if labels.shape.ndims == 2:
            labels = tf.squeeze(labels, axis=[-1])
        predictions_idx, labels, weights = align(predictions_idx, labels, weights)
        whole = weights is None or weights.dtype.is_integer
        dtype = tf.int64 if whole else tf.float32
        variables = [
            metric_variable((num_classes,), dtype, name=variable)
            for variable in ("po", "pe_row", "pe_col")
        ]
        table = tf.math.confusion_matrix(
            labels, predictions_idx, num_classes, dtype, "counts_in_table", weights
        )
        in_batch = (
            tf.diag_part(table),
            tf.reduce_sum(table, axis=0),
            tf.reduce_sum(table, axis=1),
        )
        updates = [
            tf.assign_add(variable, counts)
            for variable, counts in zip(variables, in_batch, strict=True)
        ]
        return value_and_update(
            _kappa, variables, updates, metrics_collections, updates_collections
        )
