"""Residual networks (arXiv:1512.03385), whose units normalize after convolutions."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import add_arg_scope as add_arg_scope
from stillflow.contrib.framework.argument_scope import arg_scope as arg_scope
from stillflow.contrib.layers.utils import collect_named_outputs, last_dimension
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.slim.nets import resnet_utils
from stillflow_contrib.slim.nets.resnet_models import block_of, model_of, network_of

layers = tf.contrib.layers

resnet_arg_scope = resnet_utils.resnet_arg_scope


@export("contrib.slim.nets.resnet_v1.bottleneck")
@add_arg_scope
def bottleneck(
    inputs: Any,
    depth: int,
    depth_bottleneck: int,
    stride: int,
    rate: int = 1,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Tensor:
    """Return a unit: its inputs, and three convolutions of them, added.

    Args:
      inputs: images, `[batch, height, width, channels]`.
      depth: how many channels come out.
      depth_bottleneck: how many there are between the convolutions.
      stride, rate: of the convolution in the middle.
      outputs_collections: where the output is added.
      scope: of the variables.

    Returns:
      Images.
    """
    with tf.variable_scope(scope, "bottleneck_v1", [inputs]) as variables:
        if depth == last_dimension(inputs.shape, min_rank=4):
            shortcut = resnet_utils.subsample(inputs, stride, "shortcut")
        else:
            shortcut = layers.conv2d(
                inputs, depth, [1, 1], stride=stride, activation_fn=None, scope="shortcut"
            )
        net = layers.conv2d(inputs, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        net = resnet_utils.conv2d_same(net, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        net = layers.conv2d(net, depth, [1, 1], stride=1, activation_fn=None, scope="conv3")
        output = tf.nn.relu(shortcut + net)
        return collect_named_outputs(outputs_collections, variables.name, output)


resnet_v1 = export("contrib.slim.nets.resnet_v1.resnet_v1")(
    network_of("resnet_v1", bottleneck, preactivated=False)
)


@export("contrib.slim.nets.resnet_v1.resnet_v1_block")
def resnet_v1_block(scope: str, base_depth: int, num_units: int, stride: int) -> resnet_utils.Block:
    """Return a block of units, the last of which has the stride.

    Args:
      scope: of the block.
      base_depth: how many channels there are between a unit's convolutions; four times as many
        come out.
      num_units: how many units there are.
      stride: of the last unit.
    """
    return block_of(bottleneck, scope, base_depth, num_units, stride)


resnet_v1_50 = export("contrib.slim.nets.resnet_v1.resnet_v1_50")(
    model_of(resnet_v1, resnet_v1_block, 50)
)
resnet_v1_101 = export("contrib.slim.nets.resnet_v1.resnet_v1_101")(
    model_of(resnet_v1, resnet_v1_block, 101)
)
resnet_v1_152 = export("contrib.slim.nets.resnet_v1.resnet_v1_152")(
    model_of(resnet_v1, resnet_v1_block, 152)
)
resnet_v1_200 = export("contrib.slim.nets.resnet_v1.resnet_v1_200")(
    model_of(resnet_v1, resnet_v1_block, 200)
)
