"""Functions that make layers whose weights have masks."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import add_arg_scope
from stillflow.contrib.layers.initializers import xavier_initializer
from stillflow.contrib.layers.variables import WEIGHTS_AND_BIASES, outputs_of, variable_getter
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.variables.initializers import Zeros
from stillflow_contrib.model_pruning.core_layers import MaskedConv2D, MaskedFullyConnected

_FORMATS = [None, "NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW"]
_KERAS_FORMATS = {None: "channels_last", "NHWC": "channels_last", "NCHW": "channels_first"}


@export("contrib.model_pruning.masked_convolution", "contrib.model_pruning.masked_conv2d")
@add_arg_scope
def masked_convolution(
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
) -> Tensor:
    """Return a convolution of images whose weights have a mask.

    Args:
      inputs: [batch, height, width, channels], or as `data_format` says.
      num_outputs: the number of filters.
      kernel_size, stride, rate: one integer, or one for each axis; stride or rate has to be 1.
      padding: "VALID" or "SAME".
      data_format: "NHWC" or "NCHW".
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

    Raises:
      ValueError: for another rank or order of axes.
    """
    given = dict(locals())
    if data_format not in _FORMATS:
        raise ValueError(f"Invalid data_format: {data_format!r}")
    getter = variable_getter(WEIGHTS_AND_BIASES)
    with tf.variable_scope(scope, "Conv", [inputs], reuse=reuse, custom_getter=getter) as sc:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.get_shape().ndims
        if rank != 4:
            raise ValueError("Sparse Convolution not supported for input with rank", rank)
        if data_format not in _KERAS_FORMATS:
            raise ValueError("Unsupported data format", data_format)
        return outputs_of(
            MaskedConv2D, sc, inputs, given, sc.original_name_scope, filters=num_outputs,
            kernel_size=kernel_size, strides=stride, padding=padding,
            data_format=_KERAS_FORMATS[data_format], dilation_rate=rate,
        )  # fmt: skip


masked_conv2d = masked_convolution


@export("contrib.model_pruning.masked_fully_connected")
@add_arg_scope
def masked_fully_connected(
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
    """Return a fully connected layer whose weights have a mask.

    Args:
      inputs: [..., n].
      num_outputs: the number of units.
      activation_fn, normalizer_fn, ...: as of `masked_convolution`.

    Returns:
      [..., num_outputs].

    Raises:
      ValueError: if `num_outputs` is no integer, or the size of the last axis is not known.
    """
    given = dict(locals())
    if not isinstance(num_outputs, int):
        raise ValueError(f"num_outputs should be int or long, got {num_outputs}.")
    getter = variable_getter(WEIGHTS_AND_BIASES)
    with tf.variable_scope(
        scope, "fully_connected", [inputs], reuse=reuse, custom_getter=getter
    ) as sc:
        inputs = tf.convert_to_tensor(inputs)
        alias = sc.original_name_scope
        return outputs_of(MaskedFullyConnected, sc, inputs, given, alias, units=num_outputs)
