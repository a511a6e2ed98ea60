"""Blocks of residual networks, and how they are stacked to an output of a given stride."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import stillflow as tf
from stillflow.contrib.framework.argument_scope import add_arg_scope, arg_scope
from stillflow.contrib.layers.utils import collect_named_outputs
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor

layers = tf.contrib.layers


class Block(NamedTuple):
    """Units of a residual network, one behind the other, in a variable scope.

    Fields: the scope's name; the function that builds a unit; its arguments, for each unit.
    """

    scope: str
    unit_fn: Callable[..., Any]
    args: Sequence[Mapping[str, Any]]


export("contrib.slim.nets.resnet_utils.Block")(Block)


@export("contrib.slim.nets.resnet_utils.subsample")
def subsample(inputs: Any, factor: int, scope: str | None = None) -> Tensor:
    """Every `factor`-th pixel of images `[batch, height, width, channels]`."""
    if factor == 1:
        return inputs
    return layers.max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


@export("contrib.slim.nets.resnet_utils.conv2d_same")
def conv2d_same(
    inputs: Any,
    num_outputs: int,
    kernel_size: int,
    stride: int,
    rate: int = 1,
    scope: str | None = None,
) -> Tensor:
    """Return a convolution whose padding does not depend on the size of the image.

    Args:
      inputs: images, `[batch, height, width, channels]`.
      num_outputs: how many channels come out.
      kernel_size: of the square kernel.
      stride, rate: of the convolution.
      scope: of the variables.

    Returns:
      Images of the size that a convolution of stride 1 and then `subsample` would give.
    """
    arguments = (num_outputs, kernel_size, stride)
    if stride == 1:
        return layers.conv2d(inputs, *arguments, rate=rate, padding="SAME", scope=scope)
    total = (kernel_size - 1) * rate
    around = [total // 2, total - total // 2]
    padded = tf.pad(inputs, [[0, 0], around, around, [0, 0]])
    return layers.conv2d(padded, *arguments, rate=rate, padding="VALID", scope=scope)


@export("contrib.slim.nets.resnet_utils.stack_blocks_dense")
@add_arg_scope
def stack_blocks_dense(
    net: Any,
    blocks: Sequence[Block],
    output_stride: float | None = None,
    outputs_collections: Any = None,
) -> Tensor:
    """Stacks blocks; from `output_stride` on, units are dilated instead of strided.

    Args:
      net: images, `[batch, height, width, channels]`.
      blocks: the blocks.
      output_stride: how many times smaller the output is to be; by all strides by default.
      outputs_collections: where the blocks' outputs are added.

    Returns:
      The last block's output.

    Raises:
      ValueError: if the strides do not multiply to `output_stride`.
    """
    unreached = "The target output_stride cannot be reached."
    wanted = math.inf if output_stride is None else output_stride
    reached = rate = 1
    for block in blocks:
        with tf.variable_scope(block.scope, "block", [net]) as scope:
            for number, unit in enumerate(block.args, 1):
                if reached > wanted:
                    raise ValueError(unreached)
                stride, dilates = unit.get("stride", 1), reached == wanted
                own = {**unit, "stride": 1} if dilates else unit
                with tf.variable_scope(f"unit_{number}", values=[net]):
                    net = block.unit_fn(net, rate=rate if dilates else 1, **own)
                rate, reached = (rate * stride, reached) if dilates else (rate, reached * stride)
            net = collect_named_outputs(outputs_collections, scope.name, net)
    if output_stride not in (None, reached):
        raise ValueError(unreached)
    return net


@export(
    "contrib.slim.nets.resnet_utils.resnet_arg_scope",
    "contrib.slim.nets.resnet_v1.resnet_arg_scope",
    "contrib.slim.nets.resnet_v2.resnet_arg_scope",
)
def resnet_arg_scope(
    weight_decay: float = 0.0001,
    batch_norm_decay: float = 0.997,
    batch_norm_epsilon: float = 1e-5,
    batch_norm_scale: bool = True,
) -> dict[str, dict[str, Any]]:
    """Return the arguments of layers that residual networks were trained with.

    Args:
      weight_decay: of the L2 regularizer.
      batch_norm_decay, batch_norm_epsilon, batch_norm_scale: `decay`, `epsilon` and `scale` of
        batch normalization.
    """
    normalization = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "scale": batch_norm_scale,
        "updates_collections": GraphKeys.UPDATE_OPS,
    }
    with (
        arg_scope(
            [layers.conv2d],
            weights_regularizer=layers.l2_regularizer(weight_decay),
            weights_initializer=layers.variance_scaling_initializer(),
            activation_fn=tf.nn.relu,
            normalizer_fn=layers.batch_norm,
            normalizer_params=normalization,
        ),
        arg_scope([layers.batch_norm], **normalization),
        arg_scope([layers.max_pool2d], padding="SAME") as scope,
    ):
        return scope
