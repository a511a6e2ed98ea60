"""Taking tensors apart and together by index: DynamicPartition, DynamicStitch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from stillflow.errors import invalid_argument
from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.constant_value import MAX_ELEMENTS
from stillflow.graph.dims import Dims
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops import forward_declarations
from stillflow.ops.arrays.gather import gather, in_range, out_of_range
from stillflow.ops.arrays.indexing import slice_helper
from stillflow.ops.arrays.native_kernels import sorted_places
from stillflow.ops.arrays.rows import change_rows
from stillflow.ops.arrays.sequences import range as range_of
from stillflow.ops.arrays.shape import reshape, shape
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.memory_limits import require_room
from stillflow.ops.samples import Bad, Sample, Samples

_LAST_INDEX = 2**31 - 1  # TensorFlow counts rows in 32 bits
_LARGE = 1 << 24  # bytes

# ---- DynamicPartition

dynamic_partition_op = op("""
    DynamicPartition(data: T, partitions: int32) -> outputs: num_partitions*T
    num_partitions: int >= 1
    T: type
""")


@dynamic_partition_op.shape
def dynamic_partition_shape(node: Node) -> OutputDims:
    data, partitions = node.dims(0), node.dims(1)
    if partitions is None:
        return [None] * node.num_partitions
    if node.planning and dims_lib.is_known(data) and dims_lib.is_known(partitions):
        _check_prefix(data, partitions)
    dims_lib.merge_prefix(data, partitions)
    result = dims_lib.concat((None,), dims_lib.subshape(data, len(partitions)))
    return [result] * node.num_partitions


def _check_prefix(data: Sequence[int], partitions: Sequence[int]) -> None:
    if tuple(data[: len(partitions)]) != tuple(partitions):
        raise ValueError(
            "data.shape must start with partitions.shape, got data.shape = "
            f"{dims_lib.to_string(tuple(data))}, partitions.shape = "
            f"{dims_lib.to_string(tuple(partitions))}"
        )


@dynamic_partition_op.value
def dynamic_partition_value(node: Node) -> list[Array] | None:
    data, partitions = node.value(0), node.value(1)
    if data is None or partitions is None or data.size > MAX_ELEMENTS:
        return None
    if data.shape[: partitions.ndim] != partitions.shape:
        return None
    if partitions.size and not 0 <= partitions.min() <= partitions.max() < node.num_partitions:
        return None
    return [data[partitions == number] for number in range(node.num_partitions)]


@dynamic_partition_op.kernel
def dynamic_partition_kernel(node: Node) -> Kernel:
    count = node.num_partitions

    def partition(data: Any, partitions: Any) -> Any:
        _check_prefix(data.shape, partitions.shape)
        if not in_range(partitions, count):
            raise out_of_range(partitions, count, "partitions")
        flat = partitions.reshape(-1)
        order = sorted_places(flat)
        sizes = torch.bincount(flat, minlength=count).tolist()
        inner = tuple(data.shape[partitions.ndim :])
        rows = data.reshape((flat.shape[0], *inner))
        if isinstance(data, np.ndarray):
            parts = np.split(rows[order.numpy()], np.cumsum(sizes)[:-1])
        else:
            parts = [part.contiguous() for part in rows.index_select(0, order).split(sizes)]
        return parts[0] if count == 1 else parts

    return partition


@dynamic_partition_op.gradient
def dynamic_partition_gradient(node: Node, *grads: Any) -> Gradients:
    from stillflow.ops.math.reductions import reduce_prod

    data, indices = node.inputs
    prefix = shape(indices)
    positions = reshape(range_of(reduce_prod(prefix)), prefix)
    parts = dynamic_partition(positions, indices, node.num_partitions)
    joined = dynamic_stitch(parts, grads)
    return [reshape(joined, shape(data)), None]


@dynamic_partition_op.samples
def dynamic_partition_samples() -> Samples:
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    yield Sample(x, np.array([1, 0, 1, 1], np.int32), num_partitions=3)
    yield Sample(np.array([b"a", b"b"], object), np.array([1, 0], np.int32), num_partitions=2)
    yield Bad(
        x, np.array([1, 0, 2, 1], np.int32), num_partitions=2,
        match=r"partitions\[2\] = 2 is not in \[0, 2\)",
    )  # fmt: skip


@export("dynamic_partition")
@dispatchable
def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """Distributes the slices of a tensor over several.

    Args:
      data: a tensor whose shape begins with that of `partitions`.
      partitions: which result each slice goes to, int32.
      num_partitions: how many results there are.
      name: of the operation.
    """
    return dynamic_partition_op(data, partitions, num_partitions=num_partitions, name=name)


# ---- DynamicStitch, ParallelDynamicStitch

_STITCH = "(indices: N*int32, data: N*T) -> merged: T; N: int >= 1; T: type"
dynamic_stitch_op = op("DynamicStitch" + _STITCH)
parallel_dynamic_stitch_op = op("ParallelDynamicStitch" + _STITCH)
forward_declarations.dynamic_stitch_op.provide(dynamic_stitch_op)


def stitch_shape(node: Node) -> Any:
    count, top, known = node.N, 0, True
    if node.planning:
        _check_parts([node.dims(number) for number in range(2 * count)])
    extra: Any = None
    for number in range(count):
        value, indices, data = node.value(number), node.dims(number), node.dims(number + count)
        known = known and value is not None
        if indices is None:
            continue
        dims_lib.merge_prefix(data, indices)
        extra = dims_lib.merge(extra, dims_lib.subshape(data, len(indices)))
        if value is not None and value.size:
            top = max(top, int(value.max()))
    if node.planning and known:
        sizes = node.values(range(count)) or []
        top = max([-1, *(int(value.max()) for value in sizes if value.size)])
    return dims_lib.concat((top + 1 if known else None,), extra)


def _check_parts(shapes: Sequence[Dims]) -> None:
    """Raise an error if shapes of data and indices do not fit, with the message of TF's kernels."""
    count = len(shapes) // 2
    text = [dims_lib.to_string(shape) for shape in shapes]
    for number, (index, part) in enumerate(zip(shapes[:count], shapes[count:], strict=True)):
        first, data = shapes[0], shapes[count]
        if not all(map(dims_lib.is_known, (first, data, index, part))):
            continue
        assert first is not None and data is not None and index is not None and part is not None
        if part[: len(index)] != index:
            raise ValueError(
                f"data[{number}].shape = {text[count + number]} does not start with "
                f"indices[{number}].shape = {text[number]}"
            )
        if part[len(index) :] != data[len(first) :]:
            raise ValueError(
                f"Need data[0].shape[{len(first)}:] = data[{number}].shape[{len(index)}:], got "
                f"data[0].shape = {text[count]}, data[{number}].shape = {text[count + number]}, "
                f"indices[0].shape = {text[0]}, indices[{number}].shape = {text[number]}"
            )


def stitch_kernel(node: Node) -> Callable[..., Any]:
    count, dtype = node.N, node.T

    def stitch(*inputs: Any) -> torch.Tensor | Array:
        indices, data = inputs[:count], inputs[count:]
        _check_parts([tuple(item.shape) for item in inputs])
        top = max([-1, *(int(index.max()) for index in indices if index.numel())])
        for index in indices if top >= 0 else ():
            _check_not_negative(index)
        inner = tuple(data[0].shape[indices[0].ndim :])
        width = prod(inner)
        if top == _LAST_INDEX:
            raise invalid_argument(f"indices has {top}: a result of {top + 1} rows is too large")
        require_room((top + 1, *inner), dtype)
        if isinstance(data[0], np.ndarray):
            merged = np.full((top + 1, width), b"", object)
        else:
            given = sum(index.numel() for index in indices)
            merged = _zeros(data[0], top + 1, width, scattered=top + 1 > 2 * given)
        for index, part in zip(indices, data, strict=True) if top >= 0 else ():
            change_rows(merged, index.reshape(-1), part.reshape(index.numel(), width), "update")
        return merged.reshape((top + 1, *inner))

    return stitch


def _zeros(like: Any, rows: int, width: int, scattered: bool) -> torch.Tensor:
    """Return zeros, in memory that is only reserved where most of them stay: no page is touched."""
    size = rows * width * like.element_size()
    if not scattered or size < _LARGE or like.device.type != "cpu":
        return like.new_zeros((rows, width))
    return torch.from_numpy(np.zeros(size, np.uint8)).view(like.dtype).reshape(rows, width)


def _check_not_negative(index: Any) -> None:
    if index.numel() and int(index.min()) < 0:
        number = int((index.reshape(-1) < 0).nonzero()[0])
        raise invalid_argument(f"indices[{number}] is out of range")


def stitch_gradient(node: Node, grad: Any) -> list[Tensor | None]:
    from stillflow.ops.math.cast import cast
    from stillflow.ops.math.segment import unsorted_segment_sum

    count = node.N
    indices = [
        item if item.dtype == dtypes.int32 else cast(item, dtypes.int32)
        for item in node.inputs[:count]
    ]
    if isinstance(grad, IndexedSlices):
        rows = slice_helper(shape(node.outputs[0]), 0)
        grad = unsorted_segment_sum(grad.values, grad.indices, rows)
    return [None] * count + [gather(grad, item) for item in indices]


def _stitch_samples() -> Samples:
    first, second = np.array([2, 0], np.int32), np.array([[1], [2]], np.int32)
    x, y = np.ones((2, 3), np.float32), np.full((2, 1, 3), 2, np.float32)
    yield Sample([first, second], [x, y], fixed=(0,), grad=False)
    yield Sample([first, second[:1]], [x, y[:1]], fixed=(0,))
    yield Sample([np.array(0, np.int32)], [np.array(b"a", object)])
    yield Bad([np.array([-1, 2], np.int32)], [x], match=r"indices\[0\] is out of range")
    yield Bad([second], [x], match=r"start with indices\[0\].shape = \[2,1\]|must be equal")
    yield Bad([first, second], [x, y[..., :2]], match=r"Need data\[0\].shape|must be equal")


for _card in (dynamic_stitch_op, parallel_dynamic_stitch_op):
    _card.shape(stitch_shape)
    _card.kernel(stitch_kernel)
    _card.gradient(stitch_gradient)
    _card.samples(_stitch_samples)


@export("dynamic_stitch")
def dynamic_stitch(indices: Sequence[Any], data: Sequence[Any], name: str | None = None) -> Tensor:
    """Put slices of several tensors together; of two for one place, the later counts.

    Args:
      indices: for each tensor, where its slices go, int32.
      data: tensors whose shapes begin with those of their indices and go on alike.
      name: of the operation.
    """
    return dynamic_stitch_op(indices, data, name=name)


def parallel_dynamic_stitch(
    indices: Sequence[Any], data: Sequence[Any], name: str | None = None
) -> Tensor:
    """`dynamic_stitch` for indices that occur only once."""
    return parallel_dynamic_stitch_op(indices, data, name=name)
