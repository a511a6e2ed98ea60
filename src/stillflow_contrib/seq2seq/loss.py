"""`tf.contrib.seq2seq.sequence_loss`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.losses.base import Loss


@export("contrib.seq2seq.sequence_loss")
def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the weighted cross entropy of sequences.

    Args:
      logits: [batch, time, classes].
      targets: int [batch, time].
      weights: [batch, time].
      average_across_timesteps, average_across_batch: whether to sum over a dimension and divide by
        the weights.
      sum_over_timesteps, sum_over_batch: whether to sum over a dimension and divide by the number
        of weights that are not 0.
      softmax_loss_function: of `labels` and `logits`; gives the losses.
      name: of the scope.

    Returns:
      A scalar, or what is left of [batch, time].

    Raises:
      ValueError: if an argument is of another rank, or both forms are asked for.
    """
    _check_rank(logits, 3, "Logits must be a [batch_size x sequence_length x logits] tensor")
    _check_rank(targets, 2, "Targets must be a [batch_size x sequence_length] tensor")
    _check_rank(weights, 2, "Weights must be a [batch_size x sequence_length] tensor")
    for what, average, total in (
        ("timesteps", average_across_timesteps, sum_over_timesteps),
        ("batch", average_across_batch, sum_over_batch),
    ):
        if average and total:
            raise ValueError(
                f"average_across_{what} and sum_over_{what} cannot be set to True at same time."
            )
    with tf.name_scope(name, "sequence_loss", [logits, targets, weights]):
        flat = tf.reshape(logits, [-1, tf.shape(logits)[2]])
        labels = tf.reshape(targets, [-1])
        function = softmax_loss_function or tf.nn.sparse_softmax_cross_entropy_with_logits
        losses = function(labels=labels, logits=flat)
        losses *= tf.reshape(weights, [-1])
        if average_across_timesteps and average_across_batch:
            return tf.div_no_nan(tf.reduce_sum(losses), tf.reduce_sum(weights))
        if sum_over_timesteps and sum_over_batch:
            total = tf.reduce_sum(losses)
            return tf.div_no_nan(total, tf.cast(tf.count_nonzero(weights), total.dtype))
        losses = tf.reshape(losses, tf.shape(logits)[0:2])
        if average_across_timesteps or average_across_batch:
            axis = [0] if average_across_batch else [1]
            losses = tf.reduce_sum(losses, axis=axis)
            return tf.div_no_nan(losses, tf.reduce_sum(weights, axis=axis))
        if sum_over_timesteps or sum_over_batch:
            axis = [0] if sum_over_batch else [1]
            losses = tf.reduce_sum(losses, axis=axis)
            count = tf.cast(tf.count_nonzero(weights, axis=axis), dtype=losses.dtype)
            return tf.div_no_nan(losses, count)
        return losses


def _check_rank(tensor: Any, rank: int, message: str) -> None:
    if len(tensor.get_shape()) != rank:
        raise ValueError(message)


@export("contrib.seq2seq.SequenceLoss")
class SequenceLoss(Loss):
    """`sequence_loss` as a Keras loss; it takes weights when it is called.

    Args:
      average_across_timesteps, average_across_batch, sum_over_timesteps, sum_over_batch,
        softmax_loss_function, name: as for `sequence_loss`.
    """

    def __init__(
        self,
        average_across_timesteps: bool = False,
        average_across_batch: bool = False,
        sum_over_timesteps: bool = True,
        sum_over_batch: bool = True,
        softmax_loss_function: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        self.average_across_timesteps = average_across_timesteps
        self.average_across_batch = average_across_batch
        self.sum_over_timesteps = sum_over_timesteps
        self.sum_over_batch = sum_over_batch
        self.softmax_loss_function = softmax_loss_function

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Tensor:
        """Return the loss of logits `y_pred` where `y_true` are the targets."""
        return sequence_loss(
            y_pred,
            y_true,
            sample_weight,
            average_across_timesteps=self.average_across_timesteps,
            average_across_batch=self.average_across_batch,
            sum_over_timesteps=self.sum_over_timesteps,
            sum_over_batch=self.sum_over_batch,
            softmax_loss_function=self.softmax_loss_function,
            name=self.name,
        )
