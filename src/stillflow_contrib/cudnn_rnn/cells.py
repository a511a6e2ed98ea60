"""Cells that run on any device the networks that cuDNN has trained."""

from __future__ import annotations

from functools import partial
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.tensor_shape import TensorShape
from stillflow.nn.rnn_cell.base import BIAS, KERNEL
from stillflow.nn.rnn_cell.simple import GRUCell
from stillflow_contrib.rnn.block import LSTMBlockCell


@export("contrib.cudnn_rnn.CudnnCompatibleLSTMCell")
class CudnnCompatibleLSTMCell(LSTMBlockCell):
    """An LSTM cell without a bias for forgetting, clipping and peepholes.

    Args:
      num_units: the size of the memory.
      reuse: whether the variables exist already.
    """

    def __init__(self, num_units: int, reuse: Any = None) -> None:
        super().__init__(
            num_units, forget_bias=0, cell_clip=None, use_peephole=False, reuse=reuse,
            name="cudnn_compatible_lstm_cell",
        )  # fmt: skip


@export("contrib.cudnn_rnn.CudnnCompatibleGRUCell")
class CudnnCompatibleGRUCell(GRUCell):
    """A gated recurrent unit whose reset gate comes after the product with the state.

    Args:
      num_units: the size of the state.
      reuse: whether the variables exist already.
      kernel_initializer: of the kernels.
    """

    def __init__(self, num_units: int, reuse: Any = None, kernel_initializer: Any = None) -> None:
        super().__init__(
            num_units, activation=None, reuse=reuse, kernel_initializer=kernel_initializer
        )

    def build(self, inputs_shape: Any) -> None:
        shape = TensorShape(inputs_shape)
        depth, units = shape.dims[1].value, self._num_units
        if depth is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {shape}")
        ones = partial(tf.constant_initializer, 1.0)
        self._gate_kernel, self._gate_bias = self._affine("gates", depth + units, 2, ones)
        kernel, given = self._kernel_initializer, self._bias_initializer
        zeros = tf.zeros_initializer(dtype=self.dtype) if given is None else given
        names = ("candidate/input_projection", "candidate/hidden_projection")
        self._kernels = [
            self.add_weight(f"{name}/{KERNEL}", shape=[rows, units], initializer=kernel)
            for name, rows in zip(names, (depth, units), strict=True)
        ]
        self._biases = [
            self.add_weight(f"{name}/{BIAS}", shape=[units], initializer=zeros) for name in names
        ]
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        gates = tf.matmul(tf.concat([inputs, state], 1), self._gate_kernel)
        gates = tf.sigmoid(tf.nn.bias_add(gates, self._gate_bias))
        reset, update = tf.split(value=gates, num_or_size_splits=2, axis=1)
        candidate = tf.nn.bias_add(tf.matmul(inputs, self._kernels[0]), self._biases[0])
        hidden = tf.nn.bias_add(tf.matmul(state, self._kernels[1]), self._biases[1])
        candidate += reset * hidden
        candidate = self._activation(candidate)
        new = (1 - update) * candidate
        new_state = new + update * state
        return new_state, new_state
