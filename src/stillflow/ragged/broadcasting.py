"""Dense and ragged tensors broadcast to a ragged shape."""

from __future__ import annotations

from typing import Any

from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.ops.arrays import broadcast as dense
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.shape import reshape, shape
from stillflow.ops.arrays.stack import stack
from stillflow.ops.math.comparison import equal
from stillflow.ragged.conversion import convert_to_tensor_or_ragged_tensor, is_ragged
from stillflow.ragged.dynamic_shape import RaggedTensorDynamicShape
from stillflow.ragged.splits import repeat_ranges
from stillflow.ragged.tensor import RaggedTensor
from stillflow.ragged.tiling import tile


def broadcast_to(rt_input: Any, shape: Any, broadcast_inner_dimensions: bool = True) -> Any:
    """Return a tensor in a shape that its own can be broadcast to, a `RaggedTensorDynamicShape`.

    An operation that broadcasts need not have inner dimensions broadcast.
    """
    if not isinstance(shape, RaggedTensorDynamicShape):
        raise TypeError("shape must be a RaggedTensorDynamicShape")
    x = convert_to_tensor_or_ragged_tensor(rt_input)
    if shape.num_partitioned_dimensions:
        return _to_ragged(x, shape, broadcast_inner_dimensions)
    if is_ragged(x):
        raise ValueError("Incompatible with shape: ragged rank mismatch")
    return dense.broadcast_to(x, shape.inner_dim_sizes) if broadcast_inner_dimensions else x


def _to_ragged(x: Any, target: RaggedTensorDynamicShape, with_inner: bool) -> RaggedTensor:
    rank = _checked_rank(x, target)
    source = RaggedTensorDynamicShape.from_tensor(x).broadcast_to_rank(rank)
    x = _partitioned_like(_with_rank(x, target, rank), target, rank)
    x = _tiled(x, source, target, rank)
    if with_inner:
        inner = concat([[-1], target.inner_dim_sizes], axis=0)
        x = x.with_flat_values(reshape(x.flat_values, inner))
    for axis in range(target.num_partitioned_dimensions):
        if not source.is_ragged(axis) and target.is_ragged(axis):
            x = _repeated(x, axis, target.dimension_size(axis), target.dim_size_dtype)
    return x


def _checked_rank(x: Any, target: RaggedTensorDynamicShape) -> int:
    """Return the rank of a shape that a tensor may be broadcast to; ValueError if not."""
    depth, kind = (x.ragged_rank, x.row_splits.dtype) if is_ragged(x) else (0, None)
    if kind not in (None, target.dim_size_dtype):
        raise ValueError(
            "rt_input and dst_shape have different row_split dtypes; use "
            "RaggedTensor.with_row_splits_dtype() or RaggedTensorDynamicShape."
            "with_dim_size_dtype() to convert to a compatible dtype."
        )
    given, wanted = x.shape.ndims, target.rank
    if given is None or wanted is None:
        raise ValueError("Unable to broadcast: unknown rank")
    mismatches = {
        "rank": given > wanted,
        "ragged rank": depth >= target.num_partitioned_dimensions,
    }
    for of, differs in mismatches.items():
        if differs:
            raise ValueError(f"Incompatible with shape: {of} mismatch")
    return wanted


def _with_rank(x: Any, target: RaggedTensorDynamicShape, rank: int) -> Tensor | RaggedTensor:
    """Return the tensor with outer dimensions of size 1 up to the rank of a shape."""
    missing = rank - x.shape.ndims
    if missing and x.shape.ndims <= rank - target.num_partitioned_dimensions:
        x = reshape(x, concat([[-1], target.inner_dim_sizes], axis=0))
        missing = rank - x.shape.ndims
    for _ in range(missing):
        if is_ragged(x):
            rows = x.nrows()
        else:
            rows = shape(x, out_type=target.dim_size_dtype)[0]
        x = RaggedTensor.from_row_lengths(x, [rows], validate=False)
    return x


def _partitioned_like(x: Any, target: RaggedTensorDynamicShape, rank: int) -> RaggedTensor:
    """Return the tensor with as many partitioned dimensions as a shape has."""
    kind = target.dim_size_dtype
    if not is_ragged(x):
        depth = target.num_partitioned_dimensions - 1
        return RaggedTensor.from_tensor(x, ragged_rank=depth, row_splits_dtype=kind)
    missing = len(x.flat_values.shape) - 1 - (rank - target.num_partitioned_dimensions)
    if missing <= 0:
        return x
    values = RaggedTensor.from_tensor(x.flat_values, ragged_rank=missing, row_splits_dtype=kind)
    return x.with_flat_values(values)


def _tiled(
    x: Any, source: RaggedTensorDynamicShape, target: RaggedTensorDynamicShape, rank: int
) -> RaggedTensor:
    """Repeats the tensor along dimensions that are uniform in both shapes."""
    multiples: list[Any] = [1] * rank
    for axis in range(target.num_partitioned_dimensions):
        if source.is_ragged(axis) or target.is_ragged(axis):
            continue
        mine, its = source.dimension_size(axis), target.dimension_size(axis)
        if static_value(mine) in (1, None) and static_value(its) != 1:
            multiples[axis] = where(equal(mine, 1), its, 1)
    if not any(isinstance(item, Tensor) for item in multiples):
        return x
    return tile(x, stack(multiples, axis=0))


def _repeated(x: Any, axis: int, repeats: Tensor, kind: Any) -> Any:
    """Repeats the rows of a uniform dimension, each as often as a ragged one is long."""
    if not is_ragged(x):
        x = RaggedTensor.from_tensor(x, ragged_rank=1, row_splits_dtype=kind)
    if axis > 1:
        return x.with_values(_repeated(x.values, axis - 1, repeats, kind))
    nested, nested_lengths = x.nested_row_splits, x.nested_row_lengths()
    splits = nested[0]
    lengths = [repeats]
    for inner, inner_lengths in zip(nested[1:], nested_lengths[1:]):
        lengths.append(repeat_ranges(inner_lengths, splits, repeats))
        splits = gather(inner, splits)
    values = repeat_ranges(x.flat_values, splits, repeats)
    return RaggedTensor.from_nested_row_lengths(values, lengths, validate=False)
