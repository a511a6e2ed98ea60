"""Losses of logits: sigmoid and weighted cross entropy, Poisson, averages over a batch."""

from __future__ import annotations

import math
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.fill import ones_like, zeros_like
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.shape import rank, shape
from stillflow.ops.constants import constant
from stillflow.ops.debugging.comparisons import assert_greater_equal
from stillflow.ops.math.binary import add, multiply
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import logical_and
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.math.unary import abs as abs_
from stillflow.ops.math.unary import exp, log, log1p
from stillflow.ops.nn.activations import relu
from stillflow.ops.nn.cross_entropy import require_names
from stillflow.util.renamed import renamed_argument


def _require_same_shape(names: str, first: Tensor, second: Tensor) -> None:
    try:
        second.shape.merge_with(first.shape)
    except ValueError:
        raise ValueError(
            f"{names} must have the same shape ({first.shape} vs {second.shape})"
        ) from None


@export("nn.log_poisson_loss")
def log_poisson_loss(
    targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """Return the Poisson log-likelihood loss, `exp(log_input) - log_input * targets`.

    Args:
      targets: counts, of the type and shape of `log_input`.
      log_input: the logarithm of the rate.
      compute_full_loss: whether Stirling's approximation of the constant term is added.

    Raises:
      ValueError: if the shapes differ.
    """
    with name_scope(name, "log_poisson_loss", [log_input, targets]):
        log_rate = convert_to_tensor(log_input, name="log_input")
        counts = convert_to_tensor(targets, name="targets")
        _require_same_shape("log_input and targets", log_rate, counts)
        loss = exp(log_rate) - log_rate * counts
        return loss + _log_factorial(counts) if compute_full_loss else loss


def _log_factorial(x: Any) -> Tensor:
    """Stirling's approximation of log(x!); 0 for x of 0 to 1."""
    half, circle = (constant(number, dtype=x.dtype) for number in (0.5, 2 * math.pi))
    approximation = x * log(x) - x + half * log(circle * x)
    zeros, ones = (like(x, dtype=x.dtype) for like in (zeros_like, ones_like))
    return where(logical_and(x >= zeros, x <= ones), zeros, approximation)


@export("nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """Cross entropy of independent classes, element by element.

    Args:
      labels: probabilities, of the type and shape of `logits`.
      logits: floating-point.

    Raises:
      ValueError: if arguments are not given by name or the shapes differ.

    Example:
      >>> loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0, 0.0], logits=[100.0, 100.0])
      >>> print(tf.Session().run(loss).round(3))
      [  0. 100.]
    """
    require_names("sigmoid_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        _require_same_shape("logits and labels", logits, labels)
        zeros = zeros_like(logits, dtype=logits.dtype)
        positive = logits >= zeros
        relu_logits = where(positive, logits, zeros)
        neg_abs_logits = where(positive, -logits, logits)
        return add(relu_logits - logits * labels, log1p(exp(neg_abs_logits)), name=scope)


@export("nn.weighted_cross_entropy_with_logits")
def weighted_cross_entropy_with_logits(
    labels: Any = None,
    logits: Any = None,
    pos_weight: Any = None,
    name: str | None = None,
    targets: Any = None,
) -> Tensor:
    """`sigmoid_cross_entropy_with_logits` where positive labels count `pos_weight` times.

    Args:
      targets: the old name of `labels`.
    """
    labels = renamed_argument("labels", labels, "targets", targets)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        _require_same_shape("logits and labels", logits, labels)
        weight = 1 + (pos_weight - 1) * labels
        linear = (1 - labels) * logits
        curve = weight * (log1p(exp(-abs_(logits))) + relu(-logits))
        return add(linear, curve, name=scope)


def _rank_checks(loss: Tensor) -> list[Any]:
    """Return the checks that a loss has at least one value per example."""
    refusal = "Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1"
    if loss.shape.ndims == 0:
        raise ValueError(f"{refusal}, received: {loss}")
    if loss.shape.ndims is not None:
        return []
    return [assert_greater_equal(rank(loss), cast(1, dtypes.int32), message=f"{refusal}.")]


def _weighted(loss: Tensor, weights: Any) -> Tensor:
    """Losses times the weights of their examples, as float32."""
    from stillflow.losses.weights import broadcast_weights
    from stillflow.metrics.alignment import align

    loss, weights = cast(loss, dtypes.float32), cast(weights, dtypes.float32)
    loss, _, weights = align(loss, None, weights)
    return multiply(loss, broadcast_weights(weights, loss))


@export("nn.compute_average_loss")
def compute_average_loss(
    per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None
) -> Tensor:
    """Return the sum of the losses of all examples, divided by the size of the whole batch.

    Args:
      sample_weight: weights of the examples.
      global_batch_size: by default the number of losses, times the number of replicas.
    """
    loss = convert_to_tensor(per_example_loss)
    kind = loss.dtype
    with control_dependencies(_rank_checks(loss)):
        if sample_weight is not None:
            loss = _weighted(loss, sample_weight)
        loss = cast(loss, kind)
        if global_batch_size is None:
            global_batch_size = cast(shape(loss)[0] * _replicas("compute_average_loss"), kind)
        return reduce_sum(loss) / global_batch_size


@export("nn.scale_regularization_loss")
def scale_regularization_loss(regularization_loss: Any) -> Tensor:
    """Return the sum of regularization losses, divided by the number of replicas."""
    replicas = _replicas("scale_regularization_loss")
    return reduce_sum(regularization_loss) / replicas


def _replicas(function: str) -> int:
    """Return the number of replicas: one, outside of a distribution strategy's scope."""
    del function
    return 1
