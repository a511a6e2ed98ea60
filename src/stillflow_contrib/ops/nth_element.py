"""The element of a rank in each row: NthElement."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.arrays import native_kernels
from stillflow.ops.arrays.search import ordered
from stillflow.ops.arrays.shape import expand_dims
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal
from stillflow.ops.math.division import div
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.samples import Bad, Sample, Samples

_REAL = "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"

nth_element_op = op(
    f"""
    NthElement(input: T, n: int32) -> values: T
    reverse: bool = false
    T: {_REAL}
""",
    numbers=("n",),
)


@nth_element_op.shape
def nth_element_shape(node: Node) -> OutputDims:
    if node.planning and node.dims(0) == ():
        raise ValueError("Input must be >= 1-D, got shape []")
    dims = dims_lib.with_rank_at_least(node.dims(0), 1)
    value, last = node.value(1), dims_lib.dim(dims, -1)
    if value is not None and value.ndim:
        raise ValueError(f"Input must be scalar but has rank {value.ndim}")
    if value is not None and value < 0:
        if node.planning:
            raise ValueError(f"Need n >= 0, got {value}")
        dims_lib.make_dim(int(value), 1)
    if value is not None and last is not None and last <= value:
        if node.planning:
            raise ValueError("Input must have at least n+1 columns")
        raise ValueError(f"Input must have last dimension > n = {value} but is {last}")
    return dims_lib.subshape(dims, 0, -1)


def _place_of_nth(keys: Any, position: int) -> torch.Tensor:
    if not keys.is_cpu:  # whose search is for one row at a time
        return torch.sort(keys, -1)[1][..., position : position + 1]
    return torch.kthvalue(keys, position + 1, -1, keepdim=True)[1]


@nth_element_op.kernel
def nth_element_kernel(node: Node) -> Kernel:
    reverse = node.reverse

    def nth(x: Any, n: Any) -> torch.Tensor:
        position = int(n)
        if position < 0:
            raise ValueError(f"Need n >= 0, got {position}")
        width = x.shape[-1]
        if position >= width:
            raise ValueError("Input must have at least n+1 columns")
        if reverse:
            position = width - 1 - position
        if (found := native_kernels.ranked(x, position)) is not None:
            return found
        where = _place_of_nth(ordered(x), position)
        signed = {
            torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64,
        }.get(x.dtype)  # fmt: skip
        if signed is not None:
            return torch.gather(x.view(signed), -1, where).view(x.dtype)[..., 0].clone()
        return torch.gather(x, -1, where)[..., 0].clone()

    return nth


@nth_element_op.gradient
def nth_element_gradient(node: Node, grad: Any) -> Gradients:
    hits = equal(expand_dims(node.outputs[0], -1), node.inputs[0])
    indicators = cast(hits, grad.dtype)
    grad = expand_dims(grad, -1)
    count = expand_dims(reduce_sum(indicators, -1), -1)
    return [div(indicators, count) * grad, None]


@nth_element_op.samples
def nth_element_samples() -> Samples:
    x = np.array([[1, 5, 3, 4], [2, 7, 9, 0]], np.float32)
    yield Sample(x, np.int32(1), fixed=(1,))
    yield Sample(x, np.int32(0), reverse=True, fixed=(1,))
    yield Bad(x, np.int32(4), match="last dimension > n|n\\+1 columns")


@export("contrib.nn.nth_element")
def nth_element(input: Any, n: Any, reverse: bool = False, name: str | None = None) -> Tensor:
    """Return the element of rank `n` (from 0) of the last dimension, in ascending order."""
    return nth_element_op(input, n, reverse=reverse, name=name)
