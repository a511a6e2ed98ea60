"""The accuracy of one batch, and the best F1 score of a binary classifier."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.metrics.alignment import align
from stillflow.metrics.confusion import confusion_matrix_at_thresholds
from stillflow.metrics.thresholds import EPSILON, even_thresholds
from stillflow.metrics.variables import Pair, value_and_update
from stillflow.ops.math.division import div


@export("contrib.metrics.accuracy", "contrib.slim.metrics.accuracy")
def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Tensor:
    """Return the share of predictions that are right, in one batch.

    Args:
      predictions: of the type and shape of `labels`.
      labels: bool, integers or strings.
      weights: broadcast to `labels`; 1 by default.
      name: of the scope.

    Returns:
      A float32 scalar.

    Raises:
      ValueError: if the labels are of another type, or the types differ.
    """
    kind = labels.dtype
    if not (kind.is_integer or kind in (tf.bool, tf.string)):
        raise ValueError(f"Labels should have bool, integer, or string dtype, not {kind!r}")
    if not kind.is_compatible_with(predictions.dtype):
        raise ValueError(
            "Dtypes of predictions and labels should match. "
            f"Given: predictions ({predictions.dtype!r}) and labels ({kind!r})"
        )
    with tf.name_scope(name, "accuracy", values=[predictions, labels]):
        hits = tf.cast(tf.equal(predictions, labels), tf.float32)
        if weights is None:
            return tf.reduce_mean(hits)
        weighted_hits = tf.multiply(hits, weights)
        broadcast = tf.multiply(weights, tf.ones_like(weighted_hits))
        return div(*map(tf.reduce_sum, (weighted_hits, broadcast)))


def _best_f1_score(tp: Any, fp: Any, fn: Any, name: str) -> Tensor:
    precision: Any = div(tp, EPSILON + tp + fp, name=f"precision_{name}")
    recall = div(tp, EPSILON + tp + fn, name=f"recall_{name}")
    return tf.reduce_max(2.0 * precision * recall / (precision + recall + EPSILON))


@export("contrib.metrics.f1_score", "contrib.slim.metrics.f1_score")
def f1_score(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the best harmonic mean of precision and recall over all thresholds.

    Args:
      labels: the truth, cast to bool, of any shape.
      predictions: from 0 to 1, of the shape of `labels`.
      weights: broadcast to `labels`; 1 by default.
      num_thresholds: how many thresholds are tried.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The score, a float32 scalar, and the operation that updates it.

    Raises:
      ValueError: if the shapes do not fit.
      InvalidArgumentError: when run, for predictions that are not from 0 to 1.
    """
    with tf.variable_scope(name, "f1", (labels, predictions, weights)):
        predictions, labels, weights = align(predictions, labels, weights)
        thresholds = [0.0 - EPSILON, *even_thresholds(num_thresholds), 1.0 + EPSILON]
        order = ("tp", "fp", "fn")
        counts = confusion_matrix_at_thresholds(labels, predictions, thresholds, weights, order)
        values, updates = ([each[count] for count in order] for each in counts)
        names = ("value", "update")
        return value_and_update(
            _best_f1_score, values, updates, metrics_collections, updates_collections, names
        )
