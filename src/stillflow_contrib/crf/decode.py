"""The best sequences of tags (Viterbi, 1967)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.tensor_shape import dimension_value
from stillflow.nn.recurrent.dynamic import dynamic_rnn
from stillflow_contrib.crf.cells import CrfDecodeBackwardRnnCell, CrfDecodeForwardRnnCell
from stillflow_contrib.crf.score import by_length, one_less


@export("contrib.crf.viterbi_decode")
def viterbi_decode(score: np.ndarray, transition_params: np.ndarray) -> tuple[list[Any], Any]:
    """Return the best sequence of tags, in NumPy.

    Args:
      score: [time, tags].
      transition_params: [tags, tags], scores of a tag (second) after another (first).

    Returns:
      The tags, and their score.
    """
    best, choices = score[0], []
    for emission in score[1:]:
        totals = best[:, None] + transition_params
        choices.append(totals.argmax(axis=0).astype(np.int32))
        best = (emission + totals.max(axis=0)).astype(score.dtype)
    tags = [best.argmax()]
    for choice in reversed(choices):
        tags.append(choice[tags[-1]])
    return tags[::-1], best.max()


@export("contrib.crf.crf_decode")
def crf_decode(potentials: Any, transition_params: Any, sequence_length: Any) -> tuple[Any, Any]:
    """Return the best sequences of tags, in the graph.

    Args:
      potentials: [batch, time, tags], scores of tags.
      transition_params: [tags, tags], scores of a tag (second) after another (first).
      sequence_length: int [batch].

    Returns:
      The tags, int32 [batch, time], and their scores [batch].
    """

    def one_step() -> tuple[Any, Any]:
        scores = tf.squeeze(potentials, [1])
        tags = tf.argmax(scores, axis=1)
        tags = tf.expand_dims(tags, 1)
        highest = tf.reduce_max(scores, axis=1)
        return tf.cast(tags, tf.int32), highest

    steps = functools.partial(_decode, potentials, transition_params, sequence_length)
    result: tuple[Any, Any] = by_length(potentials, one_step, steps)
    return result


def _decode(potentials: Any, transition_params: Any, sequence_length: Any) -> tuple[Any, Any]:
    tags = dimension_value(potentials.shape[2])
    forward = CrfDecodeForwardRnnCell(transition_params)
    first = tf.squeeze(tf.slice(potentials, [0, 0, 0], [-1, 1, -1]), axis=[1])
    rest = tf.slice(potentials, [0, 1, 0], [-1, -1, -1])
    lengths = one_less(sequence_length)
    before, scores = dynamic_rnn(
        forward, inputs=rest, sequence_length=lengths, initial_state=first, time_major=False,
        dtype=tf.int32,
    )  # fmt: skip
    before = tf.reverse_sequence(before, lengths, seq_axis=1)
    backward = CrfDecodeBackwardRnnCell(tags)
    last = tf.cast(tf.argmax(scores, axis=1), dtype=tf.int32)
    last = tf.expand_dims(last, axis=-1)
    decoded, _ = dynamic_rnn(
        backward, inputs=before, sequence_length=lengths, initial_state=last, time_major=False,
        dtype=tf.int32,
    )  # fmt: skip
    decoded = tf.concat([last, tf.squeeze(decoded, axis=[2])], axis=1)
    decoded = tf.reverse_sequence(decoded, sequence_length, seq_axis=1)
    return decoded, tf.reduce_max(scores, axis=1)
