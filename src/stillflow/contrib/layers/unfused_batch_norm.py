"""Batch normalization by plain arithmetic, which takes weights and any rank."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.contrib.layers.formats import NCHW
from stillflow.contrib.layers.moving_moments import Updates, moving_moments
from stillflow.contrib.layers.utils import constant_value, smart_cond
from stillflow.contrib.layers.variables import ModelVariables, finished
from stillflow.graph.operation import Tensor
from stillflow.variables.initializers import Ones, Zeros


def _column(batch_weights: Any, shape: Any) -> Tensor:
    """Return the weights of examples with the rank of the inputs."""
    weights = tf.convert_to_tensor(batch_weights)
    shape[0:1].assert_is_compatible_with(weights.get_shape())
    return tf.reshape(weights, [-1] + [1] * (shape.ndims - 1))


def _batch_moments(inputs: Any, weights: Any, channels_first: bool) -> tuple[Any, Any]:
    rank = inputs.get_shape().ndims
    if channels_first:
        axes = [0, *range(2, rank)]
        if weights is None:
            moments = tf.nn.moments(inputs, axes, keep_dims=True)
        else:
            moments = tf.nn.weighted_moments(inputs, axes, weights, keepdims=True)
        return tf.reshape(moments[0], [-1]), tf.reshape(moments[1], [-1])
    axes = list(range(rank - 1))
    mean, variance = (
        tf.nn.moments(inputs, axes) if weights is None
        else tf.nn.weighted_moments(inputs, axes, weights)
    )  # fmt: skip
    return mean, variance


def _moments(
    inputs: Any, weights: Any, moving: tuple[Any, Any], given: dict[str, Any]
) -> tuple[Any, Any]:
    """Return the moments: the batch's, or their moving averages, updated in training."""
    is_training = given["is_training"]
    training = constant_value(is_training)
    if training is not None and not training:
        return moving
    batch = _batch_moments(inputs, weights, given["data_format"] == NCHW)
    updates = Updates(moving, batch, given)
    if given["updates_collections"] is None:
        mean, variance = updates.before(batch, lambda: moving)
    else:
        updates.collect()
        mean, variance = smart_cond(is_training, lambda: batch, lambda: moving)
    return mean, variance


def unfused_batch_norm(inputs: Any, sc: Any, given: dict[str, Any]) -> Tensor:
    """`batch_norm` in the scope `sc`, given its arguments."""
    shape = inputs.get_shape()
    if shape.ndims is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    weights = given["batch_weights"]
    if weights is not None:
        weights = _column(weights, shape)
    channels_first = given["data_format"] == NCHW
    channels = shape[1:2] if channels_first else shape[-1:]
    if not channels.is_fully_defined():
        raise ValueError(f"Inputs {inputs.name} has undefined channels dimension {channels}.")
    variables = ModelVariables(
        inputs.dtype.base_dtype, given["variables_collections"], given["trainable"],
        given["param_initializers"],
    )  # fmt: skip
    beta = variables.make("beta", channels, Zeros()) if given["center"] else None
    gamma = variables.make("gamma", channels, Ones()) if given["scale"] else None
    moving = moving_moments(variables, channels)
    parts = [*_moments(inputs, weights, moving, given), beta, gamma]
    if channels_first:
        beside = [1, shape.dims[1].value] + [1] * (shape.ndims - 2)
        parts = [None if part is None else tf.reshape(part, beside) for part in parts]
    outputs = tf.nn.batch_normalization(inputs, *parts, given["epsilon"])
    outputs.set_shape(shape)
    return finished(outputs, sc.name, given["outputs_collections"], given["activation_fn"])
