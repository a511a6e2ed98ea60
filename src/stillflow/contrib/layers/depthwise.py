"""Convolutions of every channel by itself."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import add_arg_scope
from stillflow.contrib.layers.formats import NHWC, assert_images, keras_format
from stillflow.contrib.layers.initializers import xavier_initializer
from stillflow.contrib.layers.utils import channel_dimension, last_dimension, two_element_tuple
from stillflow.contrib.layers.variables import (
    ModelVariables,
    add_to_collections,
    finished,
    variable_getter,
)
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.layers.separable import SeparableConv2D
from stillflow.variables.initializers import Zeros

_NAMES = {
    "bias": "biases",
    "depthwise_kernel": "depthwise_weights",
    "pointwise_kernel": "pointwise_weights",
}


def _variables(inputs: Any, given: dict[str, Any]) -> ModelVariables:
    return ModelVariables(
        inputs.dtype.base_dtype, given["variables_collections"], given["trainable"]
    )


def _with_biases(outputs: Any, sc: Any, channels: int, variables: Any, given: Any) -> Tensor:
    """Return the outputs with biases, unless they are normalized; activated and collected."""
    if given["normalizer_fn"] is None and given["biases_initializer"] is not None:
        biases = variables.make(
            "biases", [channels], given["biases_initializer"],
            regularizer=given["biases_regularizer"],
        )  # fmt: skip
        options = {"data_format": given["data_format"]} if "data_format" in given else {}
        outputs = tf.nn.bias_add(outputs, biases, **options)
    return _finished(outputs, sc, given)


def _finished(outputs: Any, sc: Any, given: dict[str, Any]) -> Tensor:
    return finished(
        outputs, sc.name, given["outputs_collections"], given["activation_fn"],
        given["normalizer_fn"], given["normalizer_params"],
    )  # fmt: skip


@export(
    "contrib.layers.conv2d_in_plane", "contrib.slim.conv2d_in_plane",
    "contrib.layers.convolution2d_in_plane", "contrib.slim.convolution2d_in_plane",
)  # fmt: skip
@add_arg_scope
def convolution2d_in_plane(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
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
) -> Tensor:
    """Return a convolution of every channel with the same filter; arguments as of `convolution`.

    Args:
      inputs: [batch, height, width, channels].

    Returns:
      A tensor with as many channels.
    """
    given = dict(locals())
    with tf.variable_scope(scope, "ConvInPlane", [inputs], reuse=reuse) as sc:
        variables = _variables(inputs, given)
        stride_h, stride_w = two_element_tuple(stride)
        kernel = two_element_tuple(kernel_size)
        channels = last_dimension(inputs.get_shape(), min_rank=4)
        weights = variables.make(
            "weights", [*kernel, 1, 1], weights_initializer, regularizer=weights_regularizer
        )
        filters = tf.tile(weights, [1, 1, channels, 1])
        outputs = tf.nn.depthwise_conv2d(inputs, filters, [1, stride_h, stride_w, 1], padding)
        return _with_biases(outputs, sc, channels, variables, given)


def _separable(inputs: Any, sc: Any, given: dict[str, Any]) -> Tensor:
    layer = SeparableConv2D(
        filters=given["num_outputs"], kernel_size=given["kernel_size"], strides=given["stride"],
        padding=given["padding"], data_format=keras_format(given["data_format"]),
        dilation_rate=two_element_tuple(given["rate"]), activation=None,
        depth_multiplier=given["depth_multiplier"],
        use_bias=not given["normalizer_fn"] and given["biases_initializer"],
        depthwise_initializer=given["weights_initializer"],
        pointwise_initializer=given["pointwise_initializer"] or given["weights_initializer"],
        bias_initializer=given["biases_initializer"],
        depthwise_regularizer=given["weights_regularizer"],
        pointwise_regularizer=given["weights_regularizer"],
        bias_regularizer=given["biases_regularizer"], activity_regularizer=None,
        trainable=given["trainable"], name=sc.name, dtype=inputs.dtype.base_dtype, _scope=sc,
        _reuse=given["reuse"],
    )  # fmt: skip
    outputs = layer.apply(inputs)
    collections = given["variables_collections"]
    add_to_collections(layer.depthwise_kernel, collections, "weights")
    add_to_collections(layer.pointwise_kernel, collections, "weights")
    if layer.bias is not None:
        add_to_collections(layer.bias, collections, "biases")
    return _finished(outputs, sc, given)


def _depthwise(inputs: Any, sc: Any, given: dict[str, Any]) -> Tensor:
    variables = ModelVariables(
        inputs.dtype.base_dtype,
        # Unlike elsewhere, "weights" are the collections of the variable `depthwise_weights`.
        _renamed(given["variables_collections"]), given["trainable"],
    )  # fmt: skip
    data_format = given["data_format"]
    channels = channel_dimension(inputs.get_shape(), keras_format(data_format), min_rank=4)
    shape = [*two_element_tuple(given["kernel_size"]), channels, given["depth_multiplier"]]
    weights = variables.make(
        "depthwise_weights", shape, given["weights_initializer"],
        regularizer=given["weights_regularizer"],
    )  # fmt: skip
    stride = two_element_tuple(given["stride"])
    outputs = tf.nn.depthwise_conv2d(
        inputs, weights, [1, 1, *stride] if data_format.startswith("NC") else [1, *stride, 1],
        given["padding"], rate=two_element_tuple(given["rate"]), data_format=data_format,
    )  # fmt: skip
    return _with_biases(outputs, sc, given["depth_multiplier"] * channels, variables, given)


def _renamed(collections: Any) -> Any:
    if isinstance(collections, dict):
        return {**collections, "depthwise_weights": collections.get("weights")}
    return collections


@export(
    "contrib.layers.separable_conv2d", "contrib.slim.separable_conv2d",
    "contrib.layers.separable_convolution2d", "contrib.slim.separable_convolution2d",
)  # fmt: skip
@add_arg_scope
def separable_convolution2d(
    inputs: Any,
    num_outputs: int | None,
    kernel_size: Any,
    depth_multiplier: int = 1,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = NHWC,
    rate: Any = 1,
    activation_fn: Any = tf.nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: Any = xavier_initializer(),
    pointwise_initializer: Any = None,
    weights_regularizer: Any = None,
    biases_initializer: Any = Zeros(),
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Tensor:
    """Return a convolution of every channel by itself, then one of size 1 that mixes them.

    Args:
      num_outputs: the number of channels of the outputs; None to leave them unmixed.
      depth_multiplier: how many channels each channel becomes.
      pointwise_initializer: of the mixing filter; by default `weights_initializer`.
      inputs, kernel_size, ...: as of `convolution`.

    Raises:
      ValueError: for another order of axes.
    """
    given = dict(locals())
    assert_images(data_format)
    getter = variable_getter(_NAMES)
    with tf.variable_scope(
        scope, "SeparableConv2d", [inputs], reuse=reuse, custom_getter=getter
    ) as sc:
        inputs = tf.convert_to_tensor(inputs)
        return (_depthwise if num_outputs is None else _separable)(inputs, sc, given)


conv2d_in_plane = convolution2d_in_plane
separable_conv2d = separable_convolution2d
