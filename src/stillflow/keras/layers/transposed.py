"""Transposed convolutions."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.layers.convolutional import Conv, Conv2D, Conv3D
from stillflow.layers import utils
from stillflow.layers.signatures import with_defaults, without
from stillflow.nn.conv_transpose import conv2d_transpose
from stillflow.nn.convolution import atrous_conv2d_transpose
from stillflow.ops.arrays.shape import shape
from stillflow.ops.arrays.stack import stack
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.nn.bias import bias_add
from stillflow.ops.nn.conv3d import conv3d_transpose


class _Transposed(Conv):
    """Base of transposed convolutions of any rank.

    Args:
      output_padding: what is added to the outputs' lengths, below the strides; without it they
        follow from the inputs' lengths.

    Others are those of `Conv`.
    """

    def __init__(
        self,
        filters: Any,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = "valid",
        output_padding: Any = None,
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
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation,
            use_bias, kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer,
            activity_regularizer, kernel_constraint, bias_constraint, **kwargs,
        )  # fmt: skip
        self.output_padding = output_padding
        if output_padding is not None:
            name = "output_padding"
            self.output_padding = utils.normalize_tuple(output_padding, self.rank, name)
            if any(x >= stride for x, stride in zip(self.output_padding, self.strides)):
                raise ValueError(
                    f"Stride {self.strides} must be greater than output padding "
                    f"{self.output_padding}"
                )

    def build(self, input_shape: Any) -> None:
        """Make `kernel` [kernel size ..., filters, input channels] and `bias` [filters]."""
        input_shape = TensorShape(input_shape)
        if len(input_shape) != self.rank + 2:
            raise ValueError(*self._wrong_rank(input_shape))
        channels = self._take_channels(input_shape)
        self.kernel = self._add_kernel((*self.kernel_size, self.filters, channels))
        self._add_bias()
        self.built = True

    def _wrong_rank(self, input_shape: TensorShape) -> tuple[str, ...]:
        return (f"Inputs should have rank 4. Received input shape: {input_shape}",)

    @property
    def _space(self) -> range:
        """The axes that are convolved over."""
        first = 2 if self._channels_first else 1
        return range(first, first + self.rank)

    def _lengths(self, sizes: list[Any]) -> list[Any]:
        """Return the outputs' lengths for those of the inputs: integers, None or tensors."""
        extra = self.output_padding or (None,) * self.rank
        return [
            utils.deconv_output_length(
                sizes[i], self.kernel_size[i], padding=self.padding, output_padding=extra[i],
                stride=self.strides[i], dilation=self.dilation_rate[i],
            )
            for i in range(self.rank)
        ]  # fmt: skip

    def _with_channels(self, batch: Any, lengths: list[Any]) -> list[Any]:
        if self._channels_first:
            return [batch, self.filters, *lengths]
        return [batch, *lengths, self.filters]

    def call(self, inputs: Any) -> Tensor:
        """Return the transposed convolution of [batch, sizes ..., channels], or channels second."""
        sizes = shape(inputs)
        batch = sizes[0]
        lengths = self._lengths([sizes[axis] for axis in self._space])
        outputs = self._transpose(inputs, stack(self._with_channels(batch, lengths)))
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        if self.use_bias:
            data_format = utils.convert_data_format(self.data_format, ndim=4)
            outputs = bias_add(outputs, self.bias, data_format=data_format)
        return outputs if self.activation is None else self.activation(outputs)

    def _transpose(self, inputs: Any, output_shape: Any) -> Any:
        raise NotImplementedError

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the input's shape with the lengths of the outputs and `filters` channels."""
        dims = TensorShape(input_shape).as_list()
        lengths = self._lengths([dims[axis] for axis in self._space])
        return TensorShape(self._with_channels(dims[0], lengths))

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), "output_padding": self.output_padding}


@export("keras.layers.Conv2DTranspose", "keras.layers.Convolution2DTranspose")
class Conv2DTranspose(_Transposed, Conv2D):
    """The transpose of a convolution of images."""

    __init__ = with_defaults(_Transposed.__init__, strides=(1, 1), dilation_rate=(1, 1))

    def _transpose(self, inputs: Any, output_shape: Any) -> Tensor:
        if self._channels_first:  # as the CPU has no kernels for that
            inputs = transpose(inputs, (0, 2, 3, 1))
            output_shape = stack([output_shape[i] for i in (0, 2, 3, 1)])
        else:
            output_shape[0]  # TensorFlow asks whether that is None, which leaves a node
        padding = self.padding.upper()
        if self.dilation_rate == (1, 1):
            outputs = conv2d_transpose(
                inputs, self.kernel, output_shape, (1, *self.strides, 1), padding=padding,
                data_format="NHWC",
            )  # fmt: skip
        else:
            assert self.dilation_rate[0] == self.dilation_rate[1]
            outputs = atrous_conv2d_transpose(
                inputs, self.kernel, output_shape, rate=self.dilation_rate[0], padding=padding
            )
        return transpose(outputs, (0, 3, 1, 2)) if self._channels_first else outputs


@export("keras.layers.Conv3DTranspose", "keras.layers.Convolution3DTranspose")
class Conv3DTranspose(_Transposed, Conv3D):
    """The transpose of a convolution of volumes."""

    __init__ = without(_Transposed.__init__, "dilation_rate", strides=(1, 1, 1))

    def _wrong_rank(self, input_shape: TensorShape) -> tuple[str, ...]:
        return "Inputs should have rank 5, received input shape:", str(input_shape)

    def _transpose(self, inputs: Any, output_shape: Any) -> Tensor:
        return conv3d_transpose(
            inputs, self.kernel, output_shape, self._strides_of_all(),
            data_format=utils.convert_data_format(self.data_format, ndim=5),
            padding=self.padding.upper(),
        )  # fmt: skip

    def _strides_of_all(self) -> tuple[int, ...]:
        return (1, 1, *self.strides) if self._channels_first else (1, *self.strides, 1)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        config = super().get_config()
        del config["dilation_rate"]
        return config
