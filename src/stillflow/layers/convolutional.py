"""`tf.layers`: convolutions."""

from __future__ import annotations

from stillflow.graph.export import export
from stillflow.keras.layers import convolutional
from stillflow.layers import base
from stillflow.layers.functional import layer_function, scoped_constructor


@export("layers.Conv1D")
class Conv1D(convolutional.Conv1D, base.Layer):
    """A convolution of sequences as a layer; arguments are those of `tf.layers.conv1d`."""

    __init__ = scoped_constructor(convolutional.Conv1D.__init__)


conv1d = export("layers.conv1d")(
    layer_function(
        Conv1D,
        "Return a convolution of sequences: `activation(convolution(inputs, kernel) + bias)`.",
    )
)


@export("layers.Conv2D")
class Conv2D(convolutional.Conv2D, base.Layer):
    """A convolution of images as a layer; arguments are those of `tf.layers.conv2d`."""

    __init__ = scoped_constructor(convolutional.Conv2D.__init__)


conv2d = export("layers.conv2d")(
    layer_function(
        Conv2D,
        "Return a convolution of images: `activation(convolution(inputs, kernel) + bias)`.",
        example="""
        >>> y = tf.layers.conv2d(tf.ones([2, 8, 8, 3]), filters=16, kernel_size=3, strides=2)
        >>> y.shape.as_list(), [(v.name, v.shape.as_list()) for v in tf.trainable_variables()]
        ([2, 3, 3, 16], [('conv2d/kernel:0', [3, 3, 3, 16]), ('conv2d/bias:0', [16])])
        """,
    )
)


@export("layers.Conv3D")
class Conv3D(convolutional.Conv3D, base.Layer):
    """A convolution of volumes as a layer; arguments are those of `tf.layers.conv3d`."""

    __init__ = scoped_constructor(convolutional.Conv3D.__init__)


conv3d = export("layers.conv3d")(
    layer_function(
        Conv3D,
        "Return a convolution of volumes: `activation(convolution(inputs, kernel) + bias)`.",
    )
)


# Their names before TensorFlow 1.0.
Convolution1D = Conv1D
Convolution2D = Conv2D
Convolution3D = Conv3D
convolution1d = conv1d
convolution2d = conv2d
convolution3d = conv3d
