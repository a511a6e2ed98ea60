"""AlexNet in its second version, on one device (arXiv:1404.5997)."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import arg_scope
from stillflow.graph.export import export
from stillflow_contrib.slim.nets.classifiers import (
    collecting_outputs,
    fully_connected_layers,
    trained_arg_scope,
    trunc_normal,
    with_end_points,
)

layers = tf.contrib.layers


@export("contrib.slim.nets.alexnet.alexnet_v2_arg_scope")
def alexnet_v2_arg_scope(weight_decay: float = 0.0005) -> dict[str, dict[str, Any]]:
    """Return the arguments of layers that `alexnet_v2` was trained with.

    `weight_decay` is that of L2.
    """
    with (
        arg_scope(trained_arg_scope(weight_decay, tf.constant_initializer(0.1))),
        arg_scope([layers.max_pool2d], padding="VALID") as scope,
    ):
        return scope


@export("contrib.slim.nets.alexnet.alexnet_v2")
def alexnet_v2(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True,
    scope: str = "alexnet_v2",
) -> tuple[Any, dict[str, Any]]:
    """AlexNet.

    Args:
      inputs: images, float32 `[batch, height, width, channels]`, 224 x 224 as a rule.
      num_classes: how many logits there are.
      is_training: whether features are dropped.
      dropout_keep_prob: the share that is kept then.
      spatial_squeeze: whether height and width of the logits, which must be 1, are left out.
      scope: of the variables.

    Returns:
      The logits, and the outputs of all layers by name.
    """
    with tf.variable_scope(scope, "alexnet_v2", [inputs]) as variables:
        collection = f"{variables.original_name_scope}_end_points"
        with collecting_outputs(collection):
            net = layers.conv2d(inputs, 64, [11, 11], 4, padding="VALID", scope="conv1")
            net = layers.max_pool2d(net, [3, 3], 2, scope="pool1")
            net = layers.conv2d(net, 192, [5, 5], scope="conv2")
            net = layers.max_pool2d(net, [3, 3], 2, scope="pool2")
            net = layers.conv2d(net, 384, [3, 3], scope="conv3")
            net = layers.conv2d(net, 384, [3, 3], scope="conv4")
            net = layers.conv2d(net, 256, [3, 3], scope="conv5")
            net = layers.max_pool2d(net, [3, 3], 2, scope="pool5")
            with arg_scope(
                [layers.conv2d],
                weights_initializer=trunc_normal(0.005),
                biases_initializer=tf.constant_initializer(0.1),
            ):
                net = fully_connected_layers(
                    *(net, 4096, [5, 5], num_classes, is_training, dropout_keep_prob),
                    biases_initializer=tf.zeros_initializer(),
                )
            return with_end_points(net, collection, variables, spatial_squeeze)


alexnet_v2.default_image_size = 224  # type: ignore[attr-defined]
