"""Recurrent networks, as programs write them, and values for their placeholders."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf

SOFT = tf.ConfigProto(allow_soft_placement=True)  # networks of cuDNN ask for a GPU
CELLS = tf.nn.rnn_cell
LENGTHS = np.array([3, 4, 0, 1], np.int32)  # of series of 5 steps


def series(time: int | None = 5, dtype: Any = tf.float32) -> Any:
    return tf.placeholder(dtype, [None, time, 3], "x")


def dynamic(cell: Any, **options: Any) -> list[Any]:
    outputs, state = tf.nn.dynamic_rnn(cell, series(), dtype=tf.float32, **options)
    return [outputs, *tf.nest.flatten(state)]


def two_layers() -> list[Any]:
    return dynamic(CELLS.MultiRNNCell([CELLS.BasicLSTMCell(4), CELLS.LSTMCell(2)]))


def both_ways() -> list[Any]:
    cells = CELLS.LSTMCell(4), CELLS.LSTMCell(4)
    n = tf.placeholder(tf.int32, [None], "n")
    outputs, states = tf.nn.bidirectional_dynamic_rnn(
        *cells, series(None), n, dtype=tf.float32, swap_memory=True
    )
    return [*outputs, *tf.nest.flatten(states)]


def lengths() -> list[Any]:
    return dynamic(CELLS.BasicLSTMCell(4), sequence_length=tf.placeholder(tf.int64, [None], "n"))


def lengths_of_two() -> list[Any]:
    cell = CELLS.MultiRNNCell([CELLS.BasicRNNCell(4), CELLS.BasicRNNCell(4)])
    return dynamic(cell, sequence_length=tf.placeholder(tf.int32, [None], "n"))


def one_matrix() -> list[Any]:
    return dynamic(CELLS.BasicLSTMCell(4, forget_bias=0.3, state_is_tuple=False))


def started_by_the_caller() -> list[Any]:
    cell, x = CELLS.LSTMCell(4), series()
    given = tf.contrib.rnn.LSTMStateTuple(*(tf.placeholder(tf.float32, [None, 4], k) for k in "ch"))
    outputs, state = tf.nn.dynamic_rnn(
        cell, tf.transpose(x, [1, 0, 2]), initial_state=given, time_major=True
    )
    return [outputs, *state]


def double() -> list[Any]:
    outputs, _ = tf.nn.dynamic_rnn(CELLS.LSTMCell(4), series(None, tf.float64), dtype=tf.float64)
    return [outputs]


def resources() -> list[Any]:
    with tf.variable_scope("there", use_resource=True):
        return dynamic(CELLS.LSTMCell(4))


def unrolled() -> list[Any]:
    outputs, state = tf.nn.static_rnn(
        CELLS.LSTMCell(4), tf.unstack(series(), axis=1), dtype=tf.float32
    )
    return [*outputs, state.c]


def unrolled_plain() -> list[Any]:
    outputs, _ = tf.nn.static_rnn(
        CELLS.MultiRNNCell([CELLS.BasicRNNCell(4), CELLS.BasicRNNCell(4)]),
        tf.unstack(series(), axis=1), dtype=tf.float32,
    )  # fmt: skip
    return outputs


def dropped(keep: float | None = None) -> list[Any]:
    """Return what a network with dropout gives; all stays where the share is fed."""
    share = tf.placeholder(tf.float32, [], "keep") if keep is None else keep
    wrap = CELLS.DropoutWrapper
    first = wrap(CELLS.LSTMCell(4), output_keep_prob=share, input_keep_prob=share)
    n = tf.placeholder(tf.int32, [None], "n")
    cells = [first, wrap(CELLS.BasicRNNCell(4), output_keep_prob=share)]
    return dynamic(CELLS.MultiRNNCell(cells), sequence_length=n)


def residual() -> list[Any]:
    cells = [CELLS.ResidualWrapper(CELLS.LSTMCell(3)) for _ in range(2)]
    return dynamic(CELLS.MultiRNNCell(cells), sequence_length=tf.placeholder(tf.int32, [None], "n"))


def fused_cell() -> list[Any]:
    n = tf.placeholder(tf.int32, [None], "n")
    return dynamic(tf.contrib.rnn.LSTMBlockCell(4, forget_bias=0.3), sequence_length=n)


def fused_unrolled() -> list[Any]:
    cell = tf.contrib.rnn.LSTMBlockCell(4, forget_bias=0.3)
    outputs, state = tf.nn.static_rnn(cell, tf.unstack(series(), axis=1), dtype=tf.float32)
    return [*outputs, *state]


def keras(**options: Any) -> list[Any]:
    layer = tf.keras.layers.LSTM(
        4, recurrent_activation="sigmoid", return_sequences=True, return_state=True, **options
    )
    return list(layer(series()))


def keras_at_once() -> list[Any]:
    return keras(implementation=2, go_backwards=True)


def keras_without_bias() -> list[Any]:
    return keras(use_bias=False)


def keras_unrolled() -> list[Any]:
    return keras(unroll=True)


def fused() -> list[Any]:
    cell = tf.contrib.rnn.LSTMBlockFusedCell(4, forget_bias=0.3)
    outputs, state = cell(tf.transpose(series(), [1, 0, 2]), dtype=tf.float32)
    return [outputs, *state]


def cudnn(kind: str = "CudnnLSTM", **options: Any) -> list[Any]:
    layer = getattr(tf.contrib.cudnn_rnn, kind)(2, 4, **options)
    outputs, state = layer(tf.transpose(series(), [1, 0, 2]))
    return [outputs, *state]


def cudnn_both_ways() -> list[Any]:
    return cudnn(direction="bidirectional")


def cudnn_gru() -> list[Any]:
    return cudnn("CudnnGRU")


def cudnn_relu() -> list[Any]:
    return cudnn("CudnnRNNRelu")


def keras_gru(**options: Any) -> list[Any]:
    layer = tf.keras.layers.GRU(
        4, recurrent_activation="sigmoid", reset_after=True, return_sequences=True, **options
    )
    return [layer(series())]


def keras_gru_at_once() -> list[Any]:
    return keras_gru(implementation=2)


def keras_gru_unrolled() -> list[Any]:
    return keras_gru(unroll=True)


def gated() -> list[Any]:
    return dynamic(CELLS.GRUCell(4))  # its reset gate stands before the product


def gated_with_lengths() -> list[Any]:
    n = tf.placeholder(tf.int32, [None], "n")
    return dynamic(tf.contrib.rnn.GRUBlockCell(4), sequence_length=n)


def gated_unrolled() -> list[Any]:
    cell = tf.contrib.rnn.GRUBlockCellV2(4)
    outputs, state = tf.nn.static_rnn(cell, tf.unstack(series(), axis=1), dtype=tf.float32)
    return [*outputs[:-1], state]


def peepholes() -> list[Any]:
    cell = CELLS.LSTMCell(4, use_peepholes=True)
    return dynamic(cell, sequence_length=tf.placeholder(tf.int32, [None], "n"))


def projected() -> list[Any]:
    return dynamic(CELLS.LSTMCell(4, num_proj=2))


def fused_and_clipped() -> list[Any]:
    cell = tf.contrib.rnn.LSTMBlockFusedCell(4, cell_clip=0.2, use_peephole=True)
    n = tf.placeholder(tf.int32, [None], "n")
    outputs, state = cell(tf.transpose(series(), [1, 0, 2]), dtype=tf.float32, sequence_length=n)
    return [outputs, *state]


def keras_plain() -> list[Any]:
    return [tf.keras.layers.SimpleRNN(4, return_sequences=True)(series())]


def keras_hard(kind: str = "LSTM", **options: Any) -> list[Any]:
    layer = getattr(tf.keras.layers, kind)(4, return_sequences=True, return_state=True, **options)
    return list(layer(series()))


def keras_hard_at_once() -> list[Any]:
    return keras_hard(implementation=2)


def keras_gated() -> list[Any]:
    return keras_hard("GRU")


def keras_gated_at_once() -> list[Any]:
    return keras_hard("GRU", implementation=2, use_bias=False)


def keras_gated_soft() -> list[Any]:
    return keras_hard("GRU", recurrent_activation="sigmoid")


def keras_gated_late() -> list[Any]:
    return keras_hard("GRU", reset_after=True)


def keras_masked() -> list[Any]:
    return [tf.keras.layers.LSTM(4)(tf.keras.layers.Masking()(series()))]


def sample_of(tensor: Any) -> np.ndarray:
    """Return values for a placeholder; the lengths begin and end anywhere."""
    if tensor.op.name == "n":
        return LENGTHS
    if tensor.op.name == "keep":
        return np.array(1, np.float32)
    shape = (4, 5, 3) if tensor.shape.ndims == 3 else (4, 4)
    return np.random.default_rng(len(tensor.op.name)).normal(size=shape)
