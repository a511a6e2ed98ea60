"""Losses of numbers: squared, absolute, Huber, log, hinge, cosine, pairwise."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.losses.collections import add_loss
from stillflow.losses.reduction import Reduction, compute_weighted_loss, num_present
from stillflow.losses.weights import assert_broadcastable
from stillflow.ops.arrays.fill import ones_like, zeros_like
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import rank
from stillflow.ops.math.binary import (
    add,
    maximum,
    minimum,
    multiply,
    squared_difference,
    subtract,
)
from stillflow.ops.math.cast import cast
from stillflow.ops.math.division import div_no_nan
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.math.unary import abs as abs_
from stillflow.ops.math.unary import log, square
from stillflow.ops.nn.activations import relu
from stillflow.util.renamed import renamed_argument


def require_both(**given: Any) -> None:
    """Raise ValueError for labels or predictions that are None."""
    for name, value in given.items():
        if value is None:
            raise ValueError(f"{name} must not be None.")


def _as_floats(predictions: Any, labels: Any) -> tuple[Tensor, Tensor]:
    predictions = cast(predictions, dtype=dtypes.float32)
    labels = cast(labels, dtype=dtypes.float32)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return predictions, labels


@export("losses.absolute_difference")
def absolute_difference(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """`|predictions - labels|`.

    Args:
      labels: the truth, of any shape.
      predictions: of the shape of `labels`.
      weights: a scalar, or of the rank of `labels`, each dimension 1 or equal.
      scope: a name for the operations.
      loss_collection: where the result is added.
      reduction: a value of `tf.losses.Reduction`.

    Returns:
      The loss, reduced.

    Raises:
      ValueError: if the shapes do not fit.
    """
    require_both(labels=labels, predictions=predictions)
    with name_scope(scope, "absolute_difference", [predictions, labels, weights]) as scope:
        predictions, labels = _as_floats(predictions, labels)
        losses = abs_(subtract(predictions, labels))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@export("losses.cosine_distance")
def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: Any = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
    dim: Any = None,
) -> Tensor:
    """`1 - sum(predictions * labels)` along an axis, for vectors of length 1.

    Args:
      labels: the truth, of any shape.
      predictions: of the shape of `labels`.
      weights: a scalar, or of the rank of `labels`, each dimension 1 or equal.
      axis: the axis of the vectors; `dim` is its old name.
      scope: a name for the operations.
      loss_collection: where the result is added.
      reduction: a value of `tf.losses.Reduction`.

    Returns:
      The loss, reduced.

    Raises:
      ValueError: if the shapes do not fit or no axis is given.
    """
    axis = renamed_argument("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    require_both(labels=labels, predictions=predictions)
    with name_scope(scope, "cosine_distance_loss", [predictions, labels, weights]) as scope:
        predictions, labels = _as_floats(predictions, labels)
        products = multiply(predictions, labels)
        losses = 1 - reduce_sum(products, axis=(axis,), keepdims=True)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@export("losses.hinge_loss")
def hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """`max(0, 1 - (2 * labels - 1) * logits)`.

    Args:
      labels: 0 or 1.
      logits: of the shape of `labels`.
      weights: a scalar, or of the rank of `labels`, each dimension 1 or equal.
      scope: a name for the operations.
      loss_collection: where the result is added.
      reduction: a value of `tf.losses.Reduction`.

    Returns:
      The loss, reduced.

    Raises:
      ValueError: if the shapes do not fit.
    """
    require_both(labels=labels, logits=logits)
    with name_scope(scope, "hinge_loss", [logits, labels, weights]) as scope:
        logits, labels = _as_floats(logits, labels)
        ones = ones_like(labels)
        labels = subtract(2 * labels, ones)
        losses = relu(subtract(ones, multiply(labels, logits)))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@export("losses.huber_loss")
def huber_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Half the square of small errors, linear in large ones.

    Args:
      labels: the truth, of any shape.
      predictions: of the shape of `labels`.
      weights: a scalar, or of the rank of `labels`, each dimension 1 or equal.
      delta: where an error begins to be large.
      scope: a name for the operations.
      loss_collection: where the result is added.
      reduction: a value of `tf.losses.Reduction`.

    Returns:
      The loss, reduced.

    Raises:
      ValueError: if the shapes do not fit.
    """
    require_both(labels=labels, predictions=predictions)
    with name_scope(scope, "huber_loss", [predictions, labels, weights]) as scope:
        predictions, labels = _as_floats(predictions, labels)
        error = abs_(subtract(predictions, labels))
        quadratic = minimum(error, delta)
        linear = subtract(error, quadratic)
        half = convert_to_tensor(0.5, dtype=quadratic.dtype)
        squares = multiply(half, multiply(quadratic, quadratic))
        losses = add(squares, multiply(delta, linear))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@export("losses.log_loss")
def log_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    epsilon: float = 1e-07,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the cross entropy of probabilities.

    Args:
      labels: 0 or 1, or a probability.
      predictions: probabilities, of the shape of `labels`.
      weights: a scalar, or of the rank of `labels`, each dimension 1 or equal.
      epsilon: added to probabilities before their logarithm is taken.
      scope: a name for the operations.
      loss_collection: where the result is added.
      reduction: a value of `tf.losses.Reduction`.

    Returns:
      The loss, reduced.

    Raises:
      ValueError: if the shapes do not fit.
    """
    require_both(labels=labels, predictions=predictions)
    with name_scope(scope, "log_loss", [predictions, labels, weights]) as scope:
        predictions, labels = _as_floats(predictions, labels)
        yes = -multiply(labels, log(predictions + epsilon))
        losses = yes - multiply(1 - labels, log(1 - predictions + epsilon))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@export("losses.mean_squared_error")
def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """`(predictions - labels) ** 2`.

    Args:
      labels: the truth, of any shape.
      predictions: of the shape of `labels`.
      weights: a scalar, or of the rank of `labels`, each dimension 1 or equal.
      scope: a name for the operations.
      loss_collection: where the result is added.
      reduction: a value of `tf.losses.Reduction`.

    Returns:
      The loss, reduced.

    Raises:
      ValueError: if the shapes do not fit.

    Example:
      >>> loss = tf.losses.mean_squared_error(labels=[1.0, 2.0], predictions=[2.0, 4.0])
      >>> print(tf.Session().run(loss), tf.get_collection(tf.GraphKeys.LOSSES) == [loss])
      2.5 True
    """
    require_both(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_squared_error", [predictions, labels, weights]) as scope:
        predictions, labels = _as_floats(predictions, labels)
        losses = squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@export("losses.mean_pairwise_squared_error")
def mean_pairwise_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
) -> Tensor:
    """Return the squared difference of differences, over all pairs of elements of an example.

    Args:
      labels: the truth, of any shape `[batch, ...]`.
      predictions: of the shape of `labels`.
      weights: a scalar, or one per example.
      scope: a name for the operations.
      loss_collection: where the result is added.

    Returns:
      A scalar.

    Raises:
      ValueError: if the shapes do not fit.
    """
    require_both(labels=labels, predictions=predictions)
    inputs = [predictions, labels, weights]
    with name_scope(scope, "mean_pairwise_squared_error", inputs):
        weights = cast(weights, dtype=dtypes.float32)
        labels = cast(labels, dtype=dtypes.float32)
        with control_dependencies([assert_broadcastable(weights, labels)]):
            predictions = cast(predictions, dtype=dtypes.float32)
            predictions.shape.assert_is_compatible_with(labels.shape)
            losses, count = _pairwise(subtract(predictions, labels), weights)
            loss = reduce_sum(losses)
            loss = where(reduce_sum(count) > 0, loss, zeros_like(loss), name="value")
            add_loss(loss, loss_collection)
            return loss


def _pairwise(differences: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Return the weighted loss of each example and how many of its elements count."""
    axes = range_(1, rank(differences))
    squares = reduce_sum(square(differences), axis=axes, keepdims=True)
    count = num_present(differences, weights, per_batch=True)
    own = 2.0 * div_no_nan(squares, maximum(count - 1, 0), name="value")
    total = reduce_sum(differences, axis=axes, keepdims=True)
    squared_total = square(total)
    pairs = maximum(multiply(count, count - 1), 0)
    shared = 2.0 * div_no_nan(squared_total, pairs, name="value")
    return multiply(own - shared, weights), count
