"""The best sequences of tags (Viterbi, 1967)."""

from __future__ import annotations

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
    trellis = np.zeros_like(score)
    before = np.zeros_like(score, dtype=np.int32)
    trellis[0] = score[0]
    for t in range(1, score.shape[0]):
        totals = np.expand_dims(trellis[t - 1], 1) + transition_params
        trellis[t] = score[t] + np.max(totals, 0)
        before[t] = np.argmax(totals, 0)
    tags = [np.argmax(trellis[-1])]
    for row in reversed(before[1:]):
        tags.append(row[tags[-1]])
    return tags[::-1], np.max(trellis[-1])


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

    def single() -> tuple[Any, Any]:
        squeezed = tf.squeeze(potentials, [1])
        tags = tf.expand_dims(tf.argmax(squeezed, axis=1), 1)
        best = tf.reduce_max(squeezed, axis=1)
        return tf.cast(tags, dtype=tf.int32), best

    result: tuple[Any, Any] = by_length(
        potentials, single, lambda: _decode(potentials, transition_params, sequence_length)
    )
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
