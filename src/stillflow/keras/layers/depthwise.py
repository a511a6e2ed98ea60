"""`tf.keras.layers.DepthwiseConv2D`."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.backend.bias import bias_add
from stillflow.keras.layers.convolutional import Conv2D
from stillflow.layers import utils
from stillflow.layers.identifiers import (
    constraint_of,
    initializer_of,
    regularizer_of,
    serialized,
)

_KINDS = ("initializer", "regularizer", "constraint")


@export("keras.layers.DepthwiseConv2D")
class DepthwiseConv2D(Conv2D):
    """A convolution of each channel of images by itself.

    Args:
      kernel_size, strides: one number, or one per dimension.
      padding: "valid" or "same".
      depth_multiplier: how many outputs each channel has.
      data_format: "channels_last" or "channels_first".
      activation: a function, or None.
      use_bias: whether there is a bias.
      ..._initializer, ..._regularizer, ..._constraint: of the variables.
    """

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: Any = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        geometry = kernel_size, strides, padding, data_format
        super().__init__(
            None, *geometry, activation=activation, use_bias=use_bias,
            activity_regularizer=activity_regularizer, bias_initializer=bias_initializer,
            bias_regularizer=bias_regularizer, bias_constraint=bias_constraint, **kwargs,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializer_of(depthwise_initializer)
        self.depthwise_regularizer = regularizer_of(depthwise_regularizer)
        self.depthwise_constraint = constraint_of(depthwise_constraint)

    @property
    def _channel_axis(self) -> int:
        return 1 if self._channels_first else 3

    def build(self, input_shape: Any) -> None:
        """Make `depthwise_kernel` [height, width, channels, multiplier] and `bias`."""
        shape = TensorShape(input_shape)
        if len(shape) < 4:
            raise ValueError(
                "Inputs to `DepthwiseConv2D` should have rank 4. Received input shape:", str(shape)
            )
        if shape.dims[self._channel_axis].value is None:
            raise ValueError(
                "The channel dimension of the inputs to `DepthwiseConv2D` should be defined. Found "
                "`None`."
            )
        channels = self._take_channels(shape)
        self.depthwise_kernel = self._add_kernel(
            (*self.kernel_size, channels, self.depth_multiplier), "depthwise_kernel"
        )
        self.bias = None
        if self.use_bias:
            self.bias = self._add_kernel((channels * self.depth_multiplier,), "bias")
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        """Return the convolution."""
        if self._channels_first:  # as the CPU has no kernels for that
            inputs = tf.transpose(inputs, (0, 2, 3, 1))
        outputs = tf.nn.depthwise_conv2d(
            inputs, self.depthwise_kernel, strides=(1, *self.strides, 1),
            padding=self.padding.upper(), rate=self.dilation_rate, data_format="NHWC",
        )  # fmt: skip
        if self._channels_first:
            outputs = tf.transpose(outputs, (0, 3, 1, 2))
        if self.use_bias:
            outputs = bias_add(outputs, self.bias, data_format=self.data_format)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the input's shape with the lengths of the outputs and their channels."""
        sizes: list[Any] = TensorShape(input_shape).as_list()
        channels = sizes[self._channel_axis] * self.depth_multiplier
        first = 2 if self._channels_first else 1
        space = [
            utils.conv_output_length(
                sizes[first + i], self.kernel_size[i], self.padding, self.strides[i]
            )
            for i in range(2)
        ]
        if self._channels_first:
            return TensorShape([sizes[0], channels, *space])
        return TensorShape([sizes[0], *space, channels])

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        config = super().get_config()
        for name in ("filters", *(f"kernel_{kind}" for kind in _KINDS)):
            del config[name]
        for kind in _KINDS:
            name = f"depthwise_{kind}"
            config[name] = serialized(f"{kind}s", getattr(self, name))
        return {**config, "depth_multiplier": self.depth_multiplier}
