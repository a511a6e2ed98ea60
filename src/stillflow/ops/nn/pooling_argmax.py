"""Pools that tell where the maxima stand: MaxPoolWithArgmax and its gradients."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.math.kernels import REAL_NUMBER
from stillflow.ops.nn import pool_kernels as kernels
from stillflow.ops.nn.pooling import (
    WINDOW,
    attributes,
    comparable,
    over_images,
    pool_shape,
    same_as_image,
    sample_image,
)
from stillflow.ops.samples import Sample, Samples

_ARGMAX_TYPES = f"""
    include_batch_in_index: bool = false
    Targmax: {{int32, int64}}
    T: {REAL_NUMBER}
"""

max_pool_with_argmax_op = op(
    f"""
    MaxPoolWithArgmax(input: T) -> (output: T, argmax: Targmax)
    ksize: list(int) >= 4
    strides: list(int) >= 4
    Targmax: {{int32, int64}} = int64
    padding: {{"SAME", "VALID"}}
    include_batch_in_index: bool = false
    T: {REAL_NUMBER}
""",
    gpu_types="fractions",
    cost=Cost("unknown"),
)


@max_pool_with_argmax_op.shape
def max_pool_with_argmax_shape(node: Node) -> OutputDims:
    result = pool_shape(node, "MaxPool", 1, with_depth=True)
    return [result, result]


@max_pool_with_argmax_op.kernel
def max_pool_with_argmax_kernel(node: Node) -> Kernel:
    whole, kind = node.include_batch_in_index, getattr(torch, node.Targmax.name)

    def pool(image: Any, geometry: Any) -> tuple[Any, Any]:
        best, places = kernels.max_pool_with_argmax(image, geometry, whole)
        return best, places.to(kind)

    return over_images(node, comparable(node, pool, 1), [0], 1)


@max_pool_with_argmax_op.gradient
def max_pool_with_argmax_gradient(node: Node, grad: Tensor, _: Any) -> Gradients:
    given = attributes(node)
    return max_pool_grad_with_argmax_op(
        node.inputs[0], grad, node.outputs[1],
        include_batch_in_index=node.include_batch_in_index, **given,
    )  # fmt: skip


@max_pool_with_argmax_op.samples
def max_pool_with_argmax_samples() -> Samples:
    two = [1, 2, 2, 1]
    for whole in (False, True):
        yield Sample(
            sample_image(), ksize=two, strides=two, padding="SAME", include_batch_in_index=whole
        )


max_pool_grad_with_argmax_op = op(
    f"""
    MaxPoolGradWithArgmax(input: T, grad: T, argmax: Targmax) -> output: T
    {WINDOW}
    {_ARGMAX_TYPES}
""",
    gpu_types="fractions",
    cost=Cost("unknown"),
)
max_pool_grad_with_argmax_op.shape(same_as_image)


@max_pool_grad_with_argmax_op.kernel
def max_pool_grad_with_argmax_kernel(node: Node) -> Kernel:
    image, grad, argmax = node.inputs
    return node.call(kernels.scatter_to_argmax, image, grad, argmax, node.include_batch_in_index)


max_pool_grad_grad_with_argmax_op = op(
    f"""
    MaxPoolGradGradWithArgmax(input: T, grad: T, argmax: Targmax) -> output: T
    {WINDOW}
    {_ARGMAX_TYPES}
""",
    gpu_types="fractions",
    cost=Cost("unknown"),
)


@max_pool_grad_grad_with_argmax_op.shape
def max_pool_grad_grad_with_argmax_shape(node: Node) -> OutputDims:
    result = pool_shape(node, "MaxPool", 3, with_depth=True)
    dims.merge(node.dims(0), node.dims(1))
    dims.merge(node.dims(2), result)
    return result


@max_pool_grad_grad_with_argmax_op.kernel
def max_pool_grad_grad_with_argmax_kernel(node: Node) -> Kernel:
    _, grad, argmax = node.inputs
    return node.call(kernels.gather_from_argmax, grad, argmax, node.include_batch_in_index)
