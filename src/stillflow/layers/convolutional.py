"""`tf.layers`: convolutions."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.keras.layers import convolutional as keras_layers
from stillflow.layers import base
from stillflow.layers.functional import arguments, call_layer
from stillflow.util.deprecation import deprecated
from stillflow.variables.initializers import Zeros


@export("layers.Conv1D")
class Conv1D(keras_layers.Conv1D, base.Layer):
    """A convolution of sequences as a layer; arguments are those of `tf.layers.conv1d`."""

    def __init__(
        self,
        filters: Any,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = Zeros(),  # noqa: B008 - it has no state
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**arguments(locals()))


@export("layers.conv1d")
@deprecated(None, "Use `tf.keras.layers.Conv1D` instead.")
def conv1d(
    inputs: Any,
    filters: Any,
    kernel_size: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: Any = 1,
    activation: Any = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = Zeros(),  # noqa: B008 - it has no state
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: Any = None,
    reuse: Any = None,
) -> Any:
    """Return a convolution of sequences: `activation(convolution(inputs, kernel) + bias)`.

    Args:
      inputs: [batch, steps, channels],
        or [batch, channels, steps] under "channels_first".
      filters: the number of output channels.
      kernel_size: one number, or one per dimension.
      strides, dilation_rate: one number, or one per dimension; not both above 1.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
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
    return call_layer(Conv1D, locals())


@export("layers.Conv2D")
class Conv2D(keras_layers.Conv2D, base.Layer):
    """A convolution of images as a layer; arguments are those of `tf.layers.conv2d`."""

    def __init__(
        self,
        filters: Any,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = (1, 1),
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = Zeros(),  # noqa: B008 - it has no state
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**arguments(locals()))


@export("layers.conv2d")
@deprecated(None, "Use `tf.keras.layers.Conv2D` instead.")
def conv2d(
    inputs: Any,
    filters: Any,
    kernel_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: Any = (1, 1),
    activation: Any = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = Zeros(),  # noqa: B008 - it has no state
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: Any = None,
    reuse: Any = None,
) -> Any:
    """Return a convolution of images: `activation(convolution(inputs, kernel) + bias)`.

    Args:
      inputs: [batch, height, width, channels],
        or [batch, channels, height, width] under "channels_first".
      filters: the number of output channels.
      kernel_size: one number, or one per dimension.
      strides, dilation_rate: one number, or one per dimension; not both above 1.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
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
    return call_layer(Conv2D, locals())


@export("layers.Conv3D")
class Conv3D(keras_layers.Conv3D, base.Layer):
    """A convolution of volumes as a layer; arguments are those of `tf.layers.conv3d`."""

    def __init__(
        self,
        filters: Any,
        kernel_size: Any,
        strides: Any = (1, 1, 1),
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = (1, 1, 1),
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = Zeros(),  # noqa: B008 - it has no state
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**arguments(locals()))


@export("layers.conv3d")
@deprecated(None, "Use `tf.keras.layers.Conv3D` instead.")
def conv3d(
    inputs: Any,
    filters: Any,
    kernel_size: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: Any = (1, 1, 1),
    activation: Any = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = Zeros(),  # noqa: B008 - it has no state
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: Any = None,
    reuse: Any = None,
) -> Any:
    """Return a convolution of volumes: `activation(convolution(inputs, kernel) + bias)`.

    Args:
      inputs: [batch, depth, height, width, channels],
        or [batch, channels, depth, height, width] under "channels_first".
      filters: the number of output channels.
      kernel_size: one number, or one per dimension.
      strides, dilation_rate: one number, or one per dimension; not both above 1.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
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
    return call_layer(Conv3D, locals())


# Their names before TensorFlow 1.0.
Convolution1D = Conv1D
Convolution2D = Conv2D
Convolution3D = Conv3D
convolution1d = conv1d
convolution2d = conv2d
convolution3d = conv3d
