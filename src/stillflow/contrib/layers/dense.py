"""Fully connected layers."""

from __future__ import annotations

import functools
from typing import Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import add_arg_scope
from stillflow.contrib.layers.initializers import xavier_initializer
from stillflow.contrib.layers.variables import WEIGHTS_AND_BIASES, outputs_of, variable_getter
from stillflow.graph.export import export, export_value
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.layers.core import Dense
from stillflow.variables.initializers import Zeros


@export("contrib.layers.fully_connected", "contrib.slim.fully_connected")
@add_arg_scope
def fully_connected(
    inputs: Any,
    num_outputs: int,
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
    """Return a fully connected layer, with variables `weights` and `biases`.

    Args:
      inputs: [..., n].
      num_outputs: the number of units.
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

    Returns:
      [..., num_outputs].

    Raises:
      ValueError: if `num_outputs` is no integer; if the size of the last axis is not known.

    Example:
      >>> y = tf.contrib.layers.fully_connected(tf.ones([2, 3]), num_outputs=5, scope="hidden")
      >>> y.name, y.shape.as_list(), [v.name for v in tf.trainable_variables()]
      ('hidden/Relu:0', [2, 5], ['hidden/weights:0', 'hidden/biases:0'])
    """
    given = dict(locals())
    if not isinstance(num_outputs, int):
        raise ValueError(f"num_outputs type should be one of {[int]}, got {type(num_outputs)}.")
    getter = variable_getter(WEIGHTS_AND_BIASES)
    with tf.variable_scope(
        scope, "fully_connected", [inputs], reuse=reuse, custom_getter=getter
    ) as sc:
        inputs = tf.convert_to_tensor(inputs)
        return outputs_of(Dense, sc, inputs, given, units=num_outputs)


def _legacy_variable(name: str, shape: Any, dtype: Any, collections: Any, **options: Any) -> Any:
    everywhere = [*(collections or []), GraphKeys.GLOBAL_VARIABLES]
    return tf.get_variable(
        name, shape=shape, dtype=dtype, collections=list(dict.fromkeys(everywhere)), **options
    )


def _input_units(x: Any) -> int:
    dims = x.get_shape().dims
    if dims is None:
        raise ValueError("dims of x must be known but is None")
    if len(dims) < 2:
        raise ValueError(f"rank of x must be at least 2 not: {len(dims)}")
    units: int | None = dims[-1].value
    if units is None:
        raise ValueError("last dimension of x must be known but is None")
    return units


def _with_last_axis(y: Any, x: Any, units: int) -> Tensor:
    shape = tf.unstack(tf.shape(x))
    shape[-1] = units
    y = tf.reshape(y, tf.stack(shape))
    y.set_shape([*x.get_shape().as_list()[:-1], units])
    return y


@export("contrib.layers.legacy_fully_connected", "contrib.slim.legacy_fully_connected")
def legacy_fully_connected(
    x: Any,
    num_output_units: int,
    activation_fn: Any = None,
    weight_init: Any = xavier_initializer(),
    bias_init: Any = Zeros(),
    name: Any = None,
    weight_collections: Any = (GraphKeys.WEIGHTS,),
    bias_collections: Any = (GraphKeys.BIASES,),
    output_collections: Any = (GraphKeys.ACTIVATIONS,),
    trainable: bool = True,
    weight_regularizer: Any = None,
    bias_regularizer: Any = None,
) -> Tensor:
    """Return a fully connected layer with `weights` and `bias`, all added to collections.

    Args:
      x: [..., n].
      num_output_units: the number of units.
      activation_fn: applied to the outputs; None for none.
      weight_init, bias_init: initializers; None for no bias.
      name: the variable scope.
      weight_collections, bias_collections, output_collections: collections.
      trainable: whether the variables are trained.
      weight_regularizer, bias_regularizer: regularizers.

    Returns:
      [..., num_output_units].

    Raises:
      ValueError: if the rank is less than 2; if the size of the last axis is not known.
    """
    with tf.variable_scope(name, "fully_connected", [x]):
        x = tf.convert_to_tensor(x)
        inputs = _input_units(x)
        rank, dtype = x.get_shape().ndims, x.dtype.base_dtype
        weights = _legacy_variable(
            "weights", [inputs, num_output_units], dtype, weight_collections,
            initializer=weight_init, regularizer=weight_regularizer, trainable=trainable,
        )  # fmt: skip
        y = tf.matmul(x if rank <= 2 else tf.reshape(x, [-1, inputs]), weights)
        if bias_init is not None:
            bias = _legacy_variable(
                "bias", [num_output_units], dtype, bias_collections, initializer=bias_init,
                regularizer=bias_regularizer, trainable=trainable,
            )  # fmt: skip
            y = tf.nn.bias_add(y, bias)
        if rank > 2:
            y = _with_last_axis(y, x, num_output_units)
        if activation_fn is not None:
            y = activation_fn(y)
        tf.add_to_collections([*(output_collections or []), GraphKeys.ACTIVATIONS], y)
        return y


elu = functools.partial(fully_connected, activation_fn=tf.nn.elu)
legacy_linear = functools.partial(legacy_fully_connected, activation_fn=None)
legacy_relu = functools.partial(legacy_fully_connected, activation_fn=tf.nn.relu)
linear = functools.partial(fully_connected, activation_fn=None)
relu = functools.partial(fully_connected, activation_fn=tf.nn.relu)
relu6 = functools.partial(fully_connected, activation_fn=tf.nn.relu6)

export_value("contrib.layers.elu", "contrib.slim.elu", elu)
export_value("contrib.layers.legacy_linear", "contrib.slim.legacy_linear", legacy_linear)
export_value("contrib.layers.legacy_relu", "contrib.slim.legacy_relu", legacy_relu)
export_value("contrib.layers.linear", "contrib.slim.linear", linear)
export_value("contrib.layers.relu", "contrib.slim.relu", relu)
export_value("contrib.layers.relu6", "contrib.slim.relu6", relu6)
