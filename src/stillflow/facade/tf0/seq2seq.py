"""`tf.nn.seq2seq` of 0.x: `tf.contrib.legacy_seq2seq`, whose functions of losses are called so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf

_TODAY = tf.contrib.legacy_seq2seq


def __getattr__(name: str) -> Any:
    return getattr(_TODAY, name)


def _with_labels(function: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """Call a function of `(inputs, labels)` as today's callers do, by other names."""
    if function is None:
        return None
    return lambda labels, logits: function(logits, labels)


def sequence_loss_by_example(logits: Any, targets: Any, weights: Any,
                             average_across_timesteps: bool = True,
                             softmax_loss_function: Any = None,
                             name: Any = None) -> Any:  # fmt: skip
    """Return the weighted cross-entropy of each example.

    Args:
      logits: a list over time of tensors [batch, symbols].
      targets: a list over time of int tensors [batch].
      weights: a list over time of tensors [batch].
      average_across_timesteps: whether the sum over time is divided by that of the weights.
      softmax_loss_function: of inputs and labels, by position; the cross-entropy by default.
      name: of the operations.
    """
    return _TODAY.sequence_loss_by_example(
        logits,
        targets,
        weights,
        average_across_timesteps,
        _with_labels(softmax_loss_function),
        name,
    )


def sequence_loss(logits: Any, targets: Any, weights: Any, average_across_timesteps: bool = True,
                  average_across_batch: bool = True, softmax_loss_function: Any = None,
                  name: Any = None) -> Any:  # fmt: skip
    """Return the weighted cross-entropy of a batch.

    Args:
      logits: a list over time of tensors [batch, symbols].
      targets: a list over time of int tensors [batch].
      weights: a list over time of tensors [batch].
      average_across_timesteps: whether the sum over time is divided by that of the weights.
      average_across_batch: whether the sum over examples is divided by their number.
      softmax_loss_function: of inputs and labels, by position; the cross-entropy by default.
      name: of the operations.
    """
    return _TODAY.sequence_loss(
        logits, targets, weights, average_across_timesteps, average_across_batch,
        _with_labels(softmax_loss_function), name,
    )  # fmt: skip


def model_with_buckets(encoder_inputs: Any, decoder_inputs: Any, targets: Any, weights: Any,
                       buckets: Any, seq2seq: Any, softmax_loss_function: Any = None,
                       per_example_loss: bool = False, name: Any = None) -> Any:  # fmt: skip
    """Make a sequence-to-sequence model for each pair of lengths, with shared variables.

    Args:
      encoder_inputs: a list over time of tensors, as long as the longest bucket.
      decoder_inputs: the same for the decoder.
      targets: a list over time of int tensors [batch].
      weights: a list over time of tensors [batch].
      buckets: pairs of the lengths of input and output.
      seq2seq: a function of encoder's and decoder's inputs that gives outputs and a state.
      softmax_loss_function: of inputs and labels, by position; the cross-entropy by default.
      per_example_loss: whether losses are [batch], not scalars.
      name: of the operations.

    Returns:
      For each bucket its outputs, and for each its loss.
    """
    return _TODAY.model_with_buckets(
        encoder_inputs, decoder_inputs, targets, weights, buckets, seq2seq,
        _with_labels(softmax_loss_function), per_example_loss, name,
    )  # fmt: skip
