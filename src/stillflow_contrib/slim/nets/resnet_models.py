"""Shared parts of both versions of residual networks: the network, and its four usual depths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import arg_scope
from stillflow.contrib.layers.utils import convert_collection_to_dict
from stillflow.graph.operation import Tensor
from stillflow_contrib.slim.nets.resnet_utils import Block, conv2d_same, stack_blocks_dense

layers = tf.contrib.layers

# Units of each of the four blocks, by the number of layers.
_UNITS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3)}


def block_of(
    unit_fn: Callable[..., Any], scope: str, base_depth: int, num_units: int, stride: int
) -> Block:
    """Return a block of bottleneck units whose last one has the stride."""
    unit = {"depth": base_depth * 4, "depth_bottleneck": base_depth}
    strides = [1] * (num_units - 1) + [stride]
    return Block(scope, unit_fn, [{**unit, "stride": each} for each in strides])


def _root(net: Any, preactivated: bool) -> Tensor:
    """Return the first convolution and pooling; units that normalize their inputs want it bare."""
    bare = {"activation_fn": None, "normalizer_fn": None} if preactivated else {}
    with arg_scope([layers.conv2d], **bare):
        net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
    return layers.max_pool2d(net, [3, 3], stride=2, scope="pool1")


def _stride_after_root(output_stride: float | None) -> float | None:
    if output_stride is None:
        return None
    if output_stride % 4 != 0:
        raise ValueError("The output_stride needs to be a multiple of 4.")
    return output_stride / 4


def network_of(name: str, unit_fn: Callable[..., Any], preactivated: bool) -> Callable[..., Any]:
    """Return the function `name` that makes a residual network of blocks.

    Outputs of `unit_fn` are collected with those of layers. If `preactivated`, units normalize
    their inputs, so that the last output wants it too.
    """

    def network(
        inputs: Any,
        blocks: Sequence[Block],
        num_classes: int | None = None,
        is_training: Any = True,
        global_pool: bool = True,
        output_stride: float | None = None,
        include_root_block: bool = True,
        reuse: Any = None,
        scope: str | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        with tf.variable_scope(scope, name, [inputs], reuse=reuse) as variables:
            collection = f"{variables.original_name_scope}_end_points"
            collected = [layers.conv2d, unit_fn, stack_blocks_dense]
            with (
                arg_scope(collected, outputs_collections=collection),
                arg_scope([layers.batch_norm], is_training=is_training),
            ):
                net = inputs
                if include_root_block:
                    output_stride = _stride_after_root(output_stride)
                    net = _root(net, preactivated)
                net = stack_blocks_dense(net, blocks, output_stride)
                if preactivated:
                    net = layers.batch_norm(net, activation_fn=tf.nn.relu, scope="postnorm")
                if global_pool:
                    net = tf.reduce_mean(net, [1, 2], name="pool5", keepdims=True)
                return _classified(net, num_classes, collection)

    network.__name__ = network.__qualname__ = name
    network.__doc__ = f"""A residual network; `{name}_50` and others are the usual ones.

    Args:
      inputs: images, float32 `[batch, height, width, channels]`.
      blocks: the blocks, from `{name}_block`.
      num_classes: how many logits there are; None for the features alone.
      is_training: whether batches are normalized by their own moments.
      global_pool: whether features are averaged over height and width.
      output_stride: how many times smaller than the inputs the features are; dilated convolutions
        take the place of strides from there on. By default by all strides.
      include_root_block: whether a convolution and a pooling, each of stride 2, come first.
      reuse: whether variables are those that there are.
      scope: of the variables.

    Returns:
      The logits or features, `[batch, height, width, channels]`, and outputs by name.

    Raises:
      ValueError: if `output_stride` cannot be reached.
    """
    network.default_image_size = 224  # type: ignore[attr-defined]
    return network


def _classified(net: Any, num_classes: int | None, collection: str) -> tuple[Any, dict[str, Any]]:
    if num_classes is None:
        return net, convert_collection_to_dict(collection)
    net = layers.conv2d(
        net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="logits"
    )
    end_points = convert_collection_to_dict(collection)
    end_points["predictions"] = layers.softmax(net, scope="predictions")
    return net, end_points


def model_of(
    network: Callable[..., Any], block: Callable[..., Block], depth: int
) -> Callable[..., Any]:
    """Return the function that makes the residual network of one of the usual depths."""
    name = f"{network.__name__}_{depth}"

    def model(
        inputs: Any,
        num_classes: int | None = None,
        is_training: Any = True,
        global_pool: bool = True,
        output_stride: float | None = None,
        reuse: Any = None,
        scope: str = name,
    ) -> tuple[Any, dict[str, Any]]:
        blocks = [
            block(f"block{number}", 32 * 2**number, units, 2 if number < 4 else 1)
            for number, units in enumerate(_UNITS[depth], 1)
        ]
        options = (num_classes, is_training, global_pool, output_stride, True, reuse, scope)
        result: tuple[Any, dict[str, Any]] = network(inputs, blocks, *options)
        return result

    model.__name__ = model.__qualname__ = name
    model.__doc__ = f"""The `{network.__name__}` of {depth} layers.

    Args:
      inputs: images, float32 `[batch, height, width, channels]`, 224 x 224 as a rule.
      num_classes, is_training, global_pool, output_stride, reuse, scope: as there.

    Returns:
      The logits or features, `[batch, height, width, channels]`, and outputs by name.

    Raises:
      ValueError: if `output_stride` cannot be reached.
    """
    return model
