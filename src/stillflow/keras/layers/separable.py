"""Separable convolutions: by channel, then across channels."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.layers.convolutional import Conv
from stillflow.layers import utils
from stillflow.layers.identifiers import constraint_of, initializer_of, regularizer_of
from stillflow.layers.signatures import with_defaults
from stillflow.nn.separable import separable_conv2d
from stillflow.ops.arrays.shape import expand_dims, squeeze
from stillflow.ops.nn.bias import bias_add


class SeparableConv(Conv):
    """A convolution of each channel by itself, then one of size 1 that mixes the channels.

    Args:
      depth_multiplier: how many channels the first makes of each.
      depthwise_..., pointwise_...: of the kernels of the first and the second.

    Others are those of `Conv`.
    """

    def __init__(
        self,
        filters: Any,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation,
            use_bias, bias_initializer=bias_initializer, bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer, bias_constraint=bias_constraint, **kwargs,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer, self.pointwise_initializer = map(
            initializer_of, (depthwise_initializer, pointwise_initializer)
        )
        self.depthwise_regularizer, self.pointwise_regularizer = map(
            regularizer_of, (depthwise_regularizer, pointwise_regularizer)
        )
        self.depthwise_constraint, self.pointwise_constraint = map(
            constraint_of, (depthwise_constraint, pointwise_constraint)
        )

    def build(self, input_shape: Any) -> None:
        """Make the kernels and `bias` [filters].

        `depthwise_kernel` is [kernel size ..., input channels, multiplier], `pointwise_kernel`
        [1 ..., input channels * multiplier, filters].
        """
        channels = self._take_channels(TensorShape(input_shape))
        multiplied = self.depth_multiplier * channels
        self.depthwise_kernel = self._add_kernel(
            (*self.kernel_size, channels, self.depth_multiplier), "depthwise_kernel"
        )
        self.pointwise_kernel = self._add_kernel(
            (*((1,) * self.rank), multiplied, self.filters), "pointwise_kernel"
        )
        self._add_bias()
        self.built = True

    def _convolve(self, images: Any, kernels: Any, strides: tuple[int, ...], rate: Any) -> Tensor:
        """Return the convolution of images by a depthwise and a pointwise kernel, with the bias."""
        data_format = utils.convert_data_format(self.data_format, ndim=4)
        padding = "VALID" if self.padding == "causal" else self.padding.upper()
        depthwise, pointwise = kernels
        strides = (1, 1, *strides) if self._channels_first else (1, *strides, 1)
        outputs = separable_conv2d(
            images, depthwise, pointwise, strides=strides, padding=padding, rate=rate,
            data_format=data_format,
        )  # fmt: skip
        return bias_add(outputs, self.bias, data_format=data_format) if self.use_bias else outputs

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "depth_multiplier": self.depth_multiplier,
            **self._kernel_config("depthwise", "pointwise"),
        }


@export("keras.layers.SeparableConv1D", "keras.layers.SeparableConvolution1D")
class SeparableConv1D(SeparableConv):
    """A separable convolution of sequences, as images of height 1."""

    rank = 1
    takes_causal = True

    def call(self, inputs: Any) -> Tensor:
        """Return the convolution of [batch, steps, channels] or [batch, channels, steps]."""
        axis = 2 if self._channels_first else 1
        images = expand_dims(self._pad_causally(inputs), axis)
        kernels = [expand_dims(k, 0) for k in (self.depthwise_kernel, self.pointwise_kernel)]
        rate = (1, *self.dilation_rate)
        outputs = squeeze(self._convolve(images, kernels, self.strides * 2, rate), [axis])
        return outputs if self.activation is None else self.activation(outputs)


@export("keras.layers.SeparableConv2D", "keras.layers.SeparableConvolution2D")
class SeparableConv2D(SeparableConv):
    """A separable convolution of images."""

    rank = 2
    __init__ = with_defaults(SeparableConv.__init__, strides=(1, 1), dilation_rate=(1, 1))

    def call(self, inputs: Any) -> Tensor:
        """Return the convolution of [batch, height, width, channels], or channels second."""
        kernels = self.depthwise_kernel, self.pointwise_kernel
        outputs = self._convolve(inputs, kernels, self.strides, self.dilation_rate)
        return outputs if self.activation is None else self.activation(outputs)
