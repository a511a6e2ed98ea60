"""Convolutions of images that are resized and mirrored first: FusedPadConv2D and its kin."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.arrays.pad import mirror
from stillflow.ops.memory_limits import require_room
from stillflow.ops.nn import windows
from stillflow.ops.nn.conv import ramp
from stillflow.ops.nn.convolution import Slide, convolution
from stillflow.ops.nn.interpolation import interpolate, weights
from stillflow.ops.nn.precision import precise_on_cpu
from stillflow.ops.samples import Bad, Sample, Samples

_CONVOLUTION = """
    mode: {"REFLECT", "SYMMETRIC"}
    strides: list(int)
    padding: {"SAME", "VALID"}
"""

fused_pad_conv2d_op = op(
    f"""
    FusedPadConv2D(input: T, paddings: int32, filter: T) -> output: T
    T: {{half, float, double}}
    {_CONVOLUTION}
""",
    numbers=("paddings",),
    cost=Cost("unknown"),
    latency="long",
)
fused_resize_and_pad_conv2d_op = op(
    f"""
    FusedResizeAndPadConv2D(input: T, size: int32, paddings: int32, filter: T) -> output: T
    T: {{half, float, double}}
    resize_align_corners: bool = false
    {_CONVOLUTION}
""",
    numbers=("size", "paddings"),
    cost=Cost("unknown"),
    latency="long",
)


def _padded(node: Node, image: Any, index: int) -> tuple[int | None, ...]:
    """Return the shape after padding by input `index`."""
    shape = dims.with_rank(node.dims(index), 2)
    if shape[0] is not None:
        dims.with_rank(image, shape[0])
    dims.merge(shape, (4, 2))
    paddings = node.value(index)
    if paddings is None:
        return (None,) * 4
    if paddings.min() < 0:
        raise ValueError("Paddings must be non-negative")
    added = paddings.sum(axis=1).tolist()
    return tuple(dims.add(size, more) for size, more in zip(image, added))


def _convolved(node: Node, image: Any, filter: Any) -> tuple[int | None, ...]:
    if len(node.strides) != 4:
        raise ValueError(
            "Operation requires the stride attribute to contain 4 values, but got: "
            f"{len(node.strides)}"
        )
    dims.merge_dim(image[3], filter[2])
    sizes = [
        windows.output_size(
            image[axis + 1], filter[axis], node.strides[axis + 1], node.padding,
            running=node.planning,
        )
        for axis in range(2)
    ]  # fmt: skip
    return (image[0], *sizes, filter[3])


@fused_pad_conv2d_op.shape
def fused_pad_conv2d_shape(node: Node) -> OutputDims:
    image = _padded(node, dims.with_rank(node.dims(0), 4), 1)
    return _convolved(node, image, dims.with_rank(node.dims(2), 4))


@fused_resize_and_pad_conv2d_op.shape
def fused_resize_and_pad_conv2d_shape(node: Node) -> OutputDims:
    batch, _, _, channels = dims.with_rank(node.dims(0), 4)
    dims.merge(node.dims(1), (2,))
    size = node.value(1)
    sizes = (None, None) if size is None else tuple(size.tolist())
    image = _padded(node, (batch, *sizes, channels), 2)
    return _convolved(node, image, dims.with_rank(node.dims(3), 4))


def _slide(node: Node) -> Slide:
    if node.strides[0] != 1 or node.strides[3] != 1:
        raise ValueError(
            "Current implementation does not yet support strides in the batch and depth dimensions."
        )
    return Slide(tuple(node.strides), (1, 1, 1, 1), node.padding, (), b"NHWC")


def _offset(node: Node) -> int:
    return int(node.mode == b"REFLECT")


def _convolve(image: Any, filter: Any, paddings: Any, offset: int, slide: Slide) -> torch.Tensor:
    pairs = paddings.tolist()
    for axis, what in ((0, "batches"), (3, "channels")):
        if any(pairs[axis]):
            raise ValueError(
                f"Fused mirror padding only support spatial padding, not {what}: {pairs}"
            )
    sizes = [size + sum(pair) for size, pair in zip(image.shape, pairs, strict=True)]
    require_room(sizes, dtypes.as_dtype(str(image.dtype).removeprefix("torch.")))
    wide = mirror(image, paddings, offset)
    if image.numel() == 0:
        raise ValueError("Input tensor can't be empty")
    return convolution(wide, filter, slide.geometry(wide.shape, filter.shape))


@fused_pad_conv2d_op.kernel
def fused_pad_conv2d_kernel(node: Node) -> Kernel:
    offset, slide = _offset(node), _slide(node)
    run = precise_on_cpu(node, _convolve, 2)
    return lambda image, paddings, filter: run(image, filter, paddings, offset, slide)


def _resized(image: Any, size: Any, align_corners: bool) -> torch.Tensor:
    wanted = size.tolist()
    if min(wanted) <= 0:
        raise ValueError("output dimensions must be positive")
    if not image.numel():
        raise ValueError("Input tensor can't be empty")
    require_room((image.shape[0], *wanted, image.shape[3]), dtypes.float32)
    rows, columns = (
        weights(size, count, align_corners, False)
        for size, count in zip(image.shape[1:3], wanted, strict=True)
    )
    return interpolate(image, rows, columns)


@fused_resize_and_pad_conv2d_op.kernel
def fused_resize_and_pad_conv2d_kernel(node: Node) -> Kernel:
    offset, slide, align_corners = _offset(node), _slide(node), node.resize_align_corners

    def run(image: Any, filter: Any, size: Any, paddings: Any) -> torch.Tensor:
        return _convolve(_resized(image, size, align_corners), filter, paddings, offset, slide)

    convolve = precise_on_cpu(node, run, 2)
    return lambda image, size, paddings, filter: convolve(image, filter, size, paddings)


_EDGES = np.array([[0, 0], [1, 2], [2, 0], [0, 0]], np.int32)


@fused_pad_conv2d_op.samples
def fused_pad_conv2d_samples() -> Samples:
    image, filter = ramp(1, 5, 4, 3), ramp(3, 2, 3, 2)
    for mode in ("REFLECT", "SYMMETRIC"):
        for strides, padding in (([1, 1, 1, 1], "SAME"), ([1, 2, 1, 1], "VALID")):
            attrs = {"mode": mode, "strides": strides, "padding": padding}
            yield Sample(image, _EDGES, filter, fixed=(1,), grad=False, **attrs)
    yield Bad(image, -_EDGES, filter, **attrs, match="Paddings must be non-negative")
    yield Bad(image, _EDGES[:3], filter, **attrs, match="must be rank 3|rank of inputs")
    yield Bad(image, _EDGES.T.copy(), filter, **attrs, match="must be rank 2|must be a matrix")
    yield Bad(image, _EDGES[[1, 0, 0, 0]], filter, **attrs, match="spatial padding, not batches")
    yield Bad(image, _EDGES, filter[:, :, :2], **attrs, match="must be equal|the same depth")


@fused_resize_and_pad_conv2d_op.samples
def fused_resize_and_pad_conv2d_samples() -> Samples:
    image, filter = ramp(1, 5, 4, 3), ramp(3, 2, 3, 2)
    attrs = {"mode": "REFLECT", "strides": [1, 1, 2, 1], "padding": "SAME"}
    for align_corners in (True, False):
        yield Sample(
            image, [7, 9], _EDGES, filter, fixed=(1, 2), grad=False,
            resize_align_corners=align_corners, **attrs,
        )  # fmt: skip
    yield Bad(image, [7, 9, 1], _EDGES, filter, **attrs, match="must be equal|two elements")
    yield Bad(image, [7, 0], _EDGES, filter, **attrs, match="positive|Negative|less than")
