"""Moving blocks between space and depth: SpaceToDepth, DepthToSpace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, OutputDims
from stillflow.ops.arrays import native_kernels
from stillflow.ops.arrays.space_to_batch import permuted
from stillflow.ops.samples import Bad, Sample, Samples

_SIGNATURE = """(input: T) -> output: T
    T: type
    block_size: int >= 2
    data_format: {"NHWC", "NCHW", "NCHW_VECT_C"} = "NHWC"
"""
space_to_depth_op = op("SpaceToDepth" + _SIGNATURE, view=True)
depth_to_space_op = op("DepthToSpace" + _SIGNATURE, view=True)

# Where height and width, channels, and (in vectors of 4) the rest of the channels stand.
_AXES = {b"NHWC": ((1, 2), 3), b"NCHW": ((2, 3), 1), b"NCHW_VECT_C": ((2, 3), 1)}


def _dims(node: Node, colon: str) -> tuple[Any, ...]:
    rank, dims = 5 if node.data_format == b"NCHW_VECT_C" else 4, node.dims(0)
    if node.planning and dims is not None and len(dims) != rank:
        raise ValueError(f"Input rank should be{colon} {rank} instead of{colon} {len(dims)}")
    return dims_lib.with_rank(dims, rank)


@space_to_depth_op.shape
def space_to_depth_shape(node: Node) -> OutputDims:
    dims, size = list(_dims(node, "")), node.block_size
    spatial, channel = _AXES[node.data_format]
    height, width = (dims[axis] for axis in spatial)
    if node.planning and None not in (height, width) and (height % size or width % size):
        raise ValueError(
            f"Image width {width} and height {height} should be divisible by block_size: {size}"
        )
    for axis in spatial:
        dims[axis] = dims_lib.divide(dims[axis], size)
    dims[channel] = dims_lib.multiply(dims[channel], size * size)
    return tuple(dims)


@depth_to_space_op.shape
def depth_to_space_shape(node: Node) -> OutputDims:
    dims, size = list(_dims(node, ":")), node.block_size
    spatial, channel = _AXES[node.data_format]
    depth = dims[channel]
    if node.planning and depth is not None and depth % (size * size):
        raise ValueError(f"Input depth dimension {depth} should be divisible by: {size * size}")
    for axis in spatial:
        dims[axis] = dims_lib.multiply(dims[axis], size)
    dims[channel] = dims_lib.divide(depth, size * size)
    return tuple(dims)


def _to_depth(x: Any, size: int, channels_last: bool) -> Any:
    if channels_last:
        n, h, w, c = x.shape
        shape = (n, h // size, w // size, size * size * c)
        found = native_kernels.transposed(x, n * (h // size), size, w // size, shape)
        if found is not None:
            return found
        x = x.reshape(n, h // size, size, w // size, size, c)
        x = permuted(x, (0, 1, 3, 2, 4, 5))
        return x.reshape(shape)
    n, c, h, w = x.shape
    x = permuted(x.reshape(n, c, h // size, size, w // size, size), (0, 3, 5, 1, 2, 4))
    return x.reshape(n, size * size * c, h // size, w // size)


def _to_space(x: Any, size: int, channels_last: bool) -> Any:
    if channels_last:
        n, h, w, c = x.shape
        c //= size * size
        shape = (n, h * size, w * size, c)
        if (found := native_kernels.transposed(x, n * h, w, size, shape)) is not None:
            return found
        x = permuted(x.reshape(n, h, w, size, size, c), (0, 1, 3, 2, 4, 5))
        return x.reshape(shape)
    n, c, h, w = x.shape
    c //= size * size
    x = permuted(x.reshape(n, size, size, c, h, w), (0, 3, 4, 1, 5, 2))
    return x.reshape(n, c, h * size, w * size)


def _kernel(move: Any) -> Callable[..., Any]:
    def kernel(node: Node) -> Call:
        if node.data_format == b"NCHW_VECT_C":
            raise NotImplementedError(
                f"{node.op.type} with data format NCHW_VECT_C is not supported by Stillflow"
            )
        channels_last = node.data_format == b"NHWC"
        return node.call(move, node.inputs[0], node.block_size, channels_last)

    return kernel


space_to_depth_op.kernel(_kernel(_to_depth))
depth_to_space_op.kernel(_kernel(_to_space))


def _check_differentiable(node: Node) -> None:
    if node.data_format == b"NCHW_VECT_C":
        raise ValueError(
            f"Cannot compute {node.op.type} gradient with NCHW_VECT_C. NCHW_VECT_C requires "
            "qint8 data type."
        )


@space_to_depth_op.gradient
def space_to_depth_gradient(node: Node, grad: Any) -> Gradients:
    _check_differentiable(node)
    return depth_to_space(grad, node.block_size, data_format=node.data_format)


@depth_to_space_op.gradient
def depth_to_space_gradient(node: Node, grad: Any) -> Gradients:
    _check_differentiable(node)
    return space_to_depth(grad, node.block_size, data_format=node.data_format)


@space_to_depth_op.samples
def space_to_depth_samples() -> Samples:
    x = np.arange(16, dtype=np.float32).reshape(1, 2, 4, 2)
    yield Sample(x, block_size=2)
    yield Sample(x.reshape(1, 2, 2, 4), block_size=2, data_format="NCHW")
    yield Bad(x, block_size=3, match="evenly divisible|should be divisible by block_size")


@depth_to_space_op.samples
def depth_to_space_samples() -> Samples:
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 2, 8)
    yield Sample(x, block_size=2)
    yield Sample(x.reshape(1, 8, 1, 2), block_size=2, data_format="NCHW")
    yield Bad(x, block_size=3, match="evenly divisible|should be divisible by")


@export("space_to_depth", "nn.space_to_depth")
def space_to_depth(
    input: Any, block_size: int, name: str | None = None, data_format: Any = "NHWC"
) -> Tensor:
    """Move square blocks of an image to its channels.

    Args:
      input: images.
      block_size: the side of the blocks, at least 2.
      name: of the operation.
      data_format: "NHWC" or "NCHW".
    """
    return space_to_depth_op(input, block_size=block_size, data_format=data_format, name=name)


@export("depth_to_space", "nn.depth_to_space")
def depth_to_space(
    input: Any, block_size: int, name: str | None = None, data_format: Any = "NHWC"
) -> Tensor:
    """Return the inverse of `space_to_depth`: moves channels to square blocks of an image."""
    return depth_to_space_op(input, block_size=block_size, data_format=data_format, name=name)
