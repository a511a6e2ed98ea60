"""Layers without weights of matrices: biases, dropout, one-hot vectors, softmax, flattening."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import add_arg_scope
from stillflow.contrib.layers.formats import NCHW, NHWC, assert_images
from stillflow.contrib.layers.utils import collect_named_outputs, last_dimension
from stillflow.contrib.layers.variables import ModelVariables, finished, model_variable_getter
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.layers.core import Dropout
from stillflow.layers.core import flatten as layer_flatten
from stillflow.variables.initializers import Zeros


@export("contrib.layers.bias_add", "contrib.slim.bias_add")
@add_arg_scope
def bias_add(
    inputs: Any,
    activation_fn: Any = None,
    initializer: Any = Zeros(),
    regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = NHWC,
    scope: Any = None,
) -> Tensor:
    """Add a variable `biases` to the channels.

    Args:
      inputs: [batch, ..., channels], or as `data_format` says.
      activation_fn: applied to the outputs.
      initializer, regularizer: of the variable.
      reuse: whether to use the variable of a layer of this scope.
      variables_collections, outputs_collections: collections.
      trainable: whether the variable is trained.
      data_format: "NHWC" or "NCHW".
      scope: the variable scope; made unique if it is not given.

    Raises:
      ValueError: if the rank or the number of channels is not known.
    """
    assert_images(data_format)
    with tf.variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        shape = inputs.get_shape()
        if shape.ndims is None:
            raise ValueError("Dims of shape must be known but is None")
        if shape.ndims != 4 and data_format == NCHW:
            raise ValueError("Data format NCHW only supports 4D Tensor")
        channels = shape.dims[1 if data_format == NCHW else -1].value
        if channels is None:
            raise ValueError("`C` dimension must be known but is None")
        variables = ModelVariables(inputs.dtype.base_dtype, variables_collections, trainable)
        biases = variables.make("biases", [channels], initializer, regularizer=regularizer)
        outputs = tf.nn.bias_add(inputs, biases, data_format=data_format)
        return finished(outputs, sc.name, outputs_collections, activation_fn)


@export("contrib.layers.dropout", "contrib.slim.dropout")
@add_arg_scope
def dropout(
    inputs: Any,
    keep_prob: Any = 0.5,
    noise_shape: Any = None,
    is_training: Any = True,
    outputs_collections: Any = None,
    scope: Any = None,
    seed: int | None = None,
) -> Tensor:
    """Drop values at random in training, and scales up the others.

    Args:
      inputs: a tensor of floats.
      keep_prob: the probability of a value to stay.
      noise_shape: an int32 vector; sizes of 1 in it make values along an axis go together.
      is_training: a bool or a scalar tensor.
      outputs_collections: collections of the outputs.
      scope: a variable scope.
      seed: of the random values.

    Example:
      >>> kept = tf.Session().run(tf.contrib.slim.dropout(tf.ones([1000]), keep_prob=0.25))
      >>> sorted(set(kept.tolist()))
      [0.0, 4.0]
    """
    with tf.variable_scope(scope, "Dropout", [inputs], custom_getter=model_variable_getter) as sc:
        layer = Dropout(
            rate=1 - keep_prob, noise_shape=noise_shape, seed=seed, name=sc.name, _scope=sc
        )
        outputs = layer.apply(tf.convert_to_tensor(inputs), training=is_training)
        return collect_named_outputs(outputs_collections, sc.name, outputs)


@export("contrib.layers.flatten", "contrib.slim.flatten")
@add_arg_scope
def flatten(inputs: Any, outputs_collections: Any = None, scope: Any = None) -> Tensor:
    """[batch, ...] as [batch, n].

    Args:
      inputs: a tensor.
      outputs_collections: collections of the outputs.
      scope: a name scope.

    Example:
      >>> tf.contrib.layers.flatten(tf.placeholder(tf.float32, [None, 4, 4, 3]))
      <tf.Tensor 'Flatten/flatten/Reshape:0' shape=(?, 48) dtype=float32>
    """
    with tf.name_scope(scope, "Flatten", [inputs]) as sc:
        outputs = layer_flatten(tf.convert_to_tensor(inputs))
        return collect_named_outputs(outputs_collections, sc, outputs)


def _sparse_inner_flatten(inputs: Any, new_rank: int) -> SparseTensor:
    rank = inputs.dense_shape.get_shape().as_list()[0]
    if rank < new_rank:
        raise ValueError(
            f"Inputs has rank less than new_rank. {inputs} must have rank at least {new_rank}. "
            f"Received rank {rank}, shape {inputs.get_shape()}"
        )
    outer, inner = inputs.dense_shape[: new_rank - 1], inputs.dense_shape[new_rank - 1 :]
    return tf.sparse_reshape(inputs, tf.concat((outer, [tf.reduce_prod(inner)]), 0))


def _dense_inner_flatten(inputs: Any, new_rank: Any) -> Any:
    assertion = tf.assert_rank_at_least(
        inputs, new_rank, message="inputs has rank less than new_rank"
    )
    with tf.control_dependencies([assertion]):
        outer = tf.strided_slice(tf.shape(inputs), [0], [new_rank - 1])
        reshaped = tf.reshape(inputs, tf.concat((outer, [-1]), 0))
    if isinstance(new_rank, int) and inputs.get_shape().dims is not None:
        shape = inputs.get_shape()
        reshaped.set_shape([*shape.as_list()[: new_rank - 1], shape[new_rank - 1 :].num_elements()])
    return reshaped


@add_arg_scope
def inner_flatten(
    inputs: Any, new_rank: Any, output_collections: Any = None, scope: Any = None
) -> Tensor | SparseTensor:
    """Flatten the last axes, sparse or dense, until a rank is left; ValueError if it is less."""
    with tf.name_scope(scope, "InnerFlatten", [inputs, new_rank]) as sc:
        if isinstance(inputs, SparseTensor):
            flattened = _sparse_inner_flatten(inputs, new_rank)
        else:
            flattened = _dense_inner_flatten(tf.convert_to_tensor(inputs), new_rank)
    return collect_named_outputs(output_collections, sc, flattened)


@export("contrib.layers.one_hot_encoding", "contrib.slim.one_hot_encoding")
@add_arg_scope
def one_hot_encoding(
    labels: Any,
    num_classes: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Tensor:
    """Vectors with one value on.

    Args:
      labels: [batch], which value is on.
      num_classes: the size of the vectors.
      on_value, off_value: the values.
      outputs_collections: collections of the outputs.
      scope: a name scope.

    Returns:
      [batch, num_classes].
    """
    with tf.name_scope(scope, "OneHotEncoding", [labels, num_classes]) as sc:
        given = tf.convert_to_tensor(labels)
        places = tf.to_int64(given) if given.dtype == tf.int32 else given
        vectors = tf.one_hot(places, num_classes, on_value, off_value)
        return collect_named_outputs(outputs_collections, sc, vectors)


@export("contrib.layers.softmax", "contrib.slim.softmax")
@add_arg_scope
def softmax(logits: Any, scope: Any = None) -> Tensor:
    """Softmax along the last axis of a tensor of any rank from 2.

    Raises:
      ValueError: if the size of that axis is not known.
    """
    with tf.variable_scope(scope, "softmax", [logits]):
        classes = last_dimension(logits.get_shape(), min_rank=2)
        rows = tf.nn.softmax(tf.reshape(logits, [-1, classes]))
        predictions = tf.reshape(rows, tf.shape(logits))
        predictions.set_shape(logits.get_shape())
        return predictions


@export("contrib.layers.dense_to_sparse", "contrib.slim.dense_to_sparse")
@add_arg_scope
def dense_to_sparse(
    tensor: Any, eos_token: Any = 0, outputs_collections: Any = None, scope: Any = None
) -> SparseTensor:
    """Return the SparseTensor of the values that are not `eos_token`."""
    with tf.variable_scope(scope, "dense_to_sparse", [tensor]) as sc:
        dense = tf.convert_to_tensor(tensor)
        is_kept = tf.not_equal(dense, tf.constant(eos_token, dense.dtype))
        places = tf.where(is_kept)
        kept = tf.gather_nd(dense, places)
        sparse = SparseTensor(places, kept, tf.shape(dense, out_type=tf.int64))
        return collect_named_outputs(outputs_collections, sc.name, sparse)
