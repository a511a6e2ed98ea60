"""Connectionist temporal classification as `tf.keras.backend` has it."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.keras.backend.config import epsilon


@export("keras.backend.ctc_label_dense_to_sparse")
def ctc_label_dense_to_sparse(labels: Any, label_lengths: Any) -> SparseTensor:
    """Rows of labels as a sparse tensor.

    Args:
      labels: [batch, most labels].
      label_lengths: how many of each row count.
    """
    shape = tf.shape(labels)
    batch, most = tf.stack([shape[0]]), tf.stack([shape[1]])

    def in_row(before: Any, length: Any) -> Tensor:
        return tf.expand_dims(tf.range(tf.shape(before)[1]), 0) < tf.fill(most, length)

    first = tf.cast(tf.fill([1, shape[1]], 0), tf.bool)
    mask = tf.scan(in_row, label_lengths, initializer=first, parallel_iterations=1)[:, 0, :]
    places = tf.reshape(tf.tile(tf.range(0, shape[1]), batch), shape)
    places = tf.boolean_mask(places, mask)
    rows = tf.reshape(tf.tile(tf.range(0, shape[0]), most), tf.reverse(shape, [0]))
    rows = tf.boolean_mask(tf.transpose(rows), mask)
    indices = tf.transpose(tf.reshape(tf.concat([rows, places], axis=0), [2, -1]))
    values = tf.gather_nd(labels, indices)
    return tf.SparseTensor(tf.cast(indices, tf.int64), values, tf.cast(shape, tf.int64))


@export("keras.backend.ctc_batch_cost")
def ctc_batch_cost(y_true: Any, y_pred: Any, input_length: Any, label_length: Any) -> Tensor:
    """Return the loss of each example, [batch, 1].

    Args:
      y_true: labels, [batch, most labels].
      y_pred: probabilities, [batch, time, classes], the last class the blank.
      input_length: how many steps of each example count, [batch, 1].
      label_length: how many labels of each example count, [batch, 1].
    """
    label_lengths, input_lengths = (
        tf.cast(tf.squeeze(lengths, axis=-1), tf.int32) for lengths in (label_length, input_length)
    )
    labels = tf.cast(ctc_label_dense_to_sparse(y_true, label_lengths), tf.int32)
    return tf.expand_dims(tf.nn.ctc_loss(labels, _logits(y_pred), input_lengths), 1)


def _logits(probabilities: Any) -> Tensor:
    """Return logarithms, [time, batch, classes]."""
    return tf.math.log(tf.transpose(probabilities, perm=[1, 0, 2]) + epsilon())


@export("keras.backend.ctc_decode")
def ctc_decode(
    y_pred: Any, input_length: Any, greedy: bool = True, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[Any], Any]:
    """Return the most probable labels.

    Args:
      y_pred: probabilities, [batch, time, classes], the last class the blank.
      input_length: how many steps of each example count, [batch].
      greedy: whether the best class of each step is taken.
      beam_width: of the search otherwise.
      top_paths: how many results a search gives.

    Returns:
      (list of results filled up with -1, logarithms of their probabilities).
    """
    decoder, options = tf.nn.ctc_greedy_decoder, {}
    if not greedy:
        decoder = tf.nn.ctc_beam_search_decoder
        options = {"beam_width": beam_width, "top_paths": top_paths}
    found, scores = decoder(_logits(y_pred), tf.cast(input_length, tf.int32), **options)

    def dense(labels: Any) -> Any:
        return tf.sparse_to_dense(
            labels.indices, labels.dense_shape, labels.values, default_value=-1
        )

    return [dense(labels) for labels in found], scores
