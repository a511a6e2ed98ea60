"""Convolutions."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.layers import utils
from stillflow.layers.base_layer import Layer
from stillflow.layers.identifiers import (
    activation_of,
    constraint_of,
    initializer_of,
    regularizer_of,
    serialized,
)
from stillflow.layers.input_spec import InputSpec
from stillflow.layers.signatures import with_defaults
from stillflow.nn.convolution import Convolution
from stillflow.ops.arrays.pad import pad
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.nn.bias import bias_add


class Conv(Layer):
    """A convolution over `rank` dimensions, with a bias and an activation.

    Args:
      filters: the number of output channels.
      kernel_size, strides, dilation_rate: one number, or one per dimension.
      padding: "valid", "same", or "causal" for sequences.
      data_format: "channels_last" or "channels_first".
      activation: a function, or None.
      use_bias: whether there is a bias.
      kernel_initializer, bias_initializer: give the first values.
      kernel_regularizer, bias_regularizer, activity_regularizer: give losses.
      kernel_constraint, bias_constraint: what optimizers project with.
    """

    rank: int
    takes_causal = False

    def __init__(
        self,
        filters: Any,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=regularizer_of(activity_regularizer), **kwargs)
        rank, self.filters = self.rank, filters
        self.kernel_size = utils.normalize_tuple(kernel_size, rank, "kernel_size")
        self.strides = utils.normalize_tuple(strides, rank, "strides")
        self.padding = utils.normalize_padding(padding)
        if self.padding == "causal" and not self.takes_causal:
            raise ValueError("Causal padding is only supported for `Conv1D`and ``SeparableConv1D`.")
        self.data_format = utils.normalize_data_format(data_format)
        self.dilation_rate = utils.normalize_tuple(dilation_rate, rank, "dilation_rate")
        self.activation, self.use_bias = activation_of(activation), use_bias
        self.kernel_initializer = initializer_of(kernel_initializer)
        self.bias_initializer = initializer_of(bias_initializer)
        self.kernel_regularizer = regularizer_of(kernel_regularizer)
        self.bias_regularizer = regularizer_of(bias_regularizer)
        self.kernel_constraint = constraint_of(kernel_constraint)
        self.bias_constraint = constraint_of(bias_constraint)
        self.input_spec = InputSpec(ndim=rank + 2)

    @property
    def _channels_first(self) -> bool:
        return self.data_format == "channels_first"

    @property
    def _channel_axis(self) -> int:
        return 1 if self._channels_first else -1

    def _take_channels(self, input_shape: TensorShape) -> int:
        """Return the number of input channels, which inputs must have from now on."""
        axis = self._channel_axis
        channels: int | None = input_shape.dims[axis].value
        if channels is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={axis: channels})
        return channels

    def _add_kernel(self, shape: tuple[Any, ...], name: str = "kernel") -> Any:
        """Return a variable.

        `bias_initializer` and so on are the attributes that begin with its name.
        """
        role = name.removesuffix("_kernel")
        return self.add_weight(
            name=name, shape=shape, initializer=getattr(self, f"{role}_initializer"),
            regularizer=getattr(self, f"{role}_regularizer"),
            constraint=getattr(self, f"{role}_constraint"), trainable=True, dtype=self.dtype,
        )  # fmt: skip

    def _add_bias(self) -> None:
        self.bias = self._add_kernel((self.filters,), "bias") if self.use_bias else None

    def build(self, input_shape: Any) -> None:
        """Make `kernel` [kernel size ..., input channels, filters] and `bias` [filters]."""
        input_shape = TensorShape(input_shape)
        channels = self._take_channels(input_shape)
        self.kernel = self._add_kernel((*self.kernel_size, channels, self.filters))
        self._add_bias()
        padding: Any = "valid" if self.padding == "causal" else self.padding
        self._convolution_op = Convolution(
            input_shape, filter_shape=self.kernel.shape, dilation_rate=self.dilation_rate,
            strides=self.strides,
            padding=padding.upper() if isinstance(padding, str) else padding,
            data_format=utils.convert_data_format(self.data_format, self.rank + 2),
        )  # fmt: skip
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        """Return the convolution of [batch, sizes ..., channels] or with channels first."""
        outputs = self._convolution_op(inputs, self.kernel)
        if self.use_bias:
            if self._channels_first and self.rank == 1:
                outputs = outputs + reshape(self.bias, (1, self.filters, 1))
            else:
                data_format = "NCHW" if self._channels_first else "NHWC"
                outputs = bias_add(outputs, self.bias, data_format=data_format)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the input's shape with the lengths of the outputs and `filters` channels."""
        dims = TensorShape(input_shape).as_list()
        space = dims[2:] if self._channels_first else dims[1:-1]
        new_space = [
            utils.conv_output_length(
                length, self.kernel_size[i], padding=self.padding, stride=self.strides[i],
                dilation=self.dilation_rate[i],
            )
            for i, length in enumerate(space)
        ]  # fmt: skip
        if self._channels_first:
            return TensorShape([dims[0], self.filters, *new_space])
        return TensorShape([dims[0], *new_space, self.filters])

    def _kernel_config(self, *kernels: str) -> dict[str, Any]:
        """Return the initializers, regularizers and constraints of the named variables."""
        return {
            f"{kernel}_{kind}": serialized(f"{kind}s", getattr(self, f"{kernel}_{kind}"))
            for kind in ("initializer", "regularizer", "constraint")
            for kernel in kernels
        }

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        names = (
            "filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate",
            "use_bias",
        )  # fmt: skip
        return {
            **super().get_config(),
            **{name: getattr(self, name) for name in names},
            "activation": serialized("activations", self.activation),
            "activity_regularizer": serialized("regularizers", self.activity_regularizer),
            **self._kernel_config("kernel", "bias"),
        }

    def _pad_causally(self, inputs: Any) -> Tensor:
        """Sequences with zeros before, where the padding is causal."""
        if self.padding != "causal":
            return inputs
        left = [self.dilation_rate[0] * (self.kernel_size[0] - 1), 0]
        space = [[0, 0], left] if self._channels_first else [left, [0, 0]]
        return pad(inputs, [[0, 0], *space])


@export("keras.layers.Conv1D", "keras.layers.Convolution1D")
class Conv1D(Conv):
    """A convolution of sequences."""

    rank = 1
    takes_causal = True

    __init__ = with_defaults(Conv.__init__, data_format="channels_last")

    def call(self, inputs: Any) -> Tensor:
        """Return the convolution of [batch, steps, channels] or [batch, channels, steps]."""
        return super().call(self._pad_causally(inputs))


@export("keras.layers.Conv2D", "keras.layers.Convolution2D")
class Conv2D(Conv):
    """A convolution of images."""

    rank = 2
    __init__ = with_defaults(Conv.__init__, strides=(1, 1), dilation_rate=(1, 1))


@export("keras.layers.Conv3D", "keras.layers.Convolution3D")
class Conv3D(Conv):
    """A convolution of volumes."""

    rank = 3
    __init__ = with_defaults(Conv.__init__, strides=(1, 1, 1), dilation_rate=(1, 1, 1))
