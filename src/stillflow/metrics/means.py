"""Metrics that are means: of values, of errors, of how often something holds."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies
from stillflow.graph.export import export
from stillflow.metrics.alignment import align, float_weights
from stillflow.metrics.variables import (
    Pair,
    collect,
    graph_only,
    mean_of,
    metric_variable,
    value_and_update,
)
from stillflow.ops.arrays.fill import ones_like, zeros_like
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.shape import size
from stillflow.ops.math.binary import multiply, squared_difference, subtract
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal, less
from stillflow.ops.math.confusion import remove_squeezable_dimensions
from stillflow.ops.math.division import div
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.math.unary import abs as abs_
from stillflow.ops.math.unary import sqrt
from stillflow.variables.state_ops import assign_add
from stillflow.variables.variable_scope import variable_scope


@export("metrics.mean")
@graph_only
def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the mean of all elements of all steps.

    Args:
      values: numbers of any shape.
      weights: broadcast to `values`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The mean, a float32 scalar, and the operation that adds `values` to it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    with variable_scope(name, "mean", (values, weights)):
        values = cast(values, dtypes.float32)
        sums = [metric_variable([], dtypes.float32, name=each) for each in ("total", "count")]
        if weights is None:
            count = cast(size(values), dtypes.float32)
        else:
            values, _, weights = align(values, None, weights)
            weights = float_weights(weights, values)
            values, count = multiply(values, weights), reduce_sum(weights)
        added = assign_add(sums[0], reduce_sum(values))
        with control_dependencies([values]):
            updates = [added, assign_add(sums[1], count)]
        return value_and_update(mean_of, sums, updates, metrics_collections, updates_collections)


@export("metrics.mean_tensor")
@graph_only
def mean_tensor(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the mean of each element over all steps.

    Args:
      values: numbers of any shape, the same at every step.
      weights: broadcast to `values`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The mean, float32 in the shape of `values`, and the operation that adds `values` to it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    with variable_scope(name, "mean", (values, weights)):
        values = cast(values, dtypes.float32)
        total = metric_variable(values.shape, dtypes.float32, name="total_tensor")
        count = metric_variable(values.shape, dtypes.float32, name="count_tensor")
        added = ones_like(values)
        if weights is not None:
            values, _, weights = align(predictions=values, labels=None, weights=weights)
            weights = float_weights(weights, values)
            values = multiply(values, weights)
            added = multiply(added, weights)
        updates = [assign_add(total, values)]
        with control_dependencies([values]):
            updates.append(assign_add(count, added))
        return value_and_update(
            mean_of, (total, count), updates, metrics_collections, updates_collections
        )


@export("metrics.percentage_below")
@graph_only
def percentage_below(
    values: Any,
    threshold: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the share of values below a threshold, 0 to 1.

    Args:
      values: numbers of any shape.
      threshold: a number.
      weights: broadcast to `values`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The share, a float32 scalar, and the operation that updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    is_below = cast(less(values, threshold), dtypes.float32)
    return mean(
        is_below,
        weights,
        metrics_collections,
        updates_collections,
        name or "percentage_below_threshold",
    )


@export("metrics.accuracy")
@graph_only
def accuracy(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the share of predictions that equal their labels, 0 to 1.

    Args:
      labels: the truth, of any shape.
      predictions: of the shape of `labels`.
      weights: broadcast to `labels`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The share, a float32 scalar, and the operation that updates it.

    Raises:
      ValueError: if the shapes do not fit.

    Example:
      >>> value, update = tf.metrics.accuracy(labels=[1, 0, 2, 2], predictions=[1, 0, 2, 0])
      >>> sess = tf.Session()
      >>> print(sess.run(tf.local_variables_initializer()), sess.run(update), sess.run(value))
      None 0.75 0.75
    """
    predictions, labels, weights = align(predictions, labels, weights)
    predictions.shape.assert_is_compatible_with(labels.shape)
    if predictions.dtype != labels.dtype:
        predictions = cast(predictions, labels.dtype)
    hits, collections = equal(predictions, labels), (metrics_collections, updates_collections)
    return mean(cast(hits, dtypes.float32), weights, *collections, name or "accuracy")


@export("metrics.mean_absolute_error")
@graph_only
def mean_absolute_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the mean of `|predictions - labels|`.

    Args:
      labels: the truth, of any shape.
      predictions: of the shape of `labels`.
      weights: broadcast to `labels`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The mean, a float32 scalar, and the operation that updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    predictions, labels, weights = align(predictions, labels, weights)
    errors = abs_(predictions - labels)
    return mean(
        errors, weights, metrics_collections, updates_collections, name or "mean_absolute_error"
    )


@export("metrics.mean_squared_error")
@graph_only
def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the mean of `(predictions - labels)**2`.

    Args:
      labels: the truth, of any shape.
      predictions: of the shape of `labels`.
      weights: broadcast to `labels`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The mean, a float32 scalar, and the operation that updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    predictions, labels, weights = align(predictions, labels, weights)
    errors = squared_difference(labels, predictions)
    return mean(
        errors, weights, metrics_collections, updates_collections, name or "mean_squared_error"
    )


@export("metrics.root_mean_squared_error")
@graph_only
def root_mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the square root of the mean of `(predictions - labels)**2`.

    Args:
      labels: the truth, of any shape.
      predictions: of the shape of `labels`.
      weights: broadcast to `labels`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The root, a float32 scalar, and the operation that updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    predictions, labels, weights = align(predictions, labels, weights)
    scope = name or "root_mean_squared_error"
    squares, update = mean_squared_error(labels, predictions, weights, None, None, scope)
    return value_and_update(
        sqrt, [squares], [update], metrics_collections, updates_collections, (None, None)
    )


@export("metrics.mean_relative_error")
@graph_only
def mean_relative_error(
    labels: Any,
    predictions: Any,
    normalizer: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the mean of `|labels - predictions| / normalizer`, 0 where that is 0.

    Args:
      labels: the truth, of any shape.
      predictions: of the shape of `labels`.
      normalizer: what errors are divided by, of the same shape.
      weights: broadcast to `labels`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The mean, a float32 scalar, and the operation that updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    predictions, labels, weights = align(predictions, labels, weights)
    predictions, normalizer = remove_squeezable_dimensions(predictions, normalizer)
    predictions.shape.assert_is_compatible_with(normalizer.shape)
    errors = where(
        equal(normalizer, 0.0), zeros_like(labels), div(abs_(labels - predictions), normalizer)
    )
    return mean(
        errors, weights, metrics_collections, updates_collections, name or "mean_relative_error"
    )


@export("metrics.mean_cosine_distance")
@graph_only
def mean_cosine_distance(
    labels: Any,
    predictions: Any,
    dim: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """`1 - sum(predictions * labels)` along an axis, for vectors of length 1.

    Args:
      labels: the truth, of any shape.
      predictions: of the shape of `labels`.
      dim: the axis of the vectors.
      weights: broadcast to `labels`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The mean, a float32 scalar, and the operation that updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    predictions, labels, weights = align(predictions, labels, weights)
    products = reduce_sum(multiply(predictions, labels), axis=[dim], keepdims=True)
    similarity, update = mean(products, weights, None, None, name or "mean_cosine_distance")
    distance = subtract(1.0, similarity)
    update = subtract(1.0, update)
    return collect(metrics_collections, distance), collect(updates_collections, update)
