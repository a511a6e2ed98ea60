"""Batch normalization by the fused op."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.contrib.layers.formats import NHWC, assert_images
from stillflow.contrib.layers.moving_moments import Updates, moving_moments
from stillflow.contrib.layers.utils import constant_value, smart_cond
from stillflow.contrib.layers.variables import ModelVariables, finished
from stillflow.graph.operation import Tensor
from stillflow.variables.initializers import Ones, Zeros


def _as_images(inputs: Any, nhwc: bool) -> Tensor:
    """Images of one pixel, where the inputs are rows."""
    shape = inputs.get_shape()
    if shape.ndims is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank")
    if shape.ndims not in (2, 4):
        raise ValueError(
            f"Inputs {inputs.name} has unsupported rank. Expected 2 or 4 but got {shape.ndims}"
        )
    if shape.ndims == 4:
        return inputs
    channels = shape.dims[-1].value
    if channels is None:
        raise ValueError("`C` dimension must be known but is None")
    return tf.reshape(inputs, [-1, 1, 1, channels] if nhwc else [-1, channels, 1, 1])


def _affine(variables: ModelVariables, shape: Any, given: dict[str, Any]) -> tuple[Any, Any]:
    """Return offset and scale: variables, or constants without effect."""
    if given["center"]:
        beta = variables.make("beta", shape, Zeros())
    else:
        beta = tf.constant(0.0, dtype=tf.float32, shape=shape)
    if given["scale"]:
        gamma = variables.make("gamma", shape, Ones())
    else:
        gamma = tf.constant(1.0, dtype=tf.float32, shape=shape)
    return beta, gamma


def _normalized(
    inputs: Any, affine: tuple[Any, Any], moving: tuple[Any, Any], given: dict[str, Any]
) -> Any:
    beta, gamma = affine
    options = {"epsilon": given["epsilon"], "data_format": given["data_format"]}

    def training() -> Any:
        return tf.nn.fused_batch_norm(inputs, gamma, beta, **options)

    def inference() -> tuple[Tensor, Tensor, Tensor]:
        return tf.nn.fused_batch_norm(
            inputs, gamma, beta, mean=moving[0], variance=moving[1], is_training=False, **options
        )

    return smart_cond(given["is_training"], training, inference)


def fused_batch_norm(inputs: Any, given: dict[str, Any]) -> Tensor:
    """`batch_norm` of rows or images, given its arguments."""
    data_format = given["data_format"]
    assert_images(data_format)
    with tf.variable_scope(given["scope"], "BatchNorm", [inputs], reuse=given["reuse"]) as sc:
        original = inputs
        inputs = _as_images(inputs, data_format == NHWC)
        shape = inputs.get_shape()
        channels = shape[-1:] if data_format == NHWC else shape[1:2]
        if not channels.is_fully_defined():
            raise ValueError(f"Inputs {inputs.name} has undefined `C` dimension {channels}.")
        regularizers = given["param_regularizers"] or {}
        variables = ModelVariables(
            tf.float32, given["variables_collections"], given["trainable"],
            given["param_initializers"],
            {name: regularizers.get(name) for name in ("beta", "gamma")},
        )  # fmt: skip
        affine = _affine(variables, channels, given)
        moving = moving_moments(variables, channels)
        outputs, mean, variance = _normalized(inputs, affine, moving, given)
        training = constant_value(given["is_training"])
        if training is None or training:
            updates, result = Updates(moving, (mean, variance), given), outputs
            if given["updates_collections"] is None:
                outputs = updates.before(result, lambda: result)
            else:
                updates.collect()
        outputs.set_shape(shape)
        if original.get_shape().ndims == 2:
            outputs = tf.reshape(outputs, tf.shape(original))
        return finished(outputs, sc.name, given["outputs_collections"], given["activation_fn"])
