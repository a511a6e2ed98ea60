"""Inception V2: Inception with batch normalization (arXiv:1502.03167)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import arg_scope
from stillflow.contrib.layers.core import softmax
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.slim.nets.classifiers import trunc_normal
from stillflow_contrib.slim.nets.inception_cells import (
    Depth,
    Stage,
    bare_logits,
    depth_of,
    features,
    normalized_arg_scope,
    pooled,
    stages_named,
)

layers = tf.contrib.layers


def _first(net: Any, depth: Depth) -> Tensor:
    """Return a convolution of each color by itself, then one that mixes them."""
    channels = depth(64)
    return layers.separable_conv2d(
        net,
        channels,
        [7, 7],
        depth_multiplier=min(int(channels / 3), 8),
        stride=2,
        weights_initializer=trunc_normal(1.0),
        scope="Conv2d_1a_7x7",
    )


def _cell(
    first: int, second: tuple[int, int], third: tuple[int, int], last: int, pool: str = "AvgPool"
) -> Stage:
    """Return the channels of the four branches; the third has the last convolution twice."""
    return (
        f"Conv2d_0a_1x1={first}",
        f"Conv2d_0a_1x1={second[0]}~0.09 Conv2d_0b_3x3={second[1]}",
        f"Conv2d_0a_1x1={third[0]}~0.09 Conv2d_0b_3x3={third[1]} Conv2d_0c_3x3={third[1]}",
        f"{pool}_0a_3x3 Conv2d_0b_1x1={last}~0.1",
    )


def _reduction(first: tuple[int, int], second: tuple[int, int]) -> Stage:
    """Return a cell that halves height and width."""
    return (
        f"Conv2d_0a_1x1={first[0]}~0.09 Conv2d_1a_3x3={first[1]}/2",
        f"Conv2d_0a_1x1={second[0]}~0.09 Conv2d_0b_3x3={second[1]} Conv2d_1a_3x3={second[1]}/2",
        "MaxPool_1a_3x3/2",
    )


_STAGES: dict[str, Stage] = {
    "Conv2d_1a_7x7": _first,
    **stages_named(
        *("MaxPool_2a_3x3/2", "Conv2d_2b_1x1=64~0.1", "Conv2d_2c_3x3=192", "MaxPool_3a_3x3/2")
    ),
    "Mixed_3b": _cell(64, (64, 64), (64, 96), 32),
    "Mixed_3c": _cell(64, (64, 96), (64, 96), 64),
    "Mixed_4a": _reduction((128, 160), (64, 96)),
    "Mixed_4b": _cell(224, (64, 96), (96, 128), 128),
    "Mixed_4c": _cell(192, (96, 128), (96, 128), 128),
    "Mixed_4d": _cell(160, (128, 160), (128, 160), 96),
    "Mixed_4e": _cell(96, (128, 192), (160, 192), 96),
    "Mixed_5a": _reduction((128, 192), (192, 256)),
    "Mixed_5b": _cell(352, (192, 320), (160, 224), 128),
    "Mixed_5c": _cell(352, (192, 320), (192, 224), 128, "MaxPool"),
}


@export("contrib.slim.nets.inception.inception_v2_base")
def inception_v2_base(
    inputs: Any,
    final_endpoint: str = "Mixed_5c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: Any = None,
) -> tuple[Any, dict[str, Any]]:
    """Return the features of Inception V2.

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
    with tf.variable_scope(scope, "InceptionV2", [inputs]):
        return features(inputs, [("SAME", _STAGES)], final_endpoint, depth)


@export("contrib.slim.nets.inception.inception_v2")
def inception_v2(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Callable[..., Any] = softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV2",
) -> tuple[Any, dict[str, Any]]:
    """Inception V2.

    Args:
      inputs: images, float32 `[batch, height, width, channels]`, 224 x 224 as a rule.
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
      The logits, and the outputs of layers by name.

    Raises:
      ValueError: if the multiplier is not greater than 0.
    """
    depth_of(depth_multiplier, min_depth)
    with (
        tf.variable_scope(scope, "InceptionV2", [inputs, num_classes], reuse=reuse) as variables,
        arg_scope([layers.batch_norm, layers.dropout], is_training=is_training),
    ):
        net, end_points = inception_v2_base(
            inputs, scope=variables, min_depth=min_depth, depth_multiplier=depth_multiplier
        )
        with tf.variable_scope("Logits"):
            net = pooled(net, [7, 7], dropout_keep_prob)
            logits = bare_logits(net, num_classes, "Conv2d_1c_1x1", spatial_squeeze)
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v2.default_image_size = 224  # type: ignore[attr-defined]


@export("contrib.slim.nets.inception.inception_v2_arg_scope")
def inception_v2_arg_scope(
    weight_decay: float = 0.00004, batch_norm_var_collection: str = "moving_vars"
) -> dict[str, dict[str, Any]]:
    """Return the arguments of layers that `inception_v2` was trained with.

    Args:
      weight_decay: of the L2 regularizer.
      batch_norm_var_collection: where the moments of batch normalization are added.
    """
    return normalized_arg_scope(weight_decay, batch_norm_var_collection)
