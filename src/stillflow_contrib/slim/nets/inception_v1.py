"""Inception V1, or GoogLeNet (arXiv:1409.4842), with batch normalization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import arg_scope
from stillflow.contrib.layers.core import softmax
from stillflow.graph.export import export
from stillflow_contrib.slim.nets.classifiers import trunc_normal
from stillflow_contrib.slim.nets.inception_cells import (
    Stage,
    bare_logits,
    features,
    normalized_arg_scope,
    stages_named,
)

layers = tf.contrib.layers


def _cell(
    first: int,
    second: tuple[int, int],
    third: tuple[int, int],
    pooled: int,
    last_of_third: str = "Conv2d_0b_3x3",
) -> Stage:
    """Return the channels of the four branches; the second and the third have two convolutions."""
    return (
        f"Conv2d_0a_1x1={first}",
        f"Conv2d_0a_1x1={second[0]} Conv2d_0b_3x3={second[1]}",
        f"Conv2d_0a_1x1={third[0]} {last_of_third}={third[1]}",
        f"MaxPool_0a_3x3 Conv2d_0b_1x1={pooled}",
    )


_STAGES: dict[str, Stage] = {
    **stages_named(
        *("Conv2d_1a_7x7=64/2", "MaxPool_2a_3x3/2", "Conv2d_2b_1x1=64", "Conv2d_2c_3x3=192"),
        "MaxPool_3a_3x3/2",
    ),
    "Mixed_3b": _cell(64, (96, 128), (16, 32), 32),
    "Mixed_3c": _cell(128, (128, 192), (32, 96), 64),
    **stages_named("MaxPool_4a_3x3/2"),
    "Mixed_4b": _cell(192, (96, 208), (16, 48), 64),
    "Mixed_4c": _cell(160, (112, 224), (24, 64), 64),
    "Mixed_4d": _cell(128, (128, 256), (24, 64), 64),
    "Mixed_4e": _cell(112, (144, 288), (32, 64), 64),
    "Mixed_4f": _cell(256, (160, 320), (32, 128), 128),
    **stages_named("MaxPool_5a_2x2/2"),
    # Published checkpoints have this one name out of the series.
    "Mixed_5b": _cell(256, (160, 320), (32, 128), 128, "Conv2d_0a_3x3"),
    "Mixed_5c": _cell(384, (192, 384), (48, 128), 128),
}


@export("contrib.slim.nets.inception.inception_v1_base")
def inception_v1_base(
    inputs: Any, final_endpoint: str = "Mixed_5c", scope: Any = "InceptionV1"
) -> tuple[Any, dict[str, Any]]:
    """Return the features of Inception V1.

    Args:
      inputs: images, float32 `[batch, height, width, channels]`.
      final_endpoint: the last layer or cell that is made.
      scope: of the variables.

    Returns:
      Its output, and all outputs by name.

    Raises:
      ValueError: if there is no such layer.
    """
    with (
        tf.variable_scope(scope, "InceptionV1", [inputs]),
        arg_scope([layers.conv2d, layers.fully_connected], weights_initializer=trunc_normal(0.01)),
    ):
        return features(inputs, [("SAME", _STAGES)], final_endpoint, lambda depth: depth)


@export("contrib.slim.nets.inception.inception_v1")
def inception_v1(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    prediction_fn: Callable[..., Any] = softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV1",
) -> tuple[Any, dict[str, Any]]:
    """Inception V1.

    Args:
      inputs: images, float32 `[batch, height, width, channels]`, 224 x 224 as a rule.
      num_classes: how many logits there are.
      is_training: whether features are dropped and batches normalized by their own moments.
      dropout_keep_prob: the share of features that is kept then.
      prediction_fn: makes predictions of logits.
      spatial_squeeze: whether height and width of the logits, which must be 1, are left out.
      reuse: whether variables are those that there are.
      scope: of the variables.

    Returns:
      The logits, and the outputs of layers by name.
    """
    with (
        tf.variable_scope(scope, "InceptionV1", [inputs, num_classes], reuse=reuse) as variables,
        arg_scope([layers.batch_norm, layers.dropout], is_training=is_training),
    ):
        net, end_points = inception_v1_base(inputs, scope=variables)
        with tf.variable_scope("Logits"):
            net = layers.avg_pool2d(net, [7, 7], stride=1, scope="MaxPool_0a_7x7")
            net = layers.dropout(net, dropout_keep_prob, scope="Dropout_0b")
            logits = bare_logits(net, num_classes, "Conv2d_0c_1x1", spatial_squeeze)
            end_points["Logits"] = logits
            end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v1.default_image_size = 224  # type: ignore[attr-defined]


@export("contrib.slim.nets.inception.inception_v1_arg_scope")
def inception_v1_arg_scope(
    weight_decay: float = 0.00004,
    use_batch_norm: bool = True,
    batch_norm_var_collection: str = "moving_vars",
) -> dict[str, dict[str, Any]]:
    """Return the arguments of layers that `inception_v1` was trained with.

    Args:
      weight_decay: of the L2 regularizer.
      use_batch_norm: whether there is batch normalization.
      batch_norm_var_collection: where its moments are added.
    """
    return normalized_arg_scope(weight_decay, batch_norm_var_collection, use_batch_norm)
