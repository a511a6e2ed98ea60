"""Convolutions, and those that spread out instead."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import add_arg_scope
from stillflow.contrib.layers.formats import (
    NDHWC,
    NHWC,
    assert_images,
    assert_volumes,
    keras_format,
)
from stillflow.contrib.layers.initializers import xavier_initializer
from stillflow.contrib.layers.variables import WEIGHTS_AND_BIASES, outputs_of, variable_getter
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.layers import convolutional, transposed
from stillflow.layers.signatures import with_fixed
from stillflow.variables.initializers import Zeros

_BY_RANK = {3: convolutional.Conv1D, 4: convolutional.Conv2D, 5: convolutional.Conv3D}
_FORMATS = [None, "NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW"]


def _convolved(kind: Any, sc: Any, inputs: Any, given: dict[str, Any], **options: Any) -> Tensor:
    """Return the outputs of a layer of `tf.layers` for arguments of a function below."""
    return outputs_of(
        kind, sc, inputs, given, filters=given["num_outputs"], kernel_size=given["kernel_size"],
        strides=given["stride"], padding=given["padding"],
        data_format=keras_format(given["data_format"]), **options,
    )  # fmt: skip


def _kind(inputs: Any, conv_dims: int | None) -> type[Any]:
    rank = inputs.get_shape().ndims
    if conv_dims is not None and conv_dims + 2 != rank:
        raise ValueError(f"Convolution expects input with rank {conv_dims + 2}, got {rank}")
    if rank not in _BY_RANK:
        raise ValueError("Convolution not supported for input with rank", rank)
    return _BY_RANK[rank]


@export("contrib.layers.convolution", "contrib.slim.convolution")
@add_arg_scope
def convolution(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
    activation_fn: Any = tf.nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: Any = xavier_initializer(),
    weights_regularizer: Any = None,
    biases_initializer: Any = Zeros(),
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    conv_dims: int | None = None,
) -> Tensor:
    """Return a convolution over one, two or three axes, with variables `weights` and `biases`.

    Args:
      inputs: [batch, ..., channels], or as `data_format` says.
      num_outputs: the number of filters.
      kernel_size, stride, rate: one integer, or one for each axis; stride or rate has to be 1.
      padding: "VALID" or "SAME".
      data_format: "NHWC" or "NCHW", or their like for other ranks.
      activation_fn: applied to the outputs; None for none.
      normalizer_fn: applied before it, instead of biases, such as `batch_norm`.
      normalizer_params: arguments of `normalizer_fn`.
      weights_initializer, weights_regularizer: of the weights.
      biases_initializer, biases_regularizer: of the biases; no initializer for no biases.
      reuse: whether to use the variables of a layer of this scope.
      variables_collections: collections of the variables, or {name: its collections}.
      outputs_collections: collections of the outputs.
      trainable: whether the variables are trained.
      scope: the variable scope; made unique if it is not given.
      conv_dims: the number of axes; by default what the rank says.

    Raises:
      ValueError: for another rank or order of axes.
    """
    given = dict(locals())
    if data_format not in _FORMATS:
        raise ValueError(f"Invalid data_format: {data_format!r}")
    getter = variable_getter(WEIGHTS_AND_BIASES)
    with tf.variable_scope(scope, "Conv", [inputs], reuse=reuse, custom_getter=getter) as sc:
        inputs = tf.convert_to_tensor(inputs)
        return _convolved(_kind(inputs, conv_dims), sc, inputs, given, dilation_rate=rate)


convolution1d = export(
    "contrib.layers.conv1d", "contrib.slim.conv1d",
    "contrib.layers.convolution1d", "contrib.slim.convolution1d",
)(
    add_arg_scope(
        with_fixed(
            convolution, "convolution1d", "`convolution` of inputs of rank 3.", conv_dims=1
        )
    )
)  # fmt: skip


_CONVOLUTION2D = """`convolution` of inputs of rank 4.

    Args:
      inputs: [batch, height, width, channels], or as `data_format` says.
      num_outputs: the number of filters.
      ...: as in `convolution`.

    Returns:
      A tensor of the inputs' type: [batch, height, width, num_outputs], or in that order.

    Raises:
      ValueError: for another rank or order of axes.

    Example:
      >>> y = tf.contrib.slim.conv2d(tf.ones([2, 8, 8, 3]), 16, [3, 3], stride=2, scope="conv")
      >>> y.shape.as_list(), [v.name for v in tf.trainable_variables()]
      ([2, 4, 4, 16], ['conv/weights:0', 'conv/biases:0'])
    """

convolution2d = export(
    "contrib.layers.conv2d", "contrib.slim.conv2d",
    "contrib.layers.convolution2d", "contrib.slim.convolution2d",
)(
    add_arg_scope(
        with_fixed(
            convolution, "convolution2d", _CONVOLUTION2D, conv_dims=2
        )
    )
)  # fmt: skip


convolution3d = export(
    "contrib.layers.conv3d", "contrib.slim.conv3d",
    "contrib.layers.convolution3d", "contrib.slim.convolution3d",
)(
    add_arg_scope(
        with_fixed(
            convolution, "convolution3d", "`convolution` of inputs of rank 5.", conv_dims=3
        )
    )
)  # fmt: skip


def _convolution_transpose(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = NHWC,
    activation_fn: Any = tf.nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: Any = xavier_initializer(),
    weights_regularizer: Any = None,
    biases_initializer: Any = Zeros(),
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    conv_dims: int = 2,
) -> Tensor:
    """Return the transpose of a convolution; arguments are those of `convolution`.

    ValueError for another order of axes.
    """
    given = dict(locals())
    getter = variable_getter(WEIGHTS_AND_BIASES)
    name = f"Conv{conv_dims}d_transpose"
    with tf.variable_scope(scope, name, [inputs], reuse=reuse, custom_getter=getter) as sc:
        (assert_images if conv_dims == 2 else assert_volumes)(data_format)
        inputs = tf.convert_to_tensor(inputs)
        kind = transposed.Conv2DTranspose if conv_dims == 2 else transposed.Conv3DTranspose
        return _convolved(kind, sc, inputs, given)


convolution2d_transpose = export(
    "contrib.layers.conv2d_transpose", "contrib.slim.conv2d_transpose",
    "contrib.layers.convolution2d_transpose", "contrib.slim.convolution2d_transpose",
)(
    add_arg_scope(
        with_fixed(
            _convolution_transpose, "convolution2d_transpose",
            "Return the transpose of a convolution of images; see `convolution`.", conv_dims=2,
        )
    )
)  # fmt: skip


convolution3d_transpose = export(
    "contrib.layers.conv3d_transpose", "contrib.slim.conv3d_transpose",
    "contrib.layers.convolution3d_transpose", "contrib.slim.convolution3d_transpose",
)(
    add_arg_scope(
        with_fixed(
            _convolution_transpose, "convolution3d_transpose",
            "Return the transpose of a convolution of volumes; see `convolution`.",
            {"data_format": NDHWC}, conv_dims=3,
        )
    )
)  # fmt: skip


conv1d, conv2d, conv3d = convolution1d, convolution2d, convolution3d
conv2d_transpose, conv3d_transpose = convolution2d_transpose, convolution3d_transpose
