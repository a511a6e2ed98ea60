"""The losses of a graph, and how weighted losses become one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import add_arg_scope
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.ops.math.division import div
from stillflow.util.deprecation import Function, deprecated


def replaced(name: str, note: str = "") -> Callable[[Function], Function]:
    """Mark a function as replaced by `tf.losses.<name>`; `note` describes the difference."""
    return deprecated("2016-12-30", f"Use tf.losses.{name} instead.{note}")


@export("contrib.losses.add_loss", "contrib.slim.losses.add_loss")
@replaced("add_loss")
@add_arg_scope
def add_loss(loss: Any, loss_collection: Any = GraphKeys.LOSSES) -> None:
    """Add a loss to a collection, if one is named."""
    if loss_collection:
        tf.add_to_collection(loss_collection, loss)


@export("contrib.losses.get_losses", "contrib.slim.losses.get_losses")
@replaced("get_losses")
def get_losses(scope: str | None = None, loss_collection: Any = GraphKeys.LOSSES) -> list[Tensor]:
    """Return the losses collected so far, those of a name scope if one is given."""
    return tf.get_collection(loss_collection, scope)


@export("contrib.losses.get_regularization_losses", "contrib.slim.losses.get_regularization_losses")
@replaced("get_regularization_losses")
def get_regularization_losses(scope: str | None = None) -> list[Tensor]:
    """Return the losses of variables' regularizers, optionally of a name scope only."""
    return tf.get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


@export("contrib.losses.get_total_loss", "contrib.slim.losses.get_total_loss")
@replaced("get_total_loss")
def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss") -> Tensor:
    """Return the sum of all losses.

    Args:
      add_regularization_losses: whether the losses of regularizers count.
      name: of the sum.

    Raises:
      ValueError: if there are no losses.
    """
    losses = get_losses()
    if add_regularization_losses:
        losses += get_regularization_losses()
    return tf.add_n(losses, name=name)


def scale_losses(losses: Any, weights: Any) -> Tensor:
    """Return the sum of losses, those of one element of `weights` weighted by it."""
    axes = list(range(weights.shape.ndims, losses.shape.ndims))
    return tf.reduce_sum(tf.multiply(tf.reduce_sum(losses, axis=axes), weights))


def num_present(losses: Any, weights: Any, per_batch: bool = False) -> Tensor:
    """Return the number of losses with a weight other than 0, of each example if `per_batch`."""
    ndims = weights.shape.ndims
    if ndims == 0:
        batch_size = tf.reshape(tf.slice(tf.shape(losses), [0], [1]), [])
        count = div(tf.cast(tf.size(losses), tf.float32), tf.cast(batch_size, tf.float32))
        count = tf.where(tf.equal(weights, 0), 0.0, count)
        count = tf.multiply(tf.ones(tf.reshape(batch_size, [1])), count)
    else:
        present = tf.cast(tf.not_equal(weights, 0), tf.float32)
        count = tf.reduce_sum(present, axis=list(range(1, ndims)))
        others = tf.slice(tf.shape(losses), [ndims], [-1])
        count = tf.multiply(count, tf.cast(tf.reduce_prod(others), tf.float32))
    return count if per_batch else tf.reduce_sum(count)


def require_rank(what: str, tensor: Any) -> None:
    """Raise an error for a tensor of unknown rank.

    Raises:
      ValueError: naming it.
    """
    if tensor.shape.ndims is None:
        raise ValueError(f"{what}.get_shape().ndims cannot be None")


@export("contrib.losses.compute_weighted_loss", "contrib.slim.losses.compute_weighted_loss")
@replaced("compute_weighted_loss")
def compute_weighted_loss(losses: Any, weights: Any = 1.0, scope: str | None = None) -> Tensor:
    """Return the mean of the losses that have a weight other than 0, collected.

    Args:
      losses: of any shape `[batch, ...]`.
      weights: a scalar, or of the first dimensions of `losses`; a last dimension of 1 is dropped.
      scope: a name for the operations.

    Returns:
      A scalar of the type of `losses`.

    Raises:
      ValueError: if a rank is not known or the weights do not fit.
    """
    with tf.name_scope(scope, "weighted_loss", [losses, weights]):
        losses = tf.convert_to_tensor(losses)
        dtype = losses.dtype
        losses = tf.cast(losses, tf.float32)
        weights = tf.cast(tf.convert_to_tensor(weights), tf.float32)
        require_rank("losses", losses)
        require_rank("weights", weights)
        if weights.shape.ndims > 1 and weights.shape.dims[-1].is_compatible_with(1):
            weights = tf.squeeze(weights, [-1])
        total = scale_losses(losses, weights)
        count = num_present(losses, weights)
        mean = tf.cast(tf.div_no_nan(tf.reduce_sum(total), count, name="value"), dtype)
        add_loss(mean)
        return mean
