"""Inception networks as text: layers, branches, cells, and their parser.

A layer is written `name`, then its differences from stride 1 and the default padding:

    Conv2d_0b_3x3=128         a convolution with 128 channels and a 3 x 3 kernel
    Conv2d_1a_3x3=160/2       of stride 2
    Conv2d_1a_1x1@3x3=384/2   with a kernel that is not the one that its name says
    Conv2d_0a_1x1=64~0.09     with weights of standard deviation 0.09 at the start
    MaxPool_1a_3x3/2!VALID    a pooling of stride 2 without padding

Layers of one branch follow each other; `|` between two means that both take the same inputs and
their outputs are joined. A cell is a tuple of branches whose outputs are joined.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import arg_scope
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow_contrib.slim.nets.classifiers import trunc_normal

layers = tf.contrib.layers

Depth = Callable[[int], int]
# A layer, the branches of a cell, or a function that makes the output from inputs and `Depth`.
Stage = str | tuple[str, ...] | Callable[[Any, Depth], Any]

_LAYER = re.compile(
    r"(?P<scope>\w+?_(?P<height>\d)x(?P<width>\d))(@(?P<kernel>\dx\d))?(=(?P<depth>\d+))?"
    r"(/(?P<stride>\d))?(!(?P<padding>\w+))?(~(?P<stddev>[\d.]+))?"
)


def _layer(net: Any, text: str, depth: Depth) -> Tensor:
    match = _LAYER.fullmatch(text)
    assert match is not None, text
    name = match["scope"]
    size = match["kernel"] or f"{match['height']}x{match['width']}"
    kernel = [int(each) for each in size.split("x")]
    options: dict[str, Any] = {"scope": name}
    if match["stride"]:
        options["stride"] = int(match["stride"])
    if match["padding"]:
        options["padding"] = match["padding"]
    if match["stddev"]:
        options["weights_initializer"] = trunc_normal(float(match["stddev"]))
    if name.startswith("MaxPool"):
        return layers.max_pool2d(net, kernel, **options)
    if name.startswith("AvgPool"):
        return layers.avg_pool2d(net, kernel, **options)
    return layers.conv2d(net, depth(int(match["depth"])), kernel, **options)


def _branch(net: Any, text: str, depth: Depth) -> Tensor:
    for step in text.split():
        outputs = [_layer(net, each, depth) for each in step.split("|")]
        net = outputs[0] if len(outputs) == 1 else tf.concat(outputs, 3)
    return net


def _cell(net: Any, branches: tuple[str, ...], depth: Depth) -> Tensor:
    outputs = []
    for number, branch in enumerate(branches):
        with tf.variable_scope(f"Branch_{number}"):
            outputs.append(_branch(net, branch, depth))
    return tf.concat(outputs, 3)


def _output(net: Any, stage: Stage, end_point: str, depth: Depth) -> Tensor:
    if callable(stage):
        return stage(net, depth)
    if isinstance(stage, str):
        return _layer(net, stage, depth)
    with tf.variable_scope(end_point):
        return _cell(net, stage, depth)


def stages_named(*texts: str) -> dict[str, Stage]:
    """Layers by their names, which are the names of their end points."""
    return {re.split("[@=/!~]", text)[0]: text for text in texts}


def features(
    inputs: Any,
    parts: Sequence[tuple[str, dict[str, Stage]]],
    final_endpoint: str,
    depth: Depth,
) -> tuple[Any, dict[str, Any]]:
    """Return the outputs of the stages up to one: the last, and all by end point.

    Inputs are `[batch, height, width, channels]`; `parts` have the default padding of some stages,
    and these by end points. `depth` says how many channels a layer has, from the number written.
    """
    net, end_points = inputs, {}
    padded = [layers.conv2d, layers.max_pool2d, layers.avg_pool2d, layers.separable_conv2d]
    for padding, stages in parts:
        with arg_scope(padded, stride=1, padding=padding):
            for end_point, stage in stages.items():
                net = end_points[end_point] = _output(net, stage, end_point, depth)
                if end_point == final_endpoint:
                    return net, end_points
    raise ValueError(f"Unknown final endpoint {final_endpoint}")


def depth_of(depth_multiplier: float, min_depth: int) -> Depth:
    """Return a layer's number of channels: a multiple of the nominal one, with a minimum."""
    if depth_multiplier <= 0:
        raise ValueError("depth_multiplier is not greater than zero.")
    return lambda depth: max(int(depth * depth_multiplier), min_depth)


def kernel_within(net: Any, kernel_size: list[int]) -> list[int]:
    """Return the kernel, or the whole image where that is known to be smaller."""
    sizes = net.shape.as_list()[1:3]
    if None in sizes:
        return kernel_size
    return [min(*pair) for pair in zip(sizes, kernel_size, strict=True)]


def bare_logits(
    net: Any, num_classes: int, scope: str, spatial_squeeze: bool, **kwargs: Any
) -> Tensor:
    """Return a convolution to one channel for each class.

    Height and width are left out if wanted.
    """
    logits = layers.conv2d(
        net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope=scope, **kwargs
    )
    return tf.squeeze(logits, [1, 2], name="SpatialSqueeze") if spatial_squeeze else logits


def pooled(net: Any, kernel_size: list[int], dropout_keep_prob: float) -> Tensor:
    """Features averaged over the image, some of them dropped in training."""
    height, width = kernel = kernel_within(net, kernel_size)
    net = layers.avg_pool2d(net, kernel, padding="VALID", scope=f"AvgPool_1a_{height}x{width}")
    return layers.dropout(net, keep_prob=dropout_keep_prob, scope="Dropout_1b")


def normalized_arg_scope(
    weight_decay: float, moving_collection: str, use_batch_norm: bool = True, **normalization: Any
) -> dict[str, dict[str, Any]]:
    """Return the arguments of layers that these networks were trained with.

    Moments of batch normalization are added to `moving_collection`.
    """
    moving = {name: [moving_collection] for name in ("moving_mean", "moving_variance")}
    parameters = {
        "decay": 0.9997,
        "epsilon": 0.001,
        "updates_collections": GraphKeys.UPDATE_OPS,
        **normalization,
        "variables_collections": {"beta": None, "gamma": None, **moving},
    }
    with (
        arg_scope(
            [layers.conv2d, layers.fully_connected],
            weights_regularizer=layers.l2_regularizer(weight_decay),
        ),
        arg_scope(
            [layers.conv2d],
            weights_initializer=layers.variance_scaling_initializer(),
            activation_fn=tf.nn.relu,
            normalizer_fn=layers.batch_norm if use_batch_norm else None,
            normalizer_params=parameters if use_batch_norm else {},
        ) as scope,
    ):
        return scope
