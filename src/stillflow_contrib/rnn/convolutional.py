"""LSTM cells whose states are images (Shi et al., 2015)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.nn.rnn_cell.base import RNNCell
from stillflow.nn.rnn_cell.lstm import LSTMStateTuple


@export("contrib.rnn.ConvLSTMCell")
class ConvLSTMCell(RNNCell):
    """An LSTM cell that convolves.

    Args:
      conv_ndims: 1, 2 or 3, how many dimensions are convolved over.
      input_shape: of the inputs, without the batch dimension, with the channels last.
      output_channels: of the state.
      kernel_shape: the sizes of the filters.
      use_bias: whether there is a bias.
      skip_connection: whether the inputs are joined to the outputs.
      forget_bias: added to the forget gate.
      initializers: not used.
      name: of the variable scope.

    Raises:
      ValueError: if the shape has another number of dimensions.
    """

    def __init__(
        self,
        conv_ndims: int,
        input_shape: Any,
        output_channels: int,
        kernel_shape: Any,
        use_bias: bool = True,
        skip_connection: bool = False,
        forget_bias: float = 1.0,
        initializers: Any = None,
        name: Any = "conv_lstm_cell",
    ) -> None:
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise ValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._conv_ndims, self._output_channels = conv_ndims, output_channels
        self._kernel_shape, self._use_bias = list(kernel_shape), use_bias
        self._forget_bias, self._skip_connection = forget_bias, skip_connection
        size = TensorShape([*input_shape[:-1], output_channels])
        self._state_size = LSTMStateTuple(size, size)
        joined = output_channels + (input_shape[-1] if skip_connection else 0)
        self._output_size = TensorShape([*input_shape[:-1], joined])

    @property
    def output_size(self) -> TensorShape:
        return self._output_size

    @property
    def state_size(self) -> LSTMStateTuple:
        return self._state_size

    def call(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Tensor, LSTMStateTuple]:
        before, hidden = state
        features = 4 * self._output_channels
        joined = convolve([inputs, hidden], self._kernel_shape, features, self._use_bias)
        written, new, kept, read = tf.split(joined, 4, axis=self._conv_ndims + 1)
        remembered = tf.sigmoid(kept + self._forget_bias) * before
        cell = remembered + tf.sigmoid(written) * tf.tanh(new)
        output = tf.tanh(cell) * tf.sigmoid(read)
        if self._skip_connection:
            output = tf.concat([output, inputs], axis=-1)
        return output, LSTMStateTuple(cell, output)


@export("contrib.rnn.Conv1DLSTMCell")
class Conv1DLSTMCell(ConvLSTMCell):
    """`ConvLSTMCell` over one dimension."""

    def __init__(self, name: Any = "conv_1d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=1, name=name, **kwargs)


@export("contrib.rnn.Conv2DLSTMCell")
class Conv2DLSTMCell(ConvLSTMCell):
    """`ConvLSTMCell` over two dimensions."""

    def __init__(self, name: Any = "conv_2d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=2, name=name, **kwargs)


@export("contrib.rnn.Conv3DLSTMCell")
class Conv3DLSTMCell(ConvLSTMCell):
    """`ConvLSTMCell` over three dimensions."""

    def __init__(self, name: Any = "conv_3d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=3, name=name, **kwargs)


def convolve(args: list[Any], filter_size: list[int], features: int, bias: bool) -> Tensor:
    """Convolve tensors that are joined along their channels, with variables of the scope around."""
    shapes = [value.get_shape().as_list() for value in args]
    rank = len(shapes[0])
    for shape in shapes:
        if len(shape) not in (3, 4, 5):
            raise ValueError(f"Conv Linear expects 3D, 4D or 5D arguments: {shapes}")
        if len(shape) != rank:
            raise ValueError(f"Conv Linear expects all args to be of same Dimension: {shapes}")
    depth = sum(shape[-1] for shape in shapes)
    dtype = args[0].dtype
    functions: dict[int, tuple[Callable[..., Any], Any]] = {
        3: (tf.nn.conv1d, 1), 4: (tf.nn.conv2d, [1] * 4), 5: (tf.nn.conv3d, [1] * 5)
    }  # fmt: skip
    function, strides = functions[rank]
    kernel = tf.get_variable("kernel", [*filter_size, depth, features], dtype=dtype)
    joined = args[0] if len(args) == 1 else tf.concat(axis=rank - 1, values=args)
    result = function(joined, kernel, strides, padding="SAME")
    if not bias:
        return result
    initializer = tf.constant_initializer(0.0, dtype=dtype)
    return result + tf.get_variable("biases", [features], dtype=dtype, initializer=initializer)
