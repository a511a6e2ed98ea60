"""Inception V3: Inception with factored convolutions (arXiv:1512.00567)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import arg_scope
from stillflow.contrib.layers.core import softmax
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow_contrib.slim.nets.classifiers import trunc_normal
from stillflow_contrib.slim.nets.inception_cells import (
    Depth,
    Stage,
    bare_logits,
    depth_of,
    features,
    kernel_within,
    normalized_arg_scope,
    pooled,
    stages_named,
)

layers = tf.contrib.layers


def _cell_5(second: str, last: int) -> Stage:
    """Return a cell of 35 x 35 pixels: its second branch, and the channels of its last one."""
    return (
        "Conv2d_0a_1x1=64",
        second,
        "Conv2d_0a_1x1=64 Conv2d_0b_3x3=96 Conv2d_0c_3x3=96",
        f"AvgPool_0a_3x3 Conv2d_0b_1x1={last}",
    )


def _cell_6(depth: int) -> Stage:
    """Return a cell of 17 x 17 pixels: the channels between its factors of 7 x 7 convolutions."""
    first_three = f"Conv2d_0a_1x1={depth} Conv2d_0b_7x1={depth} Conv2d_0c_1x7={depth}"
    return (
        "Conv2d_0a_1x1=192",
        f"Conv2d_0a_1x1={depth} Conv2d_0b_1x7={depth} Conv2d_0c_7x1=192",
        f"{first_three} Conv2d_0d_7x1={depth} Conv2d_0e_1x7=192",
        "AvgPool_0a_3x3 Conv2d_0b_1x1=192",
    )


def _cell_7(last_of_second: str) -> Stage:
    """Return a cell of 8 x 8 pixels: the name of its second branch's last convolution."""
    return (
        "Conv2d_0a_1x1=320",
        f"Conv2d_0a_1x1=384 Conv2d_0b_1x3=384|{last_of_second}=384",
        "Conv2d_0a_1x1=448 Conv2d_0b_3x3=384 Conv2d_0c_1x3=384|Conv2d_0d_3x1=384",
        "AvgPool_0a_3x3 Conv2d_0b_1x1=192",
    )


_STEM = stages_named(
    *("Conv2d_1a_3x3=32/2", "Conv2d_2a_3x3=32", "Conv2d_2b_3x3=64!SAME", "MaxPool_3a_3x3/2"),
    *("Conv2d_3b_1x1=80", "Conv2d_4a_3x3=192", "MaxPool_5a_3x3/2"),
)
# Some names do not match their layers; published checkpoints have them.
_CELLS: dict[str, Stage] = {
    "Mixed_5b": _cell_5("Conv2d_0a_1x1=48 Conv2d_0b_5x5=64", 32),
    "Mixed_5c": _cell_5("Conv2d_0b_1x1=48 Conv_1_0c_5x5=64", 64),
    "Mixed_5d": _cell_5("Conv2d_0a_1x1=48 Conv2d_0b_5x5=64", 64),
    "Mixed_6a": (
        "Conv2d_1a_1x1@3x3=384/2!VALID",
        "Conv2d_0a_1x1=64 Conv2d_0b_3x3=96 Conv2d_1a_1x1@3x3=96/2!VALID",
        "MaxPool_1a_3x3/2!VALID",
    ),
    "Mixed_6b": _cell_6(128),
    "Mixed_6c": _cell_6(160),
    "Mixed_6d": _cell_6(160),
    "Mixed_6e": _cell_6(192),
    "Mixed_7a": (
        "Conv2d_0a_1x1=192 Conv2d_1a_3x3=320/2!VALID",
        "Conv2d_0a_1x1=192 Conv2d_0b_1x7=192 Conv2d_0c_7x1=192 Conv2d_1a_3x3=192/2!VALID",
        "MaxPool_1a_3x3/2!VALID",
    ),
    "Mixed_7b": _cell_7("Conv2d_0b_3x1"),
    "Mixed_7c": _cell_7("Conv2d_0c_3x1"),
}


@export("contrib.slim.nets.inception.inception_v3_base")
def inception_v3_base(
    inputs: Any,
    final_endpoint: str = "Mixed_7c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: Any = None,
) -> tuple[Any, dict[str, Any]]:
    """Return the features of Inception V3.

    Args:
      inputs: images, float32 `[batch, height, width, channels]`.
      final_endpoint: the last layer or cell that is made.
      min_depth: how many channels a layer has at least.
      depth_multiplier: of the channels of all layers.
      scope: of the variables.

    Returns:
      Its output, and all outputs by name.

    Raises:
      ValueError: if there is no such layer or the multiplier is not greater than 0.
    """
    depth = depth_of(depth_multiplier, min_depth)
    with tf.variable_scope(scope, "InceptionV3", [inputs]):
        parts = [("VALID", _STEM), ("SAME", _CELLS)]
        return features(inputs, parts, final_endpoint, depth)


def _auxiliary_logits(net: Any, num_classes: int, spatial_squeeze: bool, depth: Depth) -> Tensor:
    """Logits from features in the middle, which a loss keeps useful."""
    padded = [layers.conv2d, layers.max_pool2d, layers.avg_pool2d]
    with arg_scope(padded, stride=1, padding="SAME"), tf.variable_scope("AuxLogits"):
        net = layers.avg_pool2d(net, [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5")
        net = layers.conv2d(net, depth(128), [1, 1], scope="Conv2d_1b_1x1")
        height, width = kernel = kernel_within(net, [5, 5])
        net = layers.conv2d(
            net,
            depth(768),
            kernel,
            weights_initializer=trunc_normal(0.01),
            padding="VALID",
            scope=f"Conv2d_2a_{height}x{width}",
        )
        initializer = trunc_normal(0.001)
        return bare_logits(
            net, num_classes, "Conv2d_2b_1x1", spatial_squeeze, weights_initializer=initializer
        )


@export("contrib.slim.nets.inception.inception_v3")
def inception_v3(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Callable[..., Any] = softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV3",
) -> tuple[Any, dict[str, Any]]:
    """Inception V3.

    Args:
      inputs: images, float32 `[batch, height, width, channels]`, 299 x 299 as a rule.
      num_classes: how many logits there are.
      is_training: whether features are dropped and batches normalized by their own moments.
      dropout_keep_prob: the share of features that is kept then.
      min_depth: how many channels a layer has at least.
      depth_multiplier: of the channels of all layers.
      prediction_fn: makes predictions of logits.
      spatial_squeeze: whether height and width of the logits, which must be 1, are left out.
      reuse: whether variables are those that there are.
      scope: of the variables.

    Returns:
      The logits, and the outputs of layers by name, including `AuxLogits`.

    Raises:
      ValueError: if the multiplier is not greater than 0.
    """
    depth = depth_of(depth_multiplier, min_depth)
    with (
        tf.variable_scope(scope, "InceptionV3", [inputs, num_classes], reuse=reuse) as variables,
        arg_scope([layers.batch_norm, layers.dropout], is_training=is_training),
    ):
        net, end_points = inception_v3_base(
            inputs, scope=variables, min_depth=min_depth, depth_multiplier=depth_multiplier
        )
        middle = end_points["Mixed_6e"]
        end_points["AuxLogits"] = _auxiliary_logits(middle, num_classes, spatial_squeeze, depth)
        with tf.variable_scope("Logits"):
            net = end_points["PreLogits"] = pooled(net, [8, 8], dropout_keep_prob)
            logits = bare_logits(net, num_classes, "Conv2d_1c_1x1", spatial_squeeze)
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v3.default_image_size = 299  # type: ignore[attr-defined]


@export("contrib.slim.nets.inception.inception_v3_arg_scope")
def inception_v3_arg_scope(
    weight_decay: float = 0.00004,
    batch_norm_var_collection: str = "moving_vars",
    batch_norm_decay: float = 0.9997,
    batch_norm_epsilon: float = 0.001,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    use_fused_batchnorm: bool = True,
) -> dict[str, dict[str, Any]]:
    """Return the arguments of layers that `inception_v3` was trained with.

    Args:
      weight_decay: of the L2 regularizer.
      batch_norm_var_collection: where the moments of batch normalization are added.
      batch_norm_decay, batch_norm_epsilon, updates_collections: its `decay`, `epsilon` and
        `updates_collections`.
      use_fused_batchnorm: whether one operation normalizes.
    """
    return normalized_arg_scope(
        weight_decay,
        batch_norm_var_collection,
        decay=batch_norm_decay,
        epsilon=batch_norm_epsilon,
        updates_collections=updates_collections,
        fused=use_fused_batchnorm,
    )
