"""Batch normalization: which of three forms a call takes, and the common one."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import add_arg_scope
from stillflow.contrib.layers.formats import NCHW, NHWC, assert_images
from stillflow.contrib.layers.fused_batch_norm import fused_batch_norm
from stillflow.contrib.layers.unfused_batch_norm import unfused_batch_norm
from stillflow.contrib.layers.variables import add_to_collections, finished, variable_getter
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.layers.normalization import BatchNormalization
from stillflow.variables.initializers import Ones, Zeros


def _by_layer(inputs: Any, sc: Any, given: dict[str, Any]) -> Tensor:
    """Apply the layer of `tf.layers`, whose updates go to the usual collection."""
    first = given["param_initializers"] or {}
    regularizers = given["param_regularizers"] or {}
    layer = BatchNormalization(
        axis=1 if given["data_format"] == NCHW else -1, momentum=given["decay"],
        epsilon=given["epsilon"], center=given["center"], scale=given["scale"],
        beta_initializer=first.get("beta", Zeros()),
        gamma_initializer=first.get("gamma", Ones()),
        moving_mean_initializer=first.get("moving_mean", Zeros()),
        moving_variance_initializer=first.get("moving_variance", Ones()),
        beta_regularizer=regularizers.get("beta"), gamma_regularizer=regularizers.get("gamma"),
        trainable=given["trainable"], renorm=given["renorm"],
        renorm_clipping=given["renorm_clipping"], renorm_momentum=given["renorm_decay"],
        adjustment=given["adjustment"], name=sc.name, _scope=sc, _reuse=given["reuse"],
        fused=given["fused"],
    )  # fmt: skip
    outputs = layer.apply(inputs, training=given["is_training"])
    for name in ("moving_mean", "moving_variance", "beta", "gamma"):
        variable = getattr(layer, name)
        if variable is not None:
            add_to_collections(variable, given["variables_collections"], name)
    return finished(outputs, sc.name, given["outputs_collections"], given["activation_fn"])


@export("contrib.layers.batch_norm", "contrib.slim.batch_norm")
@add_arg_scope
def batch_norm(
    inputs: Any,
    decay: Any = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Any = None,
    param_initializers: dict[str, Any] | None = None,
    param_regularizers: dict[str, Any] | None = None,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    is_training: Any = True,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: bool | None = None,
    data_format: str = NHWC,
    zero_debias_moving_mean: bool = False,
    scope: Any = None,
    renorm: bool = False,
    renorm_clipping: dict[str, Any] | None = None,
    renorm_decay: Any = 0.99,
    adjustment: Any = None,
) -> Tensor:
    """Normalize by the batch's mean and variance in training, else by their moving averages.

    Variables are `beta`, `gamma`, `moving_mean` and `moving_variance`.

    Args:
      inputs: [batch, ..., channels], or as `data_format` says.
      decay: the share that moving averages keep in a step.
      center, scale: whether `beta` is added and `gamma` multiplied with.
      epsilon: added to variances.
      activation_fn: applied to the outputs.
      param_initializers, param_regularizers: {name of a variable: what it has}.
      updates_collections: where the updates of the moving averages go; None to make them part of
        the outputs.
      is_training: a bool or a scalar tensor.
      reuse: whether to use the variables of a layer of this scope.
      variables_collections: collections of the variables, or {name: its collections}.
      outputs_collections: collections of the outputs.
      trainable: whether `beta` and `gamma` are trained.
      batch_weights: [batch], the weight of every example.
      fused: False never to use the fused op; None and True use it where that is possible.
      data_format: "NHWC" or "NCHW".
      zero_debias_moving_mean: whether to correct the moving mean for its beginning at 0.
      scope: the variable scope; made unique if it is not given.
      renorm, renorm_clipping, renorm_decay, adjustment: as of `tf.layers.batch_normalization`.

    Raises:
      ValueError: for unsupported arguments of the fused form; if the rank or the number of channels
        is unknown.

    Example:
      >>> x = tf.placeholder(tf.float32, [None, 8, 8, 3])
      >>> y = tf.contrib.layers.batch_norm(x, is_training=True, scope="norm")
      >>> [v.op.name for v in tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="norm")]
      ['norm/beta', 'norm/moving_mean', 'norm/moving_variance']
    """
    given = {**locals(), "fused": True if fused is None else fused}
    inputs = tf.convert_to_tensor(inputs)
    rank = inputs.get_shape().ndims
    common = updates_collections is GraphKeys.UPDATE_OPS and not zero_debias_moving_mean
    fusible = batch_weights is None and not renorm and rank in (2, 4) and adjustment is None
    if given["fused"] and fusible and (not common or rank == 2):
        return fused_batch_norm(inputs, given)
    assert_images(data_format)
    with tf.variable_scope(
        scope, "BatchNorm", [inputs], reuse=reuse, custom_getter=variable_getter()
    ) as sc:
        if batch_weights is None and common:
            return _by_layer(inputs, sc, given)
        if renorm:
            raise ValueError(
                "renorm is not supported with batch_weights, updates_collections or "
                "zero_debias_moving_mean"
            )
        return unfused_batch_norm(inputs, sc, given)
