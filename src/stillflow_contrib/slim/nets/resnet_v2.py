"""Residual networks in their second version (arXiv:1603.05027): units normalize their inputs."""

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


@export("contrib.slim.nets.resnet_v2.bottleneck")
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
    bare: dict[str, Any] = {"activation_fn": None, "normalizer_fn": None}
    with tf.variable_scope(scope, "bottleneck_v2", [inputs]) as variables:
        depth_in = last_dimension(inputs.shape, min_rank=4)
        active = layers.batch_norm(inputs, activation_fn=tf.nn.relu, scope="preact")
        if depth == depth_in:
            shortcut = resnet_utils.subsample(inputs, stride, "shortcut")
        else:
            shortcut = layers.conv2d(active, depth, [1, 1], stride=stride, scope="shortcut", **bare)
        net = layers.conv2d(active, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        net = resnet_utils.conv2d_same(net, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        net = layers.conv2d(net, depth, [1, 1], stride=1, scope="conv3", **bare)
        output = shortcut + net
        return collect_named_outputs(outputs_collections, variables.name, output)


resnet_v2 = export("contrib.slim.nets.resnet_v2.resnet_v2")(
    network_of("resnet_v2", bottleneck, preactivated=True)
)


@export("contrib.slim.nets.resnet_v2.resnet_v2_block")
def resnet_v2_block(scope: str, base_depth: int, num_units: int, stride: int) -> resnet_utils.Block:
    """Return a block of units, the last of which has the stride.

    Args:
      scope: of the block.
      base_depth: how many channels there are between a unit's convolutions; four times as many
        come out.
      num_units: how many units there are.
      stride: of the last unit.
    """
    return block_of(bottleneck, scope, base_depth, num_units, stride)


resnet_v2_50 = export("contrib.slim.nets.resnet_v2.resnet_v2_50")(
    model_of(resnet_v2, resnet_v2_block, 50)
)
resnet_v2_101 = export("contrib.slim.nets.resnet_v2.resnet_v2_101")(
    model_of(resnet_v2, resnet_v2_block, 101)
)
resnet_v2_152 = export("contrib.slim.nets.resnet_v2.resnet_v2_152")(
    model_of(resnet_v2, resnet_v2_block, 152)
)
resnet_v2_200 = export("contrib.slim.nets.resnet_v2.resnet_v2_200")(
    model_of(resnet_v2, resnet_v2_block, 200)
)
