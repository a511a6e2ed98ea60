"""The mean of the precision at each label found among the best k predictions."""

from __future__ import annotations

from collections.abc import Callable
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
from stillflow.metrics.variables import Pair, graph_only, metric_variable, value_and_update
from stillflow.ops.arrays.fill import ones_like
from stillflow.ops.arrays.shape import expand_dims, shape, size
from stillflow.ops.arrays.top_k import top_k
from stillflow.ops.math.binary import multiply
from stillflow.ops.math.cast import cast
from stillflow.ops.math.cumulative import cumsum
from stillflow.ops.math.division import div, div_no_nan
from stillflow.ops.math.reductions import reduce_sum
from stillflow.variables.state_ops import assign_add


@export("metrics.average_precision_at_k")
@graph_only
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
@graph_only
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

        def most() -> Tensor:
            if weights is not None:
                return reduce_sum(weights, name="batch_max")
            count: Tensor = cast(size(precision, name="batch_max"), dtypes.float64)
            return count

        divisor, add_divisor = _sum_of_batches("max", precision, most)
        total, add_total = _sum_of_batches(
            "total", precision, lambda: reduce_sum(precision, name="batch_total")
        )
        return value_and_update(
            div_no_nan, (total, divisor), (add_total, add_divisor),
            metrics_collections, updates_collections, ("mean", scope),
        )  # fmt: skip


def _sum_of_batches(
    name: str, precision: Tensor, in_batch: Callable[[], Tensor]
) -> tuple[Any, Tensor]:
    """Return a variable, a float64 scalar, and the operation that adds a batch's number to it."""
    with name_scope(None, name, (precision,)) as scope:
        variable = metric_variable([], dtypes.float64, name=scope)
        return variable, assign_add(variable, in_batch(), name="update")


def average_precision_of(labels: Any, predictions_idx: Any) -> Tensor:
    """Return the average precision of each example, float64."""
    with name_scope(None, "average_precision", (predictions_idx, labels)) as scope:
        best = cast(predictions_idx, dtypes.int64, name="predictions_idx")
        if best.shape.ndims == 0:
            raise ValueError("The rank of predictions_idx must be at least 1.")
        k = best.shape.as_list()[-1]
        if k is None:
            raise ValueError("The last dimension of predictions_idx must be set.")
        labels = expand_labels(labels, best)
        is_hit = count_in_sets(
            "true_positive",
            predictions_idx=expand_dims(best, -1, name="predictions_idx_per_k"),
            labels=repeat(labels, k, dim=-1, name="labels_per_k"),
            name="relevant_per_k",
        )
        hits = cumsum(is_hit, -1, name="tp_per_k")
        running = hits, cumsum(ones_like(is_hit), -1, name="retrieved_per_k")
        shares = [cast(count, dtypes.float64) for count in running]
        at_hits = multiply(
            div(*shares, name="precision_per_k"), cast(is_hit, dtypes.float64),  # type: ignore[misc]
            name="relevant_precision_per_k",
        )  # fmt: skip
        total = reduce_sum(at_hits, [-1], name="precision_sum")
        return div(total, cast(count_relevant(labels, k), dtypes.float64), name=scope)
