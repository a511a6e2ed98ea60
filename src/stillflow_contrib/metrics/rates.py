"""Rates of wrong answers, and counts of right and wrong ones at thresholds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.metrics.alignment import align_bool
from stillflow.metrics.confusion import confusion_matrix_at_thresholds
from stillflow.metrics.thresholds import EPSILON, from_counts
from stillflow.metrics.variables import Pair, value_and_update
from stillflow.ops.math.division import div


def _rate(which: str, others: str, said: str) -> Callable[..., Pair]:
    """Return the share of the count `which` in it and the count `others`."""

    def rate(
        predictions: Any,
        labels: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Pair:
        def share(wrong: Any, right: Any, name: str) -> Tensor:
            anything = tf.greater(wrong + right, 0)
            return tf.where(anything, div(wrong, wrong + right), 0, name)

        with tf.variable_scope(name, f"{which}_rate", (predictions, labels, weights)):
            predictions, labels, weights = align_bool(predictions, labels, weights)
            wrong = getattr(tf.metrics, f"{which}s")(labels, predictions, weights)
            right = getattr(tf.metrics, others)(labels, predictions, weights)
            values, updates = zip(wrong, right, strict=True)
            return value_and_update(
                share, values, updates, metrics_collections, updates_collections
            )

    rate.__name__ = rate.__qualname__ = f"streaming_{which}_rate"
    rate.__doc__ = f"""Share of {said}, 0 to 1.

    Args:
      predictions: yes or no, cast to bool, of any shape.
      labels: the truth, cast to bool, of the shape of `predictions`.
      weights: broadcast to `labels`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The rate, a float32 scalar, and the operation that updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    return rate


streaming_false_positive_rate = export(
    "contrib.metrics.streaming_false_positive_rate",
    "contrib.slim.metrics.streaming_false_positive_rate",
)(_rate("false_positive", "true_negatives", "the negative labels that are predicted as positive"))
streaming_false_negative_rate = export(
    "contrib.metrics.streaming_false_negative_rate",
    "contrib.slim.metrics.streaming_false_negative_rate",
)(_rate("false_negative", "true_positives", "the positive labels that are predicted as negative"))


def _rate_at_thresholds(
    which: str, wrong: str, right: str, short: str, said: str
) -> Callable[..., Pair]:
    """Return the share of the count `wrong` in it and the count `right`, at each threshold."""

    def rate(
        predictions: Any,
        labels: Any,
        thresholds: Sequence[float],
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Pair:
        def share(wrong: Any, right: Any, name: str) -> Tensor:
            return div(wrong, EPSILON + wrong + right, name=f"{short}_{name}")

        order = (wrong, right)
        scope = f"{which}_rate_at_thresholds"
        with tf.variable_scope(name, scope, (predictions, labels, weights)):
            counts = confusion_matrix_at_thresholds(
                labels, predictions, thresholds, weights, order, in_range=False
            )
            return from_counts(share, order, counts, metrics_collections, updates_collections)

    rate.__name__ = rate.__qualname__ = f"streaming_{which}_rate_at_thresholds"
    rate.__doc__ = f"""Share of {said}, 0 to 1, at each threshold.

    Args:
      predictions: float32 scores, of any shape; True above a threshold.
      labels: the truth, cast to bool, of the shape of `predictions`.
      thresholds: float numbers.
      weights: broadcast to `labels`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The rates, float32 of the length of `thresholds`, and the operation that updates them.

    Raises:
      ValueError: if the shapes do not fit.
    """
    return rate


streaming_false_positive_rate_at_thresholds = export(
    "contrib.metrics.streaming_false_positive_rate_at_thresholds",
    "contrib.slim.metrics.streaming_false_positive_rate_at_thresholds",
)(
    _rate_at_thresholds(
        *("false_positive", "fp", "tn", "fpr"), "the negative labels that are predicted as positive"
    )
)
streaming_false_negative_rate_at_thresholds = export(
    "contrib.metrics.streaming_false_negative_rate_at_thresholds",
    "contrib.slim.metrics.streaming_false_negative_rate_at_thresholds",
)(
    _rate_at_thresholds(
        *("false_negative", "fn", "tp", "fnr"), "the positive labels that are predicted as negative"
    )
)


def _counter(which: str, count: str, said: str) -> Callable[..., Pair]:
    def counter(
        predictions: Any, labels: Any, thresholds: Sequence[float], weights: Any = None
    ) -> Pair:
        variables, updates = confusion_matrix_at_thresholds(
            labels, predictions, thresholds, weights, (count,), in_range=False
        )
        return variables[count], updates[count]

    counter.__name__ = counter.__qualname__ = f"streaming_{which}_at_thresholds"
    counter.__doc__ = f"""Count the elements where {said}, at each threshold.

    Args:
      predictions: float32 scores, of any shape; True above a threshold.
      labels: the truth, cast to bool, of the shape of `predictions`.
      thresholds: float numbers.
      weights: broadcast to `labels`; 1 by default.

    Returns:
      The counts, a float32 variable of the length of `thresholds`, and the operation that
      updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    return counter


streaming_true_positives_at_thresholds = export(
    "contrib.metrics.streaming_true_positives_at_thresholds",
    "contrib.slim.metrics.streaming_true_positives_at_thresholds",
)(_counter("true_positives", "tp", "label and prediction are True"))
streaming_false_negatives_at_thresholds = export(
    "contrib.metrics.streaming_false_negatives_at_thresholds",
    "contrib.slim.metrics.streaming_false_negatives_at_thresholds",
)(_counter("false_negatives", "fn", "the label is True but the prediction False"))
streaming_false_positives_at_thresholds = export(
    "contrib.metrics.streaming_false_positives_at_thresholds",
    "contrib.slim.metrics.streaming_false_positives_at_thresholds",
)(_counter("false_positives", "fp", "the label is False but the prediction True"))
streaming_true_negatives_at_thresholds = export(
    "contrib.metrics.streaming_true_negatives_at_thresholds",
    "contrib.slim.metrics.streaming_true_negatives_at_thresholds",
)(_counter("true_negatives", "tn", "label and prediction are False"))
