"""`tf.layers`: separable convolutions."""

from __future__ import annotations

from stillflow.graph.export import export
from stillflow.keras.layers import separable
from stillflow.layers import base
from stillflow.layers.functional import layer_function, scoped_constructor


@export("layers.SeparableConv1D")
class SeparableConv1D(separable.SeparableConv1D, base.Layer):
    """A separable convolution of sequences as a layer.

    Arguments are those of `tf.layers.separable_conv1d`.
    """

    __init__ = scoped_constructor(separable.SeparableConv1D.__init__)


separable_conv1d = export("layers.separable_conv1d")(
    layer_function(
        SeparableConv1D,
        "Return a convolution of sequences by channel, then across channels.",
    )
)


@export("layers.SeparableConv2D")
class SeparableConv2D(separable.SeparableConv2D, base.Layer):
    """A separable convolution of images as a layer.

    Arguments are those of `tf.layers.separable_conv2d`.
    """

    __init__ = scoped_constructor(separable.SeparableConv2D.__init__)


separable_conv2d = export("layers.separable_conv2d")(
    layer_function(
        SeparableConv2D,
        "Return a convolution of images by channel, then across channels.",
    )
)


# Their names before TensorFlow 1.0.
SeparableConvolution2D = SeparableConv2D
separable_convolution2d = separable_conv2d
