"""Long short-term memories whose products are convolutions (Shi et al., 2015)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.keras.backend.bias import bias_add
from stillflow.keras.backend.convolution import conv2d
from stillflow.keras.layers.recurrent.rnn import RNN
from stillflow.keras.layers.recurrent.standard import MemoryCell, masked
from stillflow.keras.layers.recurrent.standard_layers import StandardRNN, of_cell
from stillflow.layers import utils
from stillflow.layers.identifiers import activation_of
from stillflow.layers.input_spec import InputSpec
from stillflow.layers.signatures import arguments, recurrent_constructor
from stillflow.variables.no_dependency import NoDependency

_GEOMETRY = ("kernel_size", "strides", "padding", "data_format", "dilation_rate")


class ConvRNN2D(RNN):
    """A cell that convolves images, along time.

    Args:
      cell: the cell.
      others: see `RNN`.

    Raises:
      TypeError: for several cells, or steps one by one.
    """

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        **kwargs: Any,
    ) -> None:
        impossible = {
            "Unrolling isn't possible with convolutional RNNs.": unroll,
            "It is not possible at the moment tostack convolutional cells.": isinstance(
                cell, (list, tuple)
            ),
        }
        for message, is_wanted in impossible.items():
            if is_wanted:
                raise TypeError(message)
        super().__init__(cell, return_sequences, return_state, go_backwards, stateful, **kwargs)
        self.input_spec = [InputSpec(ndim=5)]

    @property
    def _channel_axis(self) -> int:
        return 1 if self.cell.data_format == "channels_first" else 3

    def _image_shape(self, channels: Any, sizes: Any = (None, None)) -> list[Any]:
        if self.cell.data_format == "channels_first":
            return [channels, *sizes]
        return [*sizes, channels]

    def _state_shape(self, size: Any) -> list[int | None]:
        return self._image_shape(size)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the output; a list with those of the states if these are given."""
        if isinstance(input_shape, list):
            input_shape = input_shape[0]
        cell, (batch, time, *image) = self.cell, as_shape(input_shape).as_list()
        lengths = image[1:] if cell.data_format == "channels_first" else image[:-1]
        sizes = [
            utils.conv_output_length(
                length, cell.kernel_size[i], padding=cell.padding, stride=cell.strides[i],
                dilation=cell.dilation_rate[i],
            )
            for i, length in enumerate(lengths)
        ]  # fmt: skip
        shape = self._image_shape(cell.filters, sizes)
        state = TensorShape([batch, *shape])
        output = TensorShape([batch, time, *shape]) if self.return_sequences else state
        return [output, state, state] if self.return_state else output

    def _check_state_spec(self, sizes: Any) -> None:
        if [spec.shape[self._channel_axis] for spec in self.state_spec] != sizes:
            raise ValueError(
                "An initial_state was passed that is not compatible with `cell.state_size`. "
                f"Received `state_spec`={[spec.shape for spec in self.state_spec]}; However "
                f"`cell.state_size` is {self.cell.state_size}"
            )

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """Zeros, of the size that the convolution of an image has."""
        image = tf.reduce_sum(tf.zeros_like(inputs), axis=1)
        shape = (*self.cell.kernel_shape[:-1], self.cell.filters)
        state = self.cell.input_conv(image, tf.zeros(shape), padding=self.cell.padding)
        return [state for _ in self._state_sizes]

    def _most_steps(self, shape: Any) -> Any:
        return shape[1]

    def _kept_shapes(self) -> Callable[[Any], list[Any]]:
        shape = self.compute_output_shape(self.input_spec[0].shape)
        batch, *image = (shape[0] if self.return_state else shape).as_list()
        image = image[1:] if self.return_sequences else image
        if None in (batch, *image):
            raise ValueError(_UNKNOWN_SIZES)
        sizes = image[1:] if self.cell.data_format == "channels_first" else image[:-1]
        return lambda size: [batch, *self._image_shape(size, sizes)]

    def _expected(self, state: Any) -> Any:
        return tuple(int(n) if i == self._channel_axis else n for i, n in enumerate(state.shape))


class ConvLSTM2DCell(MemoryCell):
    """A long short-term memory of images.

    Args:
      filters: the number of channels of the output and of each state.
      kernel_size, strides, dilation_rate: of the convolution of inputs; one number, or two.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      others: see `LSTMCell`.
    """

    _own_config = ("unit_forget_bias", "filters", *_GEOMETRY)

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        given = arguments(locals())
        for name in ("filters", *_GEOMETRY, "recurrent_activation", "unit_forget_bias"):
            del given[name]
        super().__init__(units=filters, **given)
        sizes = {"kernel_size": kernel_size, "strides": strides, "dilation_rate": dilation_rate}
        self.kernel_size, self.strides, self.dilation_rate = (
            utils.normalize_tuple(value, 2, name) for name, value in sizes.items()
        )
        self.padding = utils.normalize_padding(padding)
        self.data_format = utils.normalize_data_format(data_format)
        self.recurrent_activation = activation_of(recurrent_activation)
        self.filters, self.unit_forget_bias = filters, unit_forget_bias
        self.state_size = NoDependency((filters, filters))

    def build(self, input_shape: Any) -> None:
        """Make `kernel`, `recurrent_kernel` [height, width, channels, gates] and `bias`."""
        axis = 1 if self.data_format == "channels_first" else -1
        channels = as_shape(input_shape).as_list()[axis]
        if channels is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        gates = self.filters * 4
        self.kernel_shape = (*self.kernel_size, channels, gates)
        self.kernel = self._add("kernel", self.kernel_shape)
        recurrent_shape = (*self.kernel_size, self.filters, gates)
        self.recurrent_kernel = self._add("recurrent_kernel", recurrent_shape)
        self._add_bias()
        self.built = True

    def call(self, inputs: Any, states: Any, training: Any = None) -> tuple[Tensor, list[Tensor]]:
        """(output, [output, memory])."""
        h, c = states[0], states[1]
        masks = self.get_dropout_mask_for_cell(inputs, training, count=4)
        recurrent_masks = self.get_recurrent_dropout_mask_for_cell(h, training, count=4)
        parts = masked(inputs, masks if 0.0 < self.dropout < 1.0 else None, 4)
        hs = masked(h, recurrent_masks if 0.0 < self.recurrent_dropout < 1.0 else None, 4)
        kernels = tf.split(self.kernel, 4, axis=3)
        recurrent_kernels = tf.split(self.recurrent_kernel, 4, axis=3)
        biases = tf.split(self.bias, 4) if self.use_bias else [None] * 4
        xs = [
            self.input_conv(x, kernel, bias, padding=self.padding)
            for x, kernel, bias in zip(parts, kernels, biases, strict=True)
        ]
        hs = [self.recurrent_conv(h, k) for h, k in zip(hs, recurrent_kernels, strict=True)]
        c, o = self._carry_and_output(lambda i: xs[i] + hs[i], c)
        h = o * self.activation(c)
        return h, [h, c]

    def input_conv(self, x: Any, w: Any, b: Any = None, padding: str = "valid") -> Tensor:
        """Return the convolution of inputs, with a bias."""
        y = conv2d(
            x, w, strides=self.strides, padding=padding, data_format=self.data_format,
            dilation_rate=self.dilation_rate,
        )  # fmt: skip
        return y if b is None else bias_add(y, b, data_format=self.data_format)

    def recurrent_conv(self, x: Any, w: Any) -> Tensor:
        """Return the convolution of states, which stay as large as they are."""
        return conv2d(x, w, strides=(1, 1), padding="same", data_format=self.data_format)

    def cell_config(self) -> dict[str, Any]:
        """Return the constructor's arguments, without those of every layer."""
        config = super().cell_config()
        del config["units"]
        return config


@export("keras.layers.ConvLSTM2D")
class ConvLSTM2D(StandardRNN, ConvRNN2D):
    """A long short-term memory of images, [batch, time, height, width, channels] to images.

    Args:
      filters, kernel_size, strides, padding, data_format, dilation_rate: of the convolutions.
      return_sequences, go_backwards, stateful: see `RNN`; `return_state` is taken too.
      others: see `LSTMCell`.
    """

    cell_type = ConvLSTM2DCell
    _inputs_rank = 5
    __init__ = recurrent_constructor(
        ConvLSTM2DCell.__init__, "dropout", ("return_sequences", "go_backwards", "stateful")
    )

    filters = of_cell("filters")
    kernel_size = of_cell("kernel_size")
    strides = of_cell("strides")
    padding = of_cell("padding")
    data_format = of_cell("data_format")
    dilation_rate = of_cell("dilation_rate")
    recurrent_activation = of_cell("recurrent_activation")
    unit_forget_bias = of_cell("unit_forget_bias")


_UNKNOWN_SIZES = (
    "If a RNN is stateful, it needs to know its batch size. Specify the batch size of your input "
    "tensors: \n- If using a Sequential model, specify the batch size by passing a "
    "`batch_input_shape` argument to your first layer.\n- If using the functional API, specify the "
    "time dimension by passing a `batch_shape` argument to your Input layer.\nThe same thing goes "
    "for the number of rows and columns."
)
