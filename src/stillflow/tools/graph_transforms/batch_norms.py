"""Graph transforms that fold batch norms and paddings into convolutions."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from stillflow.graph.dims import shape_text
from stillflow.protos import NodeDef
from stillflow.tools.graph_transforms.context import Context, invalid, transforms
from stillflow.tools.graph_transforms.nodes import (
    ANY,
    CONST,
    Match,
    Pattern,
    constant,
    replaced,
    value_of,
)

Array = np.ndarray[Any, Any]

_CONVOLUTION = Pattern("Conv2D|DepthwiseConv2dNative", (ANY, CONST))
_OLD_NORMS = "BatchNormWithGlobalNormalization|FusedBatchNorm"
_STATISTICS = (CONST,) * 4


def _channels(op: str, weights: Array) -> int:
    if op == "DepthwiseConv2dNative":
        return int(weights.shape[2] * weights.shape[3])
    return int(weights.shape[-1])


def _scaled(weights: Array, scale: Array, op: str) -> Array:
    channels = _channels(op, weights)
    return (weights.reshape(-1, channels) * scale).reshape(weights.shape)


@transforms("fold_batch_norms")
def fold_batch_norms(graph_def: Any, context: Context) -> Any:
    """Fold multiplications of results into constant weights."""
    pattern = Pattern("Mul", (Pattern("Conv2D|MatMul|DepthwiseConv2dNative", (ANY, CONST)), CONST))

    def replace(match: Match, read: Collection[str]) -> list[Any]:
        product, factor = match.node, match.inputs[1].node
        convolution = match.inputs[0].node
        source, weights = (part.node for part in match.inputs[0].inputs)
        if {convolution.name, weights.name, factor.name} & set(read):
            return [product, convolution, source, weights, factor]
        values, factors = value_of(weights), value_of(factor)
        if factors.shape != (_channels(convolution.op, values),):
            raise invalid(
                f"Mul constant input to batch norm has bad shape: {shape_text(factors.shape)}"
            )
        new = _named(convolution, product.name)
        return [constant(weights.name, _scaled(values, factors, convolution.op)), source, new]

    return replaced(graph_def, pattern, replace)


def _named(node: Any, name: str) -> Any:
    new = NodeDef()
    new.CopyFrom(node)
    new.name = name
    return new


@transforms("fold_old_batch_norms")
def fold_old_batch_norms(graph_def: Any, context: Context) -> Any:
    """Fold a batch norm after a convolution into weights and a bias."""
    forms: list[tuple[Pattern, Callable[[Match], list[Any]]]] = [
        (_CONVOLUTION, _behind_convolution),
        (Pattern("BatchToSpaceND", (_CONVOLUTION, CONST, CONST)), _behind_batch_to_space),
        (Pattern("ConcatV2|Concat", (_CONVOLUTION, _CONVOLUTION, CONST)), _behind_concat),
    ]
    for before, fold in forms:
        folded = True
        while folded:
            folded = False

            def replace(match: Match, read: Any, fold: Any = fold) -> list[Any]:
                nonlocal folded
                folded = True
                return list(fold(match))

            graph_def = replaced(graph_def, Pattern(_OLD_NORMS, (before, *_STATISTICS)), replace)
    return graph_def


def _scale_and_offset(match: Match) -> tuple[Array, Array]:
    node = match.node
    values = [value_of(part.node) for part in match.inputs[1:]]
    if node.op == "FusedBatchNorm":
        gamma, beta, mean, variance = values
        epsilon, is_scaled = node.attr["epsilon"].f, True
    else:
        mean, variance, beta, gamma = values
        epsilon = node.attr["variance_epsilon"].f
        is_scaled = node.attr["scale_after_normalization"].b
    for name, value in (("Variance", variance), ("Beta", beta), ("gamma", gamma)):
        if value.shape != mean.shape[:1]:
            raise invalid(f"{name} input to batch norm has bad shape: {shape_text(value.shape)}")
    scale = np.float32(1) / np.sqrt(variance + np.float32(epsilon))
    if is_scaled:
        scale = scale * gamma
    return scale, -mean * scale + beta


def _fused(match: Match, scale: Array, offset: Array, name: str) -> list[Any]:
    """Return the nodes of a convolution with scaled weights, and of its bias, called `name`."""
    convolution = match.node
    source, weights = (part.node for part in match.inputs)
    values = value_of(weights)
    if scale.shape != (_channels(convolution.op, values),):
        raise invalid(f"Mean input to batch norm has bad shape: {shape_text(scale.shape)}")
    bias = NodeDef(op="BiasAdd", name=name)
    bias.input.extend([convolution.name, f"{convolution.name}_bn_offset"])
    for attr in ("data_format", "T"):
        if attr in convolution.attr:
            bias.attr[attr].CopyFrom(convolution.attr[attr])
    return [
        constant(weights.name, _scaled(values, scale, convolution.op)),
        source,
        convolution,
        constant(f"{convolution.name}_bn_offset", offset),
        bias,
    ]


def _behind_convolution(match: Match) -> list[Any]:
    return _fused(match.inputs[0], *_scale_and_offset(match), match.node.name)


def _behind_batch_to_space(match: Match) -> list[Any]:
    before = match.inputs[0]
    name = f"{before.inputs[0].node.name}/biasadd"
    nodes = _fused(before.inputs[0], *_scale_and_offset(match), name)
    last = _named(before.node, match.node.name)
    last.input[0] = name
    return [*nodes, before.inputs[1].node, before.inputs[2].node, last]


def _behind_concat(match: Match) -> list[Any]:
    scale, offset = _scale_and_offset(match)
    concat = match.inputs[0]
    axis = concat.inputs[2].node
    parts = [slice(None), slice(None)]
    if int(value_of(axis)) == 3:
        first = value_of(concat.inputs[0].inputs[1].node).shape[3]
        parts = [slice(None, first), slice(first, None)]
    last = _named(concat.node, match.node.name)
    nodes = []
    for i, part in enumerate(parts):
        last.input[i] = f"{concat.node.name}_bn_in{i}"
        nodes += _fused(concat.inputs[i], scale[part], offset[part], last.input[i])
    return [*nodes, axis, last]


@transforms("flatten_atrous_conv")
def flatten_atrous_conv(graph_def: Any, context: Context) -> Any:
    """Make a dilated convolution, written by batches, a plain one with zeros in its filter."""
    pattern = Pattern(
        "BatchToSpaceND",
        (
            Pattern(
                "Conv2D|DepthwiseConv2dNative", (Pattern("SpaceToBatchND", (ANY, ANY, ANY)), ANY)
            ),
            ANY,
            ANY,
        ),
    )

    def replace(match: Match, read: Any) -> list[Any]:
        convolution = match.inputs[0].node
        split, filters = match.inputs[0].inputs
        source, (rate_h, rate_w) = split.inputs[0].node, value_of(split.inputs[1].node)
        values = value_of(filters.node)
        height, width = (np.array(values.shape[:2]) - 1) * (rate_h, rate_w) + 1
        wide = np.zeros((height, width, *values.shape[2:]), np.float32)
        wide[::rate_h, ::rate_w] = values
        flat = NodeDef(op=convolution.op, name=match.node.name, device=convolution.device)
        flat.input.extend([source.name, filters.node.name])
        attrs = ["T", "strides", "data_format"]
        for attr in attrs + ["use_cudnn_on_gpu"] * (convolution.op == "Conv2D"):
            flat.attr[attr].CopyFrom(convolution.attr[attr])
        flat.attr["padding"].s = b"SAME"
        return [source, constant(filters.node.name, wide), flat]

    return replaced(graph_def, pattern, replace)
