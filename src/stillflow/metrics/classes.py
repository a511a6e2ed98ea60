"""Metrics of classes given by number: mean accuracy, mean intersection over union."""

from __future__ import annotations

from functools import partial
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.metrics.variables import Pair, collect, graph_only, mean_of, metric_variable
from stillflow.ops.arrays.fill import ones, ones_like
from stillflow.ops.arrays.scatter_variables import scatter_add
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.shape import reshape, size
from stillflow.ops.linalg.tensor_diag import tensor_diag_part
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal, greater, not_equal
from stillflow.ops.math.confusion import confusion_matrix
from stillflow.ops.math.division import div
from stillflow.ops.math.reductions import reduce_mean, reduce_sum
from stillflow.variables.state_ops import assign_add
from stillflow.variables.variable_scope import variable_scope


def _vector(tensor: Any) -> Tensor:
    return reshape(tensor, [-1]) if tensor.get_shape().ndims > 1 else tensor


def streaming_confusion_matrix(
    labels: Any, predictions: Any, num_classes: Any, weights: Any = None
) -> tuple[Any, Tensor]:
    """Return the confusion matrix of all steps, a float64 variable, and its update.

    Numbers of classes are of any known rank; weights are of the shape of `labels`.
    """
    total = metric_variable(
        [num_classes, num_classes], dtypes.float64, name="total_confusion_matrix"
    )
    predictions = cast(predictions, dtypes.int64)
    labels = cast(labels, dtypes.int64)
    num_classes = cast(num_classes, dtypes.int64)
    predictions = _vector(predictions)
    labels = _vector(labels)
    if weights is not None:
        weights = _vector(weights)
    current = confusion_matrix(
        labels, predictions, num_classes, weights=weights, dtype=dtypes.float64
    )
    return total, assign_add(total, current)


@export("metrics.mean_iou")
@graph_only
def mean_iou(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Intersection over union of each class, averaged over the classes that occur.

    Args:
      labels: numbers of classes, a tensor of any known rank.
      predictions: of the shape of `labels`.
      num_classes: how many classes there are.
      weights: of the shape of `labels`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The mean, a float32 scalar, and the operation that updates the confusion matrix.

    Raises:
      ValueError: if the shapes do not fit.
    """
    with variable_scope(name, "mean_iou", (predictions, labels, weights)):
        predictions.get_shape().assert_is_compatible_with(labels.get_shape())
        total, update = streaming_confusion_matrix(labels, predictions, num_classes, weights)
        value = collect(metrics_collections, _mean_iou(total))
        return value, collect(updates_collections, update)


def _mean_iou(total: Any) -> Tensor:
    counts: Any = (partial(reduce_sum, axis=0), partial(reduce_sum, axis=1), tensor_diag_part)
    predicted, actual, right = (cast(count(total), dtypes.float32) for count in counts)
    union = predicted + actual - right
    occurring: Any = reduce_sum(cast(not_equal(union, 0), dtypes.float32))
    ratios = div(right, where(greater(union, 0), union, ones_like(union)))
    is_any = greater(occurring, 0)
    return where(is_any, reduce_sum(ratios, name="mean_iou") / occurring, 0)


@export("metrics.mean_per_class_accuracy")
@graph_only
def mean_per_class_accuracy(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the share of correctly predicted labels of each class, averaged over classes.

    Args:
      labels: numbers of classes, of any known rank.
      predictions: a tensor of the shape of `labels`.
      num_classes: how many classes there are.
      weights: a tensor of the shape of `labels`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The mean, a float32 scalar, and the operation that updates it and gives the accuracy of
      each class.

    Raises:
      ValueError: if the shapes do not fit.
    """
    with variable_scope(name, "mean_accuracy", (predictions, labels, weights)):
        labels = _vector(cast(labels, dtypes.int64))
        predictions = _vector(predictions)
        predictions.get_shape().assert_is_compatible_with(labels.get_shape())
        total = metric_variable([num_classes], dtypes.float32, name="total")
        count = metric_variable([num_classes], dtypes.float32, name="count")
        each: Any = ones([size(labels)], dtypes.float32)
        if labels.dtype != predictions.dtype:
            predictions = cast(predictions, labels.dtype)
        is_correct = cast(equal(predictions, labels), dtypes.float32)
        if weights is not None:
            weights = cast(_vector(weights), dtypes.float32)
            is_correct *= weights
            each *= weights
        add_total = scatter_add(total, labels, each)
        add_count = scatter_add(count, labels, is_correct)
        value = reduce_mean(mean_of(count, total, None), name="mean_accuracy")
        collect(metrics_collections, value)
        update = mean_of(add_count, add_total, "update_op")
        return value, collect(updates_collections, update)
