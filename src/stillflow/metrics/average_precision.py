"""The mean of the precision at each label found among the best k predictions."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.metrics.alignment import float_weights
from stillflow.metrics.class_sets import (
    at_k_name,
    count_in_sets,
    count_relevant,
    expand_labels,
    forget_unknown_classes,
    repeat,
)
from stillflow.metrics.variables import Pair, metric_variable, value_and_update
from stillflow.ops.arrays.fill import ones_like
from stillflow.ops.arrays.shape import expand_dims, shape, size
from stillflow.ops.arrays.top_k import top_k
from stillflow.ops.math.binary import multiply
from stillflow.ops.math.cast import cast
from stillflow.ops.math.cumulative import cumsum
from stillflow.ops.math.division import div, div_no_nan
from stillflow.ops.math.reductions import reduce_sum
from stillflow.util.deprecation import deprecated
from stillflow.variables.state_ops import assign_add


@export("metrics.average_precision_at_k")
def average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the mean, over labels and examples, of the precision at each label that was found.

    Args:
      labels: numbers of classes, int64, `[..., number of labels]`, dense or sparse; or `[...]`.
        Numbers that are no class of `predictions` do not count.
      predictions: scores of classes, `[..., number of classes]`.
      k: how many predictions count.
      weights: broadcast to `[...]`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the scope.

    Returns:
      The mean, a float64 scalar, and the operation that updates it.

    Raises:
      ValueError: if `k` is not positive or the shapes do not fit.
    """
    if k < 1:
        raise ValueError(f"Invalid k={k}.")
    inputs = (predictions, labels, weights)
    with name_scope(name, at_k_name("average_precision", k), inputs) as scope:
        _, best = top_k(predictions, k)
        sizes: Any = shape(predictions)
        labels = forget_unknown_classes(labels, cast(sizes[-1], dtypes.int64))
        return streaming_average_precision(
            labels, best, weights, metrics_collections, updates_collections, scope
        )


@export("metrics.sparse_average_precision_at_k")
@deprecated(None, "Use average_precision_at_k instead")
def sparse_average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """`tf.metrics.average_precision_at_k` by its old name."""
    return average_precision_at_k(
        labels, predictions, k, weights, metrics_collections, updates_collections, name
    )


def streaming_average_precision(
    labels: Any,
    predictions_idx: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """`average_precision_at_k` of predictions that are already the numbers of the best classes."""
    inputs = (predictions_idx, labels, weights)
    with name_scope(name, "average_precision_at_top_k", inputs) as scope:
        precision = average_precision_of(labels, predictions_idx)
        if weights is not None:
            weights = float_weights(weights, precision, dtypes.float64)
            precision = multiply(precision, weights)
        with name_scope(None, "max", (precision,)) as max_scope:
            most = metric_variable([], dtypes.float64, name=max_scope)
            if weights is None:
                in_batch = cast(size(precision, name="batch_max"), dtypes.float64)
            else:
                in_batch = reduce_sum(weights, name="batch_max")
            add_most = assign_add(most, in_batch, name="update")
        with name_scope(None, "total", (precision,)) as total_scope:
            total = metric_variable([], dtypes.float64, name=total_scope)
            in_batch = reduce_sum(precision, name="batch_total")
            add_total = assign_add(total, in_batch, name="update")
        return value_and_update(
            div_no_nan,
            (total, most),
            (add_total, add_most),
            metrics_collections,
            updates_collections,
            ("mean", scope),
        )


def average_precision_of(labels: Any, predictions_idx: Any) -> Tensor:
    """Return the average precision of each example, float64."""
    with name_scope(None, "average_precision", (predictions_idx, labels)) as scope:
        predictions_idx = cast(predictions_idx, dtypes.int64, name="predictions_idx")
        if predictions_idx.shape.ndims == 0:
            raise ValueError("The rank of predictions_idx must be at least 1.")
        k = predictions_idx.shape.as_list()[-1]
        if k is None:
            raise ValueError("The last dimension of predictions_idx must be set.")
        labels = expand_labels(labels, predictions_idx)
        each = expand_dims(predictions_idx, -1, name="predictions_idx_per_k")
        labels_of_each = repeat(labels, multiple=k, dim=-1, name="labels_per_k")
        is_hit = count_in_sets("true_positive", labels_of_each, each, name="relevant_per_k")
        hits = cumsum(is_hit, axis=-1, name="tp_per_k")
        places = cumsum(ones_like(is_hit), axis=-1, name="retrieved_per_k")
        precision = div(
            cast(hits, dtypes.float64), cast(places, dtypes.float64), name="precision_per_k"
        )
        at_hits = multiply(precision, cast(is_hit, dtypes.float64), name="relevant_precision_per_k")
        total = reduce_sum(at_hits, axis=(-1,), name="precision_sum")
        relevant = cast(count_relevant(labels, k), dtypes.float64)
        return div(total, relevant, name=scope)
