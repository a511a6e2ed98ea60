"""Metrics of a yes or a no at thresholds: counts, precision, recall, one rate at the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.metrics.confusion import confusion_matrix_at_thresholds
from stillflow.metrics.variables import Pair, collect, graph_only, read, value_and_update
from stillflow.ops.math.argmax import argmax, argmin
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal
from stillflow.ops.math.cumulative import cumsum
from stillflow.ops.math.division import div
from stillflow.ops.math.reductions import reduce_min
from stillflow.ops.math.unary import abs as abs_
from stillflow.variables.variable_scope import variable_scope

# Keeps denominators from being 0, and the outermost thresholds from being met.
EPSILON = 1e-7


def even_thresholds(count: int) -> list[float]:
    """Return the thresholds between 0 and 1, of `count` that are equally far apart."""
    return [(i + 1) * 1.0 / (count - 1) for i in range(count - 2)]


def from_counts(
    compute: Callable[..., Any],
    order: Sequence[str],
    counts: tuple[dict[str, Any], dict[str, Any]],
    metrics_collections: Any,
    updates_collections: Any,
) -> Pair:
    """Return the metric that `compute` makes of the counts named in `order`."""
    variables, updates = ([each[count] for count in order] for each in counts)
    return value_and_update(compute, variables, updates, metrics_collections, updates_collections)


def _counter(which: str, count: str, said: str) -> Callable[..., Pair]:
    def counter(
        labels: Any,
        predictions: Any,
        thresholds: Sequence[float],
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Pair:
        with variable_scope(name, which, (predictions, labels, weights)):
            variables, updates = confusion_matrix_at_thresholds(
                labels, predictions, thresholds, weights=weights, includes=(count,)
            )
            value = read(variables[count], metrics_collections)
            return value, collect(updates_collections, updates[count])

    counter.__name__ = counter.__qualname__ = f"{which}_at_thresholds"
    counter.__doc__ = f"""Count the elements where {said}, at each threshold.

    Args:
      labels: the truth, cast to bool, of any shape.
      predictions: from 0 to 1, of the shape of `labels`; True above a threshold.
      thresholds: numbers from 0 to 1.
      weights: broadcast to `labels`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The counts, float32 of the length of `thresholds`, and the operation that updates them.

    Raises:
      ValueError: if the shapes do not fit.
      InvalidArgumentError: when run, for predictions that are not from 0 to 1.
    """
    return graph_only(counter)


true_positives_at_thresholds = export("metrics.true_positives_at_thresholds")(
    _counter("true_positives", "tp", "label and prediction are True")
)
true_negatives_at_thresholds = export("metrics.true_negatives_at_thresholds")(
    _counter("true_negatives", "tn", "label and prediction are False")
)
false_positives_at_thresholds = export("metrics.false_positives_at_thresholds")(
    _counter("false_positives", "fp", "the label is False but the prediction True")
)
false_negatives_at_thresholds = export("metrics.false_negatives_at_thresholds")(
    _counter("false_negatives", "fn", "the label is True but the prediction False")
)


def _share(which: str, others: str, said: str) -> Callable[..., Pair]:
    """Precision or recall: true positives as a share of them and the count `others`."""

    def share(
        labels: Any,
        predictions: Any,
        thresholds: Sequence[float],
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Pair:
        def ratio(hits: Any, misses: Any, name: str) -> Tensor:
            return div(hits, EPSILON + hits + misses, name=f"{which}_{name}")

        order = ("tp", others)
        with variable_scope(name, f"{which}_at_thresholds", (predictions, labels, weights)):
            counts = confusion_matrix_at_thresholds(
                labels, predictions, thresholds, weights, includes=order
            )
            return from_counts(ratio, order, counts, metrics_collections, updates_collections)

    share.__name__ = share.__qualname__ = f"{which}_at_thresholds"
    share.__doc__ = f"""Share of {said}, 0 to 1, at each threshold.

    Args:
      labels: the truth, cast to bool, of any shape.
      predictions: from 0 to 1, of the shape of `labels`; True above a threshold.
      thresholds: numbers from 0 to 1.
      weights: broadcast to `labels`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The shares, float32 of the length of `thresholds`, and the operation that updates them.

    Raises:
      ValueError: if the shapes do not fit.
      InvalidArgumentError: when run, for predictions that are not from 0 to 1.
    """
    return graph_only(share)


precision_at_thresholds = export("metrics.precision_at_thresholds")(
    _share("precision", "fp", "the positive predictions that are right")
)
recall_at_thresholds = export("metrics.recall_at_thresholds")(
    _share("recall", "fn", "the positive labels that are predicted")
)


@export("metrics.sensitivity_at_specificity")
@graph_only
def sensitivity_at_specificity(
    labels: Any,
    predictions: Any,
    specificity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the sensitivity at the threshold whose specificity is closest to a given one.

    Args:
      labels: the truth, cast to bool, of any shape.
      predictions: from 0 to 1, of the shape of `labels`.
      specificity: the share of noes to find, 0 to 1.
      weights: broadcast to `labels`; 1 by default.
      num_thresholds: how many thresholds are tried.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The share, a float32 scalar, and the operation that updates it.

    Raises:
      ValueError: if `specificity` is not from 0 to 1 or the shapes do not fit.
      InvalidArgumentError: when run, for predictions that are not from 0 to 1.
    """
    if specificity < 0 or specificity > 1:
        raise ValueError("`specificity` must be in the range [0, 1].")

    def sensitivity(tp: Any, tn: Any, fp: Any, fn: Any, name: str) -> Tensor:
        specificities: Any = div(tn, tn + fp + EPSILON)
        best = cast(argmin(abs_(specificities - specificity), 0), dtypes.int32)
        return div(tp[best], tp[best] + fn[best] + EPSILON, name)

    with variable_scope(name, "sensitivity_at_specificity", (predictions, labels, weights)):
        thresholds = [0.0 - EPSILON, *even_thresholds(num_thresholds), 1.0 + EPSILON]
        counts = confusion_matrix_at_thresholds(labels, predictions, thresholds, weights)
        order = ("tp", "tn", "fp", "fn")
        return from_counts(sensitivity, order, counts, metrics_collections, updates_collections)


@export("metrics.specificity_at_sensitivity")
@graph_only
def specificity_at_sensitivity(
    labels: Any,
    predictions: Any,
    sensitivity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the specificity at the threshold whose sensitivity is closest to a given one.

    Args:
      labels: the truth, cast to bool, of any shape.
      predictions: from 0 to 1, of the shape of `labels`.
      sensitivity: the share of yeses to find, 0 to 1.
      weights: broadcast to `labels`; 1 by default.
      num_thresholds: how many thresholds are tried.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The share, a float32 scalar, and the operation that updates it.

    Raises:
      ValueError: if `sensitivity` is not from 0 to 1 or the shapes do not fit.
      InvalidArgumentError: when run, for predictions that are not from 0 to 1.
    """
    if sensitivity < 0 or sensitivity > 1:
        raise ValueError("`sensitivity` must be in the range [0, 1].")

    def specificity(tp: Any, tn: Any, fp: Any, fn: Any, name: str) -> Tensor:
        sensitivities: Any = div(tp, tp + fn + EPSILON)
        least = reduce_min(abs_(sensitivities - sensitivity))
        is_least = cast(equal(abs_(sensitivities - sensitivity), least), dtypes.int64)
        # The sum grows up to the last of equally good thresholds, and there is its maximum first.
        best = cast(argmax(cumsum(is_least), 0), dtypes.int32)
        return div(tn[best], tn[best] + fp[best] + EPSILON, name)

    with variable_scope(name, "specificity_at_sensitivity", (predictions, labels, weights)):
        thresholds = [0.0 - EPSILON, *even_thresholds(num_thresholds), 1.0 - EPSILON]
        counts = confusion_matrix_at_thresholds(labels, predictions, thresholds, weights)
        order = ("tp", "tn", "fp", "fn")
        return from_counts(specificity, order, counts, metrics_collections, updates_collections)
