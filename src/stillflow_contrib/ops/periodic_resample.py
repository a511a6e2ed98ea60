"""Tensors that grow along some dimensions by elements of another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.kernels import as_signed
from stillflow.ops.samples import Bad, Sample, Samples

_TYPES = (
    "{float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, "
    "uint16, complex128, half, uint32, uint64}"
)

periodic_resample_op = op(f"""
    PeriodicResample(values: T) -> output: T
    T: {_TYPES}
    shape: shape
""")
periodic_resample_op_grad_op = op(f"""
    PeriodicResampleOpGrad(grad: T) -> grad_values: T
    T: {_TYPES}
    original_shape: shape
    desired_shape: shape
""")


@periodic_resample_op.shape
def periodic_resample_shape(node: Node) -> OutputDims:
    wanted = node.shape.as_list()
    count = dims_lib.num_elements(node.dims(0))
    if count is None:
        return tuple(wanted)
    rank = dims_lib.rank(node.dims(0))
    if rank is None or rank > len(wanted):
        return None  # rejected when it runs
    sizes = [size or 0 for size in wanted[:rank]]
    if not sizes:
        return None
    # The sizes if they fit; others are rejected only at run time.
    adjusted = max((place for place, size in enumerate(sizes) if not size), default=0)
    fixed = int(np.prod([size for size in sizes if size], dtype=np.int64))
    sizes[adjusted] = count // fixed
    return tuple(sizes)


@periodic_resample_op_grad_op.shape
def periodic_resample_op_grad_shape(node: Node) -> OutputDims:
    dims = node.original_shape.as_list()
    if None in dims:
        raise ValueError(f"original_shape has to be known, but is {node.original_shape}")
    return tuple(dims)


def _sizes(given: Sequence[int], wanted: Sequence[int | None]) -> tuple[list[int], int]:
    """Return the sizes of the result, and which dimension is the one that shrinks."""
    if len(given) != len(wanted):
        raise ValueError(
            f"periodic_resample expects the rank of the input tensor, {len(given)}, to be the same "
            f"as the length of the desired shape, {len(wanted)}."
        )
    free = [place for place, size in enumerate(wanted) if not size]
    if len(free) > 1:
        raise ValueError("periodic_resample expects only one index to be marked as adjustable.")
    for place, (size, old) in enumerate(zip(wanted, given, strict=True)):
        if size and size < old:
            raise ValueError(
                "periodic_resample expects the size of non-adjustable dimensions be at least as "
                f"large as size of input tensor. Dimension {place} input tensor has size {old}, "
                f"desired shape has size {size}."
            )
    if not free:
        raise ValueError("periodic_resample expects at least one index to be marked as adjustable.")
    fixed = int(np.prod([size for size in wanted if size], dtype=np.int64))
    rest = int(np.prod(given, dtype=np.int64)) // fixed
    if rest <= 0:
        raise ValueError(
            f"periodic_resample found that the adjustable dimension, {free[0]}, isn't greater than "
            f"zero, {rest}."
        )
    return [size or rest for size in wanted], free[0]


def _sources(given: Sequence[int], wanted: Sequence[int | None]) -> np.ndarray:
    """Return for each element of the result the number of its source element."""
    sizes, free = _sizes(given, wanted)
    factors = [-(-new // old) for new, old in zip(sizes, given, strict=True)]
    places = np.indices(sizes, sparse=True)
    taken: Any = 0  # how many times the shrunk dimension has been passed
    for place, factor in enumerate(factors):
        if place != free:
            taken = taken + int(np.prod(factors[:place], dtype=np.int64)) * (places[place] % factor)
    coordinates = [
        taken * sizes[free] + places[free] if place == free else places[place] // factor
        for place, factor in enumerate(factors)
    ]
    strides = np.cumprod([1, *given[:0:-1]], dtype=np.int64)[::-1]
    numbers = sum(stride * each for stride, each in zip(strides, coordinates, strict=True))
    if np.max(numbers) >= np.prod(given, dtype=np.int64):
        # TensorFlow reads the adjacent memory.
        raise ValueError(
            f"periodic_resample to {list(wanted)} would read beyond the end of the input tensor, "
            f"whose shape is {list(given)}; multiples of its sizes do not."
        )
    return np.broadcast_to(numbers, sizes)


@periodic_resample_op.kernel
def periodic_resample_kernel(node: Node) -> Kernel:
    wanted = node.shape.as_list()

    def resample(values: Any) -> torch.Tensor:
        sources = torch.from_numpy(_sources(values.shape, wanted).copy()).to(values.device)
        return as_signed(values).reshape(-1)[sources].view(values.dtype)

    return resample


@periodic_resample_op_grad_op.kernel
def periodic_resample_op_grad_kernel(node: Node) -> Kernel:
    given, wanted = node.original_shape.as_list(), node.desired_shape.as_list()

    def scatter(grad: Any) -> torch.Tensor:
        # Elements that stand in several places take the gradient of one, as TensorFlow's do.
        result = torch.zeros(int(np.prod(given)), dtype=grad.dtype, device=grad.device)
        sources = torch.from_numpy(_sources(given, wanted).copy()).to(grad.device)
        as_signed(result)[sources.reshape(-1)] = as_signed(grad).reshape(-1)
        return result.reshape(given)

    return scatter


@periodic_resample_op.gradient
def periodic_resample_gradient(node: Node, grad: Tensor) -> Gradients:
    return periodic_resample_op_grad_op(
        grad, original_shape=node.inputs[0].shape, desired_shape=node.shape
    )


_VALUES = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@periodic_resample_op.samples
def periodic_resample_samples() -> Samples:
    # Gradients need the static shape of the input; a golden has them.
    yield Sample(_VALUES[0], shape=[6, None], grad=False)
    yield Sample(_VALUES, shape=[4, None, 4], grad=False)
    yield Bad(_VALUES, shape=[1, None, 4], match="at least as large")
    yield Bad(_VALUES, shape=[None, None, 4], match="only one index")
    yield Bad(_VALUES, shape=[2, None, 6], match="beyond the end")


@periodic_resample_op_grad_op.samples
def periodic_resample_op_grad_samples() -> Samples:
    yield Sample(
        np.ones((6, 2), np.float32), original_shape=[3, 4], desired_shape=[6, None], grad=False
    )


@export("contrib.periodic_resample.periodic_resample")
def periodic_resample(values: Any, shape: Any, name: str | None = None) -> Tensor:
    """Make a tensor larger along some dimensions with elements of the others.

    Args:
      values: a tensor of numbers.
      shape: as many sizes, none smaller than that of `values`, but for one that is None: it
        becomes as small as need be.
      name: of the operation.

    Raises:
      InvalidArgumentError: when run with sizes that do not fit.
    """
    return periodic_resample_op(values, shape=shape, name=name)
