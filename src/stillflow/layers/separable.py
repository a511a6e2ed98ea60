"""`tf.layers`: separable convolutions."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.keras.layers import separable as keras_layers
from stillflow.layers import base
from stillflow.layers.functional import arguments, call_layer
from stillflow.util.deprecation import deprecated
from stillflow.variables.initializers import Zeros


@export("layers.SeparableConv1D")
class SeparableConv1D(keras_layers.SeparableConv1D, base.Layer):
    """A separable convolution of sequences as a layer.

    Arguments are those of `tf.layers.separable_conv1d`.
    """

    def __init__(
        self,
        filters: Any,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: Any = Zeros(),  # noqa: B008 - it has no state
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**arguments(locals()))


@export("layers.separable_conv1d")
@deprecated(None, "Use `tf.keras.layers.SeparableConv1D` instead.")
def separable_conv1d(
    inputs: Any,
    filters: Any,
    kernel_size: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: Any = 1,
    depth_multiplier: int = 1,
    activation: Any = None,
    use_bias: bool = True,
    depthwise_initializer: Any = None,
    pointwise_initializer: Any = None,
    bias_initializer: Any = Zeros(),  # noqa: B008 - it has no state
    depthwise_regularizer: Any = None,
    pointwise_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    depthwise_constraint: Any = None,
    pointwise_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: Any = None,
    reuse: Any = None,
) -> Any:
    """Return a convolution of sequences by channel, then across channels, with bias and activation.

    Args:
      inputs: [batch, steps, channels],
        or [batch, channels, steps] under "channels_first".
      filters: the number of output channels.
      kernel_size: one number, or one per dimension.
      strides, dilation_rate: one number, or one per dimension; not both above 1.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      depth_multiplier: how many channels the depthwise step makes of each.
      activation: a function, or None.
      use_bias: whether there is a bias.
      ..._initializer: give the first values; those of the variable scope for None.
      ..._regularizer: give losses, which are added to the collection REGULARIZATION_LOSSES.
      ..._constraint: what optimizers project with.
      trainable: whether the variables are trained.
      name: of the variable scope; made unique if it is not given.
      reuse: whether to use the variables of a layer of that name.

    Returns:
      A tensor of the same rank.

    Raises:
      ValueError: if the number of channels is unknown.
    """
    return call_layer(SeparableConv1D, locals())


@export("layers.SeparableConv2D")
class SeparableConv2D(keras_layers.SeparableConv2D, base.Layer):
    """A separable convolution of images as a layer.

    Arguments are those of `tf.layers.separable_conv2d`.
    """

    def __init__(
        self,
        filters: Any,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = (1, 1),
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: Any = Zeros(),  # noqa: B008 - it has no state
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**arguments(locals()))


@export("layers.separable_conv2d")
@deprecated(None, "Use `tf.keras.layers.SeparableConv2D` instead.")
def separable_conv2d(
    inputs: Any,
    filters: Any,
    kernel_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: Any = (1, 1),
    depth_multiplier: int = 1,
    activation: Any = None,
    use_bias: bool = True,
    depthwise_initializer: Any = None,
    pointwise_initializer: Any = None,
    bias_initializer: Any = Zeros(),  # noqa: B008 - it has no state
    depthwise_regularizer: Any = None,
    pointwise_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    depthwise_constraint: Any = None,
    pointwise_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: Any = None,
    reuse: Any = None,
) -> Any:
    """Return a convolution of images by channel, then across channels, with bias and activation.

    Args:
      inputs: [batch, height, width, channels],
        or [batch, channels, height, width] under "channels_first".
      filters: the number of output channels.
      kernel_size: one number, or one per dimension.
      strides, dilation_rate: one number, or one per dimension; not both above 1.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      depth_multiplier: how many channels the depthwise step makes of each.
      activation: a function, or None.
      use_bias: whether there is a bias.
      ..._initializer: give the first values; those of the variable scope for None.
      ..._regularizer: give losses, which are added to the collection REGULARIZATION_LOSSES.
      ..._constraint: what optimizers project with.
      trainable: whether the variables are trained.
      name: of the variable scope; made unique if it is not given.
      reuse: whether to use the variables of a layer of that name.

    Returns:
      A tensor of the same rank.

    Raises:
      ValueError: if the number of channels is unknown.
    """
    return call_layer(SeparableConv2D, locals())


# Their names before TensorFlow 1.0.
SeparableConvolution2D = SeparableConv2D
separable_convolution2d = separable_conv2d
