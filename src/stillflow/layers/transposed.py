"""`tf.layers`: transposed convolutions."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.keras.layers import transposed as keras_layers
from stillflow.layers import base
from stillflow.layers.functional import arguments, call_layer
from stillflow.util.deprecation import deprecated
from stillflow.variables.initializers import Zeros


@export("layers.Conv2DTranspose")
class Conv2DTranspose(keras_layers.Conv2DTranspose, base.Layer):
    """A transposed convolution of images as a layer.

    Arguments are those of `tf.layers.conv2d_transpose`.
    """

    def __init__(
        self,
        filters: Any,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str = "channels_last",
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


@export("layers.conv2d_transpose")
@deprecated(None, "Use `tf.keras.layers.Conv2DTranspose` instead.")
def conv2d_transpose(
    inputs: Any,
    filters: Any,
    kernel_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
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
    """Return a transposed convolution of images: `activation(convolution(inputs, kernel) + bias)`.

    Args:
      inputs: [batch, height, width, channels],
        or [batch, channels, height, width] under "channels_first".
      filters: the number of output channels.
      kernel_size: one number, or one per dimension.
      strides: one number, or one per dimension.
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
    return call_layer(Conv2DTranspose, locals())


@export("layers.Conv3DTranspose")
class Conv3DTranspose(keras_layers.Conv3DTranspose, base.Layer):
    """A transposed convolution of volumes as a layer.

    Arguments are those of `tf.layers.conv3d_transpose`.
    """

    def __init__(
        self,
        filters: Any,
        kernel_size: Any,
        strides: Any = (1, 1, 1),
        padding: str = "valid",
        data_format: str = "channels_last",
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


@export("layers.conv3d_transpose")
@deprecated(None, "Use `tf.keras.layers.Conv3DTranspose` instead.")
def conv3d_transpose(
    inputs: Any,
    filters: Any,
    kernel_size: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
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
    """Return a transposed convolution of volumes: `activation(convolution(inputs, kernel) + bias)`.

    Args:
      inputs: [batch, depth, height, width, channels],
        or [batch, channels, depth, height, width] under "channels_first".
      filters: the number of output channels.
      kernel_size: one number, or one per dimension.
      strides: one number, or one per dimension.
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
    return call_layer(Conv3DTranspose, locals())


# Their names before TensorFlow 1.0.
Convolution2DTranspose = Deconvolution2D = Deconv2D = Conv2DTranspose
Convolution3DTranspose = Deconvolution3D = Deconv3D = Conv3DTranspose
convolution2d_transpose = deconvolution2d = deconv2d = conv2d_transpose
convolution3d_transpose = deconvolution3d = deconv3d = conv3d_transpose
