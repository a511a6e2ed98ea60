"""Losses of classes: cross entropies of logits."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.losses.reduction import Reduction, compute_weighted_loss
from stillflow.losses.regression import require_both
from stillflow.nn.losses import sigmoid_cross_entropy_with_logits
from stillflow.ops.arrays.shape import rank, shape, squeeze
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.control_flow.identity_and_group import stop_gradient
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal
from stillflow.ops.math.confusion import remove_squeezable_dimensions
from stillflow.ops.nn.cross_entropy import (
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)


def _in_type_of_logits(labels: Any, logits: Any) -> tuple[Tensor, Tensor]:
    logits = convert_to_tensor(logits)
    labels = cast(labels, logits.dtype)
    logits.shape.assert_is_compatible_with(labels.shape)
    return labels, logits


@export("losses.sigmoid_cross_entropy")
def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Cross entropy of independent classes.

    Args:
      multi_class_labels: 0 or 1 for each class, shape `[batch, classes]`.
      logits: of the same shape.
      weights: a scalar, or of the rank of `multi_class_labels`, each dimension 1 or equal.
      label_smoothing: how far labels are moved towards the same for all classes, 0 to 1.
      scope: a name for the operations.
      loss_collection: where the result is added.
      reduction: a value of `tf.losses.Reduction`.

    Returns:
      The loss, reduced.

    Raises:
      ValueError: if the shapes do not fit.
    """
    require_both(multi_class_labels=multi_class_labels, logits=logits)
    with name_scope(
        scope, "sigmoid_cross_entropy_loss", [logits, multi_class_labels, weights]
    ) as scope:
        labels, logits = _in_type_of_logits(multi_class_labels, logits)
        if label_smoothing > 0:
            smoothed: Any = labels * (1 - label_smoothing)
            labels = smoothed + 0.5 * label_smoothing
        losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@export("losses.softmax_cross_entropy")
def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Cross entropy of classes that exclude each other.

    Args:
      onehot_labels: probabilities of classes, shape `[batch, classes]`.
      logits: of the same shape.
      weights: a scalar, or of the rank of `onehot_labels`, each dimension 1 or equal.
      label_smoothing: how far labels are moved towards the same for all classes, 0 to 1.
      scope: a name for the operations.
      loss_collection: where the result is added.
      reduction: a value of `tf.losses.Reduction`.

    Returns:
      The loss, reduced.

    Raises:
      ValueError: if the shapes do not fit.
    """
    require_both(onehot_labels=onehot_labels, logits=logits)
    with name_scope(scope, "softmax_cross_entropy_loss", [logits, onehot_labels, weights]) as scope:
        labels, logits = _in_type_of_logits(onehot_labels, logits)
        if label_smoothing > 0:
            classes = cast(shape(labels)[-1], logits.dtype)
            smoothing = label_smoothing / classes
            labels = labels * (1.0 - label_smoothing) + smoothing
        labels = stop_gradient(labels, name="labels_stop_gradient")
        losses = softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def _squeezed(labels: Any, logits: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Labels of one rank less than logits, and weights that fit them."""
    labels, logits = remove_squeezable_dimensions(labels, logits, expected_rank_diff=1)
    weights = convert_to_tensor(weights)
    if labels.shape.ndims is not None and weights.shape.ndims is not None:
        if weights.shape.ndims - labels.shape.ndims == 1:
            weights = squeeze(weights, [-1])
        return labels, logits, weights
    difference = rank(weights) - rank(labels)
    known = weights.shape.ndims
    if known is None or (known > 0 and weights.shape.dims[-1].is_compatible_with(1)):
        column = weights
        weights = cond(equal(1, difference), lambda: squeeze(column, [-1]), lambda: column)
    return labels, logits, weights


@export("losses.sparse_softmax_cross_entropy")
def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Cross entropy of classes that exclude each other, the truth given by number.

    Args:
      labels: int32 or int64 numbers of classes, shape `[batch, ...]`.
      logits: shape `[batch, ..., classes]`.
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
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", [logits, labels, weights]) as scope:
        labels, logits, weights = _squeezed(labels, logits, weights)
        losses = sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)
