"""Scores and likelihoods of sequences of tags (Lafferty et al., 2001)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_value
from stillflow.layers.utils import smart_cond
from stillflow.nn.recurrent.dynamic import dynamic_rnn
from stillflow_contrib.crf.cells import CrfForwardRnnCell


def by_length(inputs: Any, single: Callable[[], Any], several: Callable[[], Any]) -> Any:
    """One of two functions, by whether sequences [batch, time, ...] have one element."""
    time = dimension_value(inputs.shape[1]) or tf.shape(inputs)[1]
    return smart_cond(pred=tf.equal(time, 1), true_fn=single, false_fn=several)


def _zero_if_empty(lengths: Any, scores: Any) -> Tensor:
    return tf.where(tf.less_equal(lengths, 0), tf.zeros_like(scores), scores)


@export("contrib.crf.crf_sequence_score")
def crf_sequence_score(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any
) -> Any:
    """Return the unnormalized scores [batch] of sequences of tags.

    Args:
      inputs: [batch, time, tags], scores of tags.
      tag_indices: int [batch, time].
      sequence_lengths: int [batch].
      transition_params: [tags, tags], scores of a tag (second) after another (first).
    """

    def single() -> Tensor:
        rows = tf.shape(inputs, out_type=tag_indices.dtype)[0]
        rows = tf.reshape(tf.range(rows, dtype=tag_indices.dtype), [-1, 1])
        squeezed = tf.squeeze(inputs, [1])
        scores = tf.gather_nd(squeezed, tf.concat([rows, tag_indices], axis=1))
        return _zero_if_empty(sequence_lengths, scores)

    def several() -> Tensor:
        unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
        return unary + crf_binary_score(tag_indices, sequence_lengths, transition_params)

    return by_length(inputs, single, several)


@export("contrib.crf.crf_multitag_sequence_score")
def crf_multitag_sequence_score(
    inputs: Any, tag_bitmap: Any, sequence_lengths: Any, transition_params: Any
) -> Any:
    """Return the unnormalized scores [batch] of all sequences of allowed tags together.

    Args:
      inputs, sequence_lengths, transition_params: as of `crf_sequence_score`.
      tag_bitmap: bool [batch, time, tags], whether a tag is allowed.
    """

    def allowed() -> Tensor:
        return tf.where(tag_bitmap, inputs, tf.fill(tf.shape(inputs), float("-inf")))

    return by_length(
        inputs,
        lambda: tf.reduce_logsumexp(allowed(), axis=[1, 2], keepdims=False),
        lambda: crf_log_norm(allowed(), sequence_lengths, transition_params),
    )


@export("contrib.crf.crf_log_norm")
def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """Return the logarithm [batch] of the sum over all sequences of tags.

    Args:
      inputs, sequence_lengths, transition_params: as of `crf_sequence_score`.
    """
    first = tf.squeeze(tf.slice(inputs, [0, 0, 0], [-1, 1, -1]), [1])

    def single() -> Tensor:
        return _zero_if_empty(sequence_lengths, tf.reduce_logsumexp(first, [1]))

    def several() -> Tensor:
        rest = tf.slice(inputs, [0, 1, 0], [-1, -1, -1])
        cell = CrfForwardRnnCell(transition_params)
        _, alphas = dynamic_rnn(
            cell=cell, inputs=rest, sequence_length=one_less(sequence_lengths),
            initial_state=first, dtype=tf.float32,
        )  # fmt: skip
        return _zero_if_empty(sequence_lengths, tf.reduce_logsumexp(alphas, [1]))

    return by_length(inputs, single, several)


def one_less(lengths: Any) -> Tensor:
    """Lengths without the first element, which is the first state."""
    return tf.maximum(tf.constant(0, dtype=lengths.dtype), lengths - 1)


@export("contrib.crf.crf_log_likelihood")
def crf_log_likelihood(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any = None
) -> tuple[Any, Any]:
    """Return the logarithm of the likelihood of sequences of tags.

    Args:
      inputs, tag_indices, sequence_lengths: as of `crf_sequence_score`.
      transition_params: [tags, tags]; a new variable "transitions" by default.

    Returns:
      The logarithms [batch], and the transition parameters.
    """
    transitions = transition_params
    if transitions is None:
        size = dimension_value(inputs.shape[2])
        transitions = tf.get_variable("transitions", [size, size])
    of_tags = crf_sequence_score(inputs, tag_indices, sequence_lengths, transitions)
    return of_tags - crf_log_norm(inputs, sequence_lengths, transitions), transitions


@export("contrib.crf.crf_unary_score")
def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: Any) -> Tensor:
    """Return the sums [batch] of the scores of tags; arguments as of `crf_sequence_score`."""
    batch, time, tags = (tf.shape(inputs)[axis] for axis in range(3))
    flat = tf.reshape(inputs, [-1])
    rows = tf.expand_dims(tf.range(batch) * time * tags, 1)
    # Where the scores of each step begin among all of them.
    begins = rows + tf.expand_dims(tf.range(time) * tags, 0)
    begins = tf.cast(begins, tf.int64) if tag_indices.dtype == tf.int64 else begins
    picked = tf.gather(flat, tf.reshape(begins + tag_indices, [-1]))
    by_step = tf.reshape(picked, [batch, time])
    return tf.reduce_sum(by_step * _masks(tag_indices, sequence_lengths), 1)


def _masks(tag_indices: Any, sequence_lengths: Any) -> Tensor:
    longest = tf.shape(tag_indices)[1]
    return tf.sequence_mask(sequence_lengths, maxlen=longest, dtype=tf.float32)


@export("contrib.crf.crf_binary_score")
def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Tensor:
    """Return the sums [batch] of the scores of tags after others.

    Arguments as of `crf_sequence_score`.
    """
    tags = transition_params.get_shape()[0]
    count = tf.shape(tag_indices)[1] - 1
    before, after = (tf.slice(tag_indices, [0, first], [-1, count]) for first in (0, 1))
    places = before * tags + after
    picked = tf.gather(tf.reshape(transition_params, [-1]), places)
    masks = _masks(tag_indices, sequence_lengths)
    return tf.reduce_sum(picked * tf.slice(masks, [0, 1], [-1, -1]), 1)
