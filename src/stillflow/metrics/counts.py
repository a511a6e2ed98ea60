"""Counts of true and false positives and negatives, with precision and recall."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.metrics.alignment import align_bool
from stillflow.metrics.variables import (
    Pair,
    collect,
    graph_only,
    metric_variable,
    read,
    value_and_update,
)
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.shape import rank
from stillflow.ops.debugging.ranks import assert_rank_in
from stillflow.ops.debugging.types import assert_type
from stillflow.ops.math.binary import multiply
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal, greater, logical_and
from stillflow.ops.math.division import div
from stillflow.ops.math.reductions import reduce_sum
from stillflow.variables.state_ops import assign_add
from stillflow.variables.variable_scope import variable_scope

# Labels and predictions for which each count grows.
_CONDITIONS = {
    "true_positives": (True, True),
    "true_negatives": (False, False),
    "false_positives": (False, True),
    "false_negatives": (True, False),
}


def count_condition(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
) -> Pair:
    """Count the values, which are bool, that are True.

    Weights are a scalar, or of the rank of `values`. Results are added to the collections.
    TypeError for values of another type, ValueError for another rank.
    """
    assert_type(values, dtypes.bool)
    total = metric_variable([], dtypes.float32, name="count")
    ones = cast(values, dtypes.float32)
    if weights is not None:
        has_rank = assert_rank_in(weights, (0, rank(ones)))
        with control_dependencies([has_rank]):
            ones = multiply(ones, cast(weights, dtypes.float32))
    pair = read(total, metrics_collections), assign_add(total, reduce_sum(ones))
    return pair[0], collect(updates_collections, pair[1])


def _counter(which: str, said: str) -> Callable[..., Pair]:
    def counter(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Pair:
        with variable_scope(name, which, (predictions, labels, weights)):
            predictions, labels, weights = align_bool(predictions, labels, weights)
            label, prediction = _CONDITIONS[which]
            holds = logical_and(equal(labels, label), equal(predictions, prediction))
            return count_condition(holds, weights, metrics_collections, updates_collections)

    counter.__name__ = counter.__qualname__ = which
    counter.__doc__ = f"""Count the elements where {said}.

    Args:
      labels: the truth, cast to bool, of any shape.
      predictions: of the shape of `labels`, cast to bool.
      weights: a scalar, or of the rank of `labels`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The count, a float32 scalar, and the operation that updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    return graph_only(counter)


true_positives = export("metrics.true_positives")(
    _counter("true_positives", "label and prediction are True")
)
true_negatives = export("metrics.true_negatives")(
    _counter("true_negatives", "label and prediction are False")
)
false_positives = export("metrics.false_positives")(
    _counter("false_positives", "the label is False but the prediction True")
)
false_negatives = export("metrics.false_negatives")(
    _counter("false_negatives", "the label is True but the prediction False")
)


def _ratio(count: Any, others: Any, name: str | None) -> Tensor:
    """`count / (count + others)`, 0 if both are 0."""
    return where(greater(count + others, 0), div(count, count + others), 0, name)


@export("metrics.precision")
@graph_only
def precision(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the share of positive predictions that are right, 0 to 1.

    Args:
      labels: the truth, cast to bool, of any shape.
      predictions: of the shape of `labels`, cast to bool.
      weights: a scalar, or of the rank of `labels`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The share, a float32 scalar, and the operation that updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    with variable_scope(name, "precision", (predictions, labels, weights)):
        predictions, labels, weights = align_bool(predictions, labels, weights)
        hits, add_hits = true_positives(labels, predictions, weights)
        others, add_others = false_positives(labels, predictions, weights)
        return value_and_update(
            _ratio, (hits, others), (add_hits, add_others), metrics_collections, updates_collections
        )


@export("metrics.recall")
@graph_only
def recall(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the share of positive labels that were predicted, 0 to 1.

    Args:
      labels: the truth, cast to bool, of any shape.
      predictions: of the shape of `labels`, cast to bool.
      weights: a scalar, or of the rank of `labels`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The share, a float32 scalar, and the operation that updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    with variable_scope(name, "recall", (predictions, labels, weights)):
        predictions, labels, weights = align_bool(predictions, labels, weights)
        hits, add_hits = true_positives(labels, predictions, weights)
        others, add_others = false_negatives(labels, predictions, weights)
        return value_and_update(
            _ratio, (hits, others), (add_hits, add_others), metrics_collections, updates_collections
        )
