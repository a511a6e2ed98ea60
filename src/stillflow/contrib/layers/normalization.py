"""Normalization of every example by itself: by layer, by image and channel, by group, by length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import add_arg_scope
from stillflow.contrib.layers.formats import NCHW, NHWC, assert_images
from stillflow.contrib.layers.variables import ModelVariables, finished
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.variables.initializers import Ones, Zeros


def _variables(inputs: Any, given: dict[str, Any]) -> ModelVariables:
    return ModelVariables(
        inputs.dtype.base_dtype, given["variables_collections"], given["trainable"],
        given.get("param_initializers"),
    )  # fmt: skip


def _affine(inputs: Any, shape: Any, given: dict[str, Any], beside: Any = None) -> list[Any]:
    """Return the variables `beta` and `gamma`, reshaped to broadcast with the inputs, or None."""
    variables = _variables(inputs, given)
    wanted = (("beta", Zeros(), given["center"]), ("gamma", Ones(), given["scale"]))
    made = []
    for name, initializer, needed in wanted:
        variable = variables.make(name, shape, initializer) if needed else None
        made.append(tf.reshape(variable, beside) if needed and beside else variable)
    return made


@export("contrib.layers.layer_norm", "contrib.slim.layer_norm")
@add_arg_scope
def layer_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    activation_fn: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: Any = None,
) -> Tensor:
    """Normalize every example by the mean and variance of its own values (Ba, 2016).

    Args:
      inputs: [batch, ...].
      center, scale: whether `beta` is added and `gamma` multiplied with.
      activation_fn: applied to the outputs.
      reuse: whether to use the variables of a layer of this scope.
      variables_collections: collections of the variables, or {name: its collections}.
      outputs_collections: collections of the outputs.
      trainable: whether the variables are trained.
      begin_norm_axis: the first of the axes that are normalized together.
      begin_params_axis: the first of the axes that `beta` and `gamma` have.
      scope: the variable scope; made unique if it is not given.

    Raises:
      ValueError: if the rank, or a size that the variables need, is not known.

    Example:
      >>> y = tf.contrib.layers.layer_norm(tf.constant([[1.0, 3.0]]), scope="norm")
      >>> y.shape.as_list(), [v.name for v in tf.trainable_variables()]
      ([1, 2], ['norm/beta:0', 'norm/gamma:0'])
    """
    given = dict(locals())
    with tf.variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        shape = inputs.shape
        rank = shape.ndims
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        if begin_norm_axis < 0:
            begin_norm_axis = rank + begin_norm_axis
        if begin_params_axis >= rank or begin_norm_axis >= rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({begin_norm_axis}) "
                f"must be < rank(inputs) ({rank})"
            )
        params_shape = shape[begin_params_axis:]
        if not params_shape.is_fully_defined():
            raise ValueError(
                f"Inputs {inputs.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: "
                f"{shape}"
            )
        beta, gamma = _affine(inputs, params_shape, given)
        mean, variance = tf.nn.moments(inputs, list(range(begin_norm_axis, rank)), keep_dims=True)
        outputs = tf.nn.batch_normalization(
            inputs, mean, variance, offset=beta, scale=gamma,
            variance_epsilon=1e-3 if inputs.dtype.base_dtype == tf.float16 else 1e-12,
        )  # fmt: skip
        outputs.set_shape(shape)
        return finished(outputs, sc.name, outputs_collections, activation_fn)


@export("contrib.layers.instance_norm", "contrib.slim.instance_norm")
@add_arg_scope
def instance_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Any = None,
    param_initializers: dict[str, Any] | None = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = NHWC,
    scope: Any = None,
) -> Tensor:
    """Normalize every channel of every example by itself (Ulyanov, 2016).

    Args:
      epsilon: added to variances.
      param_initializers: {name of a variable: its initializer}.
      data_format: "NHWC" for channels in the last axis, "NCHW" for the second.
      inputs, center, ...: as of `layer_norm`.

    Raises:
      ValueError: if the rank or the number of channels is not known.
      IndexError: if there are not both examples and channels.
    """
    given = dict(locals())
    inputs = tf.convert_to_tensor(inputs)
    shape = inputs.shape
    if shape.ndims is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    assert_images(data_format)
    if shape.ndims < 2 and data_format == NHWC:
        raise IndexError("list assignment index out of range")  # there is no axis of channels
    with tf.variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse) as sc:
        first = data_format == NCHW
        channels_axis = 1 if first else shape.ndims - 1
        axes = [axis for axis in range(1, shape.ndims) if axis != channels_axis]
        channels = shape[channels_axis : channels_axis + 1]
        if not channels.is_fully_defined():
            raise ValueError(f"Inputs {inputs.name} has undefined channels dimension {channels}.")
        beside = [1, shape.dims[1].value] + [1] * (shape.ndims - 2) if first else None
        beta, gamma = _affine(inputs, channels, given, beside)
        mean, variance = tf.nn.moments(inputs, axes, keep_dims=True)
        outputs = tf.nn.batch_normalization(
            inputs, mean, variance, beta, gamma, epsilon, name="instancenorm"
        )
        return finished(outputs, sc.name, outputs_collections, activation_fn)


def _checked_axes(inputs: Any, groups: int, channels_axis: int, axes: Sequence[int]) -> list[int]:
    """Return the axes to reduce, counted from the first; raise an error for invalid ones."""
    shape = inputs.shape
    channels = shape.dims[channels_axis].value
    if channels is None:
        raise ValueError(f"Inputs {inputs.name} has undefined channel dimension: {channels_axis}.")
    counted = [axis + shape.ndims if axis < 0 else axis for axis in axes]
    for axis in counted:
        if axis > shape.ndims:
            raise ValueError("Axis is out of bounds.")
        if shape.dims[axis].value is None:
            raise ValueError(f"Inputs {inputs.name} has undefined dimensions {axis}.")
        if channels_axis == axis:
            raise ValueError("reduction_axis must be mutually exclusive with channels_axis")
    if groups > channels:
        raise ValueError(f"Invalid groups {groups} for {channels} channels.")
    if channels % groups != 0:
        raise ValueError(f"{channels} channels is not commensurate with {groups} groups.")
    return counted


def _group_moments(inputs: Any, axes: list[int], close_to_zero: bool) -> tuple[Any, Any]:
    if not close_to_zero:
        return tf.nn.moments(inputs, axes, keep_dims=True)
    # No shift by an estimate of the mean.
    *sufficient, _ = tf.nn.sufficient_statistics(inputs, axes, keep_dims=True)
    return tf.nn.normalize_moments(*sufficient, shift=None)


@export("contrib.layers.group_norm", "contrib.slim.group_norm")
@add_arg_scope
def group_norm(
    inputs: Any,
    groups: int = 32,
    channels_axis: int = -1,
    reduction_axes: Sequence[int] = (-3, -2),
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Any = None,
    param_initializers: dict[str, Any] | None = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    mean_close_to_zero: bool = False,
) -> Tensor:
    """Normalize groups of channels of every example (Wu and He, 2018).

    Args:
      groups: the number of groups.
      channels_axis: the axis of the channels.
      reduction_axes: the axes that are normalized together.
      mean_close_to_zero: whether sums of squares will do for variances.
      inputs, center, ...: as of `instance_norm`.

    Raises:
      ValueError: if the rank or a size is not known, or groups do not divide the channels.
    """
    given = dict(locals())
    inputs = tf.convert_to_tensor(inputs)
    rank = inputs.shape.ndims
    if rank is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    if channels_axis > rank - 1:
        raise ValueError("Axis is out of bounds.")
    sizes = tf.shape(inputs)
    dims = [sizes[i] if dim.value is None else dim for i, dim in enumerate(inputs.shape)]
    channels_axis = rank + channels_axis if channels_axis < 0 else channels_axis
    axes = _checked_axes(inputs, groups, channels_axis, reduction_axes)
    before, channels, after = dims[:channels_axis], dims[channels_axis], dims[channels_axis + 1 :]
    grouped = [groups, int(channels) // groups]
    inputs = tf.reshape(inputs, [*before, *grouped, *after])
    axes = [channels_axis + 1, *(axis + 1 if axis > channels_axis else axis for axis in axes)]
    with tf.variable_scope(scope, "GroupNorm", [inputs], reuse=reuse) as sc:
        beside = [1] * len(before) + grouped + [1] * len(after)
        beta, gamma = _affine(inputs, [int(channels)], given, beside)
        mean, variance = _group_moments(inputs, axes, mean_close_to_zero)
        gain = tf.rsqrt(variance + epsilon)
        offset = -mean * gain
        if gamma is not None:
            gain *= gamma
            offset *= gamma
        if beta is not None:
            offset += beta
        outputs = tf.reshape(inputs * gain + offset, dims)
        return finished(outputs, sc.name, outputs_collections, activation_fn)


@export("contrib.layers.unit_norm", "contrib.slim.unit_norm")
@add_arg_scope
def unit_norm(inputs: Any, dim: int, epsilon: float = 1e-7, scope: Any = None) -> Tensor:
    """Scales to length 1 along an axis.

    Args:
      inputs: a tensor of floats.
      dim: the axis.
      epsilon: added to squared lengths.
      scope: a variable scope.

    Raises:
      ValueError: if the rank is not known, or there is no such axis.
    """
    with tf.variable_scope(scope, "UnitNorm", [inputs]):
        if not inputs.get_shape():
            raise ValueError("The input rank must be known.")
        rank = inputs.get_shape().ndims
        if dim < 0 or dim >= rank:
            raise ValueError("dim must be positive but smaller than the input rank.")
        lengths = tf.sqrt(epsilon + tf.reduce_sum(tf.square(inputs), dim, True))
        multiples = [tf.ones([dim], tf.int32)] if dim > 0 else []
        multiples.append(tf.strided_slice(tf.shape(inputs), [dim], [dim + 1]))
        if dim < rank - 1:
            multiples.append(tf.ones([rank - 1 - dim], tf.int32))
        return tf.div(inputs, tf.tile(lengths, tf.concat(multiples, 0)))


def poincare_normalize(
    x: Any, axis: Any = 1, epsilon: float = 1e-5, name: str | None = None
) -> tf.Tensor:
    """Cut vectors down to a length of `1 - epsilon`, into the ball of Poincare embeddings.

    They lie along `axis`, a number or several.
    """
    with tf.name_scope(name, "poincare_normalize", [x]) as name:
        x = tf.convert_to_tensor(x, name="x")
        inverse = tf.rsqrt(tf.reduce_sum(tf.square(x), axis, keepdims=True))
        inverse = tf.minimum((1.0 - epsilon) * inverse, 1.0)
        return tf.multiply(x, inverse, name=name)
