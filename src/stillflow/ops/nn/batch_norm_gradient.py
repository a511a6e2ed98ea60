"""The second gradient of batch normalization, built from plain ops."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.shape import reshape, size, squeeze
from stillflow.ops.control_flow.identity_and_group import stop_gradient
from stillflow.ops.math.binary import squared_difference
from stillflow.ops.math.cast import cast
from stillflow.ops.math.reductions import reduce_mean, reduce_sum
from stillflow.ops.math.unary import reciprocal, rsqrt
from stillflow.ops.nn.backpropagation import backpropagate


def _trained(
    grad_y: Tensor, x: Tensor, scale: Any, epsilon: float, axes: list[int], keepdims: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients in training: mean and variance depend on x."""
    if keepdims:
        scale = reshape(scale, [1, size(scale), 1, 1])
    mean_grad_y = reduce_mean(grad_y, axes, keepdims=keepdims)
    mean_x = reduce_mean(x, axes, keepdims=keepdims)
    difference = squared_difference(x, stop_gradient(mean_x))
    var_x = reduce_mean(difference, axes, keepdims=keepdims)
    grad_y_offset = grad_y - mean_grad_y
    x_offset = x - mean_x
    mean = reduce_mean(grad_y * x_offset, axis=axes, keepdims=keepdims)
    factor = scale * rsqrt(var_x + epsilon)
    grad_x = factor * (grad_y_offset - reciprocal(var_x + epsilon) * mean * x_offset)
    inverse = rsqrt(var_x + epsilon)
    grad_scale = inverse * reduce_sum(grad_y * x_offset, axis=axes, keepdims=keepdims)
    if keepdims:
        grad_scale = squeeze(grad_scale)
    return grad_x, grad_scale, reduce_sum(grad_y, axis=axes)


def _fixed(
    grad_y: Tensor, x: Tensor, scale: Any, statistics: list[Any], epsilon: float, axes: list[int],
    keepdims: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return the gradients in inference: mean and variance are given."""
    mean, variance = statistics
    if keepdims:
        shape = [1, size(mean), 1, 1]
        mean, variance = reshape(mean, shape), reshape(variance, shape)
        scale = reshape(scale, shape)
    grad_offset = reduce_sum(grad_y, axis=axes)
    inverse = rsqrt(variance + epsilon)
    grad_scale = reduce_sum(grad_y * (x - mean) * inverse, axis=axes)
    return grad_y * scale * inverse, grad_scale, grad_offset


def batch_norm_gradient(
    grad_y: Tensor,
    x: Tensor,
    scale: Any,
    pop_mean: Any,
    pop_var: Any,
    epsilon: float,
    data_format: bytes,
    is_training: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients for x, scale and offset, by plain ops; of statistics if not training."""
    kind = x.dtype.base_dtype
    if kind == dtypes.float16:
        x, grad_y = cast(x, dtypes.float32), cast(grad_y, dtypes.float32)
    first = data_format != b"NHWC"
    axes = [0, 2, 3] if first else [0, 1, 2]
    if is_training:
        found = _trained(grad_y, x, scale, epsilon, axes, first)
    else:
        found = _fixed(grad_y, x, scale, [pop_mean, pop_var], epsilon, axes, first)
    return cast(found[0], kind), found[1], found[2]


def second_gradient(node: Node, *grads: Any) -> list[Tensor | None]:
    """Return the gradient of FusedBatchNormGrad: its formula as a graph, differentiated again."""
    grad_y, x, scale, mean, variance = node.inputs[:5]
    made_before = len(node.op.graph.get_operations())
    outputs = batch_norm_gradient(
        grad_y, x, scale, mean, variance, node.epsilon, node.data_format, node.is_training
    )
    formula = node.op.graph.get_operations()[made_before:]
    results = backpropagate(formula, outputs, [grad_y, x, scale], list(grads[:3]))
    return [*results, *[None] * (len(node.inputs) - 3)]
