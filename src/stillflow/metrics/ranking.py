"""Metrics of rankings: precision and recall of the best k predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.metrics.class_sets import at_k_name, expand_labels, streaming_count_in_sets
from stillflow.metrics.variables import Pair, graph_only, value_and_update
from stillflow.ops.arrays.top_k import top_k
from stillflow.ops.math.binary import add
from stillflow.ops.math.cast import cast
from stillflow.ops.math.division import div


def _ratio(hits: Any, others: Any, name: str | None) -> Tensor:
    return div(hits, add(hits, others), name=name)


def _at_top_k(
    which: str,
    others: str,
    labels: Any,
    predictions_idx: Any,
    k: int | None,
    class_id: int | None,
    weights: Any,
    metrics_collections: Any,
    updates_collections: Any,
    name: str | None,
) -> Pair:
    """Return true positives as a share of the sum of them and `others`."""
    inputs = (predictions_idx, labels, weights)
    with name_scope(name, at_k_name(which, k, class_id=class_id), inputs) as scope:
        labels = expand_labels(labels, predictions_idx)
        best = cast(predictions_idx, dtypes.int64)
        hits, add_hits = streaming_count_in_sets(
            "true_positive", labels, best, k, class_id, weights
        )
        rest, add_rest = streaming_count_in_sets(others, labels, best, k, class_id, weights)
        return value_and_update(
            _ratio,
            (hits, rest),
            (add_hits, add_rest),
            metrics_collections,
            updates_collections,
            (scope, "update"),
        )


def _at_k(
    which: str, at_top_k: Callable[..., Pair], predictions: Any, k: int, class_id: int | None,
    name: str | None, **others: Any,
) -> Pair:  # fmt: skip
    """Return the metric of the `k` classes with the best scores."""
    inputs = (predictions, others["labels"], others["weights"])
    with name_scope(name, at_k_name(which, k, class_id=class_id), inputs) as scope:
        best = top_k(predictions, k)[1]
        return at_top_k(predictions_idx=best, k=k, class_id=class_id, name=scope, **others)


@export("metrics.recall_at_top_k")
def recall_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the share of labels among the best `k` predictions, 0 to 1.

    Args:
      labels: numbers of classes, int64, `[..., number of labels]`, dense or sparse; or `[...]`.
      predictions_idx: numbers of the best classes, integers, `[..., k]`.
      k: how many these are, for names alone.
      class_id: the one class to look at; all by default.
      weights: broadcast to `[...]`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the scope.

    Returns:
      The share, a float64 scalar that is nan before anything was counted, and the operation that
      updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    return _at_top_k(
        "recall",
        "false_negative",
        labels,
        predictions_idx,
        k,
        class_id,
        weights,
        metrics_collections,
        updates_collections,
        name,
    )


@export("metrics.recall_at_k")
@graph_only
def recall_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the share of labels among the best `k` predictions, 0 to 1.

    Args:
      labels: numbers of classes, int64, `[..., number of labels]`, dense or sparse; or `[...]`.
      predictions: scores of classes, `[..., number of classes]`.
      k: how many predictions count.
      class_id: the one class to look at; all by default.
      weights: broadcast to `[...]`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the scope.

    Returns:
      The share, a float64 scalar that is nan before anything was counted, and the operation that
      updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    return _at_k(
        "recall", recall_at_top_k, predictions, k, class_id, name, labels=labels,
        weights=weights, metrics_collections=metrics_collections,
        updates_collections=updates_collections,
    )  # fmt: skip


@export("metrics.precision_at_top_k")
@graph_only
def precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the share of the best `k` predictions among the labels, 0 to 1.

    Args:
      labels: numbers of classes, int64, `[..., number of labels]`, dense or sparse; or `[...]`.
      predictions_idx: numbers of the best classes, integers, `[..., k]`.
      k: how many these are, for names alone.
      class_id: the one class to look at; all by default.
      weights: broadcast to `[...]`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the scope.

    Returns:
      The share, a float64 scalar that is nan before anything was counted, and the operation that
      updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    return _at_top_k(
        "precision",
        "false_positive",
        labels,
        predictions_idx,
        k,
        class_id,
        weights,
        metrics_collections,
        updates_collections,
        name,
    )


@export("metrics.precision_at_k")
@graph_only
def precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the share of the best `k` predictions among the labels, 0 to 1.

    Args:
      labels: numbers of classes, int64, `[..., number of labels]`, dense or sparse; or `[...]`.
      predictions: scores of classes, `[..., number of classes]`.
      k: how many predictions count.
      class_id: the one class to look at; all by default.
      weights: broadcast to `[...]`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the scope.

    Returns:
      The share, a float64 scalar that is nan before anything was counted, and the operation that
      updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    return _at_k(
        "precision", precision_at_top_k, predictions, k, class_id, name, labels=labels,
        weights=weights, metrics_collections=metrics_collections,
        updates_collections=updates_collections,
    )  # fmt: skip


@export("metrics.sparse_precision_at_k")
@graph_only
def sparse_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """`tf.metrics.precision_at_k` by its old name."""
    return precision_at_k(
        labels,
        predictions,
        k,
        class_id,
        weights,
        metrics_collections,
        updates_collections,
        name,
    )
