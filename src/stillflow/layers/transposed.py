"""`tf.layers`: transposed convolutions."""

from __future__ import annotations

from stillflow.graph.export import export
from stillflow.keras.layers import transposed
from stillflow.layers import base
from stillflow.layers.functional import layer_function, scoped_constructor


@export("layers.Conv2DTranspose")
class Conv2DTranspose(transposed.Conv2DTranspose, base.Layer):
    """A transposed convolution of images as a layer.

    Arguments are those of `tf.layers.conv2d_transpose`.
    """

    __init__ = scoped_constructor(
        transposed.Conv2DTranspose.__init__, "output_padding", "dilation_rate"
    )


conv2d_transpose = export("layers.conv2d_transpose")(
    layer_function(
        Conv2DTranspose,
        "Return a transposed convolution of images, with a bias and an activation.",
    )
)


@export("layers.Conv3DTranspose")
class Conv3DTranspose(transposed.Conv3DTranspose, base.Layer):
    """A transposed convolution of volumes as a layer.

    Arguments are those of `tf.layers.conv3d_transpose`.
    """

    __init__ = scoped_constructor(transposed.Conv3DTranspose.__init__, "output_padding")


conv3d_transpose = export("layers.conv3d_transpose")(
    layer_function(
        Conv3DTranspose,
        "Return a transposed convolution of volumes, with a bias and an activation.",
    )
)


# Their names before TensorFlow 1.0.
Convolution2DTranspose = Deconvolution2D = Deconv2D = Conv2DTranspose
Convolution3DTranspose = Deconvolution3D = Deconv3D = Conv3DTranspose
convolution2d_transpose = deconvolution2d = deconv2d = conv2d_transpose
convolution3d_transpose = deconvolution3d = deconv3d = conv3d_transpose
