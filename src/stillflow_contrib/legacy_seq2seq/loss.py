"""Losses of lists of logits, and models for several lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor


@export("contrib.legacy_seq2seq.sequence_loss_by_example")
def sequence_loss_by_example(
    logits: list[Any],
    targets: list[Any],
    weights: list[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the weighted cross entropies of sequences.

    Args:
      logits: a list over time of [batch, classes].
      targets: a list over time of int [batch].
      weights: a list over time of [batch].
      average_across_timesteps: whether to divide by the sums of the weights.
      softmax_loss_function: of `labels` and `logits`; gives the losses.
      name: of the scope.

    Returns:
      The losses [batch].

    Raises:
      ValueError: if the lists have different lengths.
    """
    lengths = [len(each) for each in (logits, weights, targets)]
    if len(set(lengths)) != 1:
        shown = ", ".join(map(str, lengths))
        raise ValueError(f"Lengths of logits, weights, and targets must be the same {shown}.")
    loss = softmax_loss_function or _cross_entropy
    with tf.name_scope(name, "sequence_loss_by_example", logits + targets + weights):
        steps = zip(logits, targets, weights, strict=True)
        losses = [loss(labels=target, logits=logit) * weight for logit, target, weight in steps]
        total = tf.add_n(losses)
        return total / (tf.add_n(weights) + 1e-12) if average_across_timesteps else total


def _cross_entropy(labels: Any, logits: Any) -> Tensor:
    labels = tf.reshape(labels, [-1])
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


@export("contrib.legacy_seq2seq.sequence_loss")
def sequence_loss(
    logits: list[Any],
    targets: list[Any],
    weights: list[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the sum of `sequence_loss_by_example` over the batch, or its mean.

    Args:
      logits, targets, weights, average_across_timesteps, softmax_loss_function: as there.
      average_across_batch: whether to divide by the batch size.
      name: of the scope.
    """
    with tf.name_scope(name, "sequence_loss", logits + targets + weights):
        cost = tf.reduce_sum(
            sequence_loss_by_example(
                logits,
                targets,
                weights,
                average_across_timesteps=average_across_timesteps,
                softmax_loss_function=softmax_loss_function,
            )
        )
        if not average_across_batch:
            return cost
        return cost / tf.cast(tf.shape(targets[0])[0], cost.dtype)


@export("contrib.legacy_seq2seq.model_with_buckets")
def model_with_buckets(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    targets: list[Any],
    weights: list[Any],
    buckets: list[tuple[int, int]],
    seq2seq: Callable[..., Any],
    softmax_loss_function: Callable[..., Any] | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[Any]]:
    """One model for several pairs of lengths, all with the same variables.

    Args:
      encoder_inputs, decoder_inputs, targets, weights: lists over time, for the largest pair.
      buckets: pairs of the lengths of inputs and outputs, smallest first.
      seq2seq: of lists of encoder and decoder inputs; gives outputs and states.
      softmax_loss_function: as of `sequence_loss_by_example`.
      per_example_loss: whether losses are [batch], else scalars.
      name: of the scope.

    Returns:
      Lists over buckets of outputs and losses.

    Raises:
      ValueError: if a list is too short.
    """
    for what, values, needed in (
        ("encoder_inputs", encoder_inputs, buckets[-1][0]),
        ("targets", targets, buckets[-1][1]),
        ("weights", weights, buckets[-1][1]),
    ):
        if len(values) < needed:
            raise ValueError(
                f"Length of {what} ({len(values)}) must be at least that of last bucket ({needed})."
            )
    function = sequence_loss_by_example if per_example_loss else sequence_loss
    outputs: list[Any] = []
    losses: list[Any] = []
    all_inputs = encoder_inputs + decoder_inputs + targets + weights
    with tf.name_scope(name, "model_with_buckets", all_inputs):
        for j, (source, target) in enumerate(buckets):
            scope = tf.get_variable_scope()
            with tf.variable_scope(scope, reuse=True if j > 0 else None):
                bucket_outputs, _ = seq2seq(encoder_inputs[:source], decoder_inputs[:target])
                outputs.append(bucket_outputs)
                losses.append(
                    function(
                        bucket_outputs,
                        targets[:target],
                        weights[:target],
                        softmax_loss_function=softmax_loss_function,
                    )
                )
    return outputs, losses
