"""Layers that are there once more, with other weights."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.operation import Operation, Tensor


def clone_layer(layer: Operation, inputs: Any, weights: Any, name: str) -> Tensor:
    """Return a convolution or matrix product of other inputs. Dilations are not kept.

    Args:
      layer: a `Conv2D`, `DepthwiseConv2dNative` or `MatMul`.
      inputs, weights: what the new one takes.
      name: its name.
    """
    if layer.type == "MatMul":
        transposed = {key: layer.get_attr(key) for key in ("transpose_a", "transpose_b")}
        return tf.matmul(inputs, weights, name=name, **transposed)
    settings = {"strides": layer.get_attr("strides"), "padding": layer.get_attr("padding")}
    if layer.type == "DepthwiseConv2dNative":
        return tf.nn.depthwise_conv2d(inputs, weights, name=name, **settings)
    return tf.nn.conv2d(
        inputs,
        weights,
        use_cudnn_on_gpu=layer.get_attr("use_cudnn_on_gpu"),
        data_format=layer.get_attr("data_format").decode(),
        name=name,
        **settings,
    )


def clone_batch_to_space(end: Operation, layer: Any, name: str) -> Tensor:
    """End a dilated convolution with a copy of another's `BatchToSpaceND`."""
    return tf.batch_to_space_nd(layer, end.inputs[1], end.inputs[2], name=name)


def depthwise_shape(weights: Tensor) -> list[int | None]:
    """Return the shape of one value for each output channel of a depthwise convolution."""
    return weights.get_shape().as_list()[2:4]
