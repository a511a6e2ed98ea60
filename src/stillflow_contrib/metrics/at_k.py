"""Metrics of the best k predictions, of scores or of the numbers of classes."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.metrics.average_precision import streaming_average_precision
from stillflow.metrics.class_sets import at_k_name
from stillflow.metrics.ranking import precision_at_top_k, recall_at_top_k
from stillflow.metrics.variables import Pair
from stillflow_contrib.metrics.renamed import streaming_mean

_SHARES = {"precision": precision_at_top_k, "recall": recall_at_top_k}


def _share(kind: str, given: dict[str, Any]) -> Pair:
    """Return a share of `_SHARES` for the arguments of a function below."""
    labels, predictions, class_id = (
        given.pop(key) for key in ("labels", "top_k_predictions", "class_id")
    )
    values = predictions, labels, given["weights"]
    with tf.name_scope(given.pop("name"), at_k_name(kind, class_id=class_id), values) as scope:
        return _SHARES[kind](labels, predictions, class_id=class_id, name=scope, **given)


@export("contrib.metrics.streaming_recall_at_k", "contrib.slim.metrics.streaming_recall_at_k")
def streaming_recall_at_k(
    predictions: Any,
    labels: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the share of labels among the best `k` predictions, 0 to 1.

    Args:
      predictions: scores of classes, float32 `[batch, number of classes]`.
      labels: numbers of classes, integers `[batch]`.
      k: how many predictions count.
      weights: broadcast to `labels`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The share, a float32 scalar, and the operation that updates it.
    """
    in_top_k = tf.cast(tf.nn.in_top_k(predictions, labels, k), tf.float32)
    name = name or at_k_name("recall", k)
    return streaming_mean(in_top_k, weights, metrics_collections, updates_collections, name)


@export(
    "contrib.metrics.streaming_sparse_precision_at_top_k",
    "contrib.slim.metrics.streaming_sparse_precision_at_top_k",
)
def streaming_sparse_precision_at_top_k(
    top_k_predictions: Any,
    labels: Any,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the share of the best predictions that are labels, 0 to 1.

    Args:
      top_k_predictions: numbers of the best classes, integers, `[..., k]`.
      labels: numbers of classes, int64, `[..., number of labels]`, dense or sparse; or `[...]`.
      class_id: the one class to look at; all by default.
      weights: broadcast to `[...]`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the scope.

    Returns:
      The share, a float64 scalar, and the operation that updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    return _share("precision", dict(locals()))


@export("contrib.metrics.sparse_recall_at_top_k", "contrib.slim.metrics.sparse_recall_at_top_k")
def sparse_recall_at_top_k(
    labels: Any,
    top_k_predictions: Any,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the share of labels among the best predictions, 0 to 1.

    Args:
      labels: numbers of classes, int64, `[..., number of labels]`, dense or sparse; or `[...]`.
      top_k_predictions: numbers of the best classes, integers, `[..., k]`.
      class_id: the one class to look at; all by default.
      weights: broadcast to `[...]`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the scope.

    Returns:
      The share, a float64 scalar, and the operation that updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    return _share("recall", dict(locals()))


@export(
    "contrib.metrics.streaming_sparse_average_precision_at_top_k",
    "contrib.slim.metrics.streaming_sparse_average_precision_at_top_k",
)
def streaming_sparse_average_precision_at_top_k(
    top_k_predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the mean, over the relevant ones of the best predictions, of the precision up to them.

    Args:
      top_k_predictions: numbers of the best classes, integers, `[..., k]`.
      labels: numbers of classes, int64, `[..., number of labels]`, dense or sparse; or `[...]`.
      weights: broadcast to `[...]`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the scope.

    Returns:
      The mean, a float64 scalar, and the operation that updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    return streaming_average_precision(
        labels, top_k_predictions, weights, metrics_collections, updates_collections, name
    )
