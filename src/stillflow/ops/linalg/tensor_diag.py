"""Tensors with a given diagonal: Diag, DiagPart."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.samples import Bad, Sample, Samples

_TYPES = "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}"
diag_op = op(f"Diag(diagonal: T) -> output: T; {_TYPES}")
diag_part_op = op(f"DiagPart(input: T) -> diagonal: T; {_TYPES}")


@diag_op.shape
def diag_shape(node: Node) -> OutputDims:
    if node.planning and node.dims(0) == ():
        raise ValueError("Input must be at least rank 1, got 0")
    dims = dims_lib.with_rank_at_least(node.dims(0), 1)
    return dims_lib.concat(dims, dims)


@diag_part_op.shape
def diag_part_shape(node: Node) -> OutputDims:
    dims = node.dims(0)
    if dims is None:
        return None
    rank = len(dims)
    if node.planning and rank % 2:
        raise ValueError(
            f"The rank of the tensor should be{' ' * 42}even and positive, got shape "
            f"{dims_lib.to_string(dims)}"
        )
    if node.planning and not rank:
        return ()
    if rank % 2 or not rank:
        raise ValueError(f"Input must have even and non-zero rank, input rank is {rank}")
    middle = rank // 2
    for axis in range(middle if node.planning else 0):
        if None not in (dims[axis], dims[axis + middle]) and dims[axis] != dims[axis + middle]:
            raise ValueError(
                f"Invalid shape {dims_lib.to_string(dims)}: dimensions {axis} and "
                f"{axis + middle} do not match."
            )
    return tuple(
        [dims_lib.merge_dim(a, b) for a, b in zip(dims[:middle], dims[middle:], strict=True)]
    )


def _spread(x: Any) -> torch.Tensor:
    return torch.diag(x.reshape(-1)).reshape(*x.shape, *x.shape)


def _take(x: Any) -> torch.Tensor:
    dims = x.shape[: x.ndim // 2]
    if tuple(dims) != tuple(x.shape[x.ndim // 2 :]):
        raise ValueError(f"Invalid shape {dims_lib.to_string(tuple(x.shape))}")
    size = prod(dims)
    return x.reshape(size, size).diagonal().clone().reshape(dims)


@diag_op.kernel
def diag_kernel(node: Node) -> Kernel:
    return node.call(_spread, node.inputs[0])


@diag_part_op.kernel
def diag_part_kernel(node: Node) -> Kernel:
    return node.call(_take, node.inputs[0])


@diag_op.gradient
def diag_gradient(node: Node, grad: Any) -> Gradients:
    return tensor_diag_part(grad)


@diag_part_op.gradient
def diag_part_gradient(node: Node, grad: Any) -> Gradients:
    return tensor_diag(grad)


@diag_op.samples
def diag_samples() -> Samples:
    yield Sample(np.arange(3, dtype=np.float32))
    yield Sample(np.arange(6, dtype=np.float32).reshape(2, 3))
    yield Bad(np.float32(1), match="at least rank 1")


@diag_part_op.samples
def diag_part_samples() -> Samples:
    yield Sample(np.arange(36, dtype=np.float32).reshape(2, 3, 2, 3))
    yield Bad(np.zeros((2, 2, 2), np.float32), match="even and non-zero rank")


@export("linalg.tensor_diag", "diag")
def tensor_diag(diagonal: Any, name: str | None = None) -> Tensor:
    """Return a tensor of twice the rank that is zero but for its diagonal.

    Args:
      diagonal: a tensor of numbers, [size1, ...].
      name: of the operation.

    Returns:
      A tensor of its type, [size1, ..., size1, ...].

    Example:
      >>> print(tf.Session().run(tf.diag([1, 2, 3])))
      [[1 0 0]
       [0 2 0]
       [0 0 3]]
    """
    return diag_op(diagonal, name=name)


@export("linalg.tensor_diag_part", "diag_part")
def tensor_diag_part(input: Any, name: str | None = None) -> Tensor:
    """Return the diagonal of a tensor of even rank whose two halves of dimensions are equal."""
    return diag_part_op(input, name=name)
