"""The elements of ragged tensors that a mask lets through: `tf.ragged.boolean_mask`."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays import masks as dense
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import reshape, shape
from stillflow.ops.math.cast import cast
from stillflow.ops.math.cumulative import cumprod
from stillflow.ops.math.reductions import count_nonzero
from stillflow.ragged.conversion import (
    common_splits_dtype,
    convert_to_tensor_or_ragged_tensor,
    is_ragged,
)
from stillflow.ragged.mapping import map_flat_values
from stillflow.ragged.reductions import reduce_sum
from stillflow.ragged.segments import row_splits_of, row_splits_to_segment_ids
from stillflow.ragged.splits import assert_splits_match
from stillflow.ragged.tensor import RaggedTensor


@export("ragged.boolean_mask")
def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Tensor | RaggedTensor:
    """Return the elements for which a mask holds, each in its row.

    Args:
      data: a dense or ragged tensor.
      mask: bools, dense or ragged, of known rank; its shape is a prefix of that of `data`.
      name: of the scope.

    Returns:
      A ragged tensor of as many dimensions as `data`; a dense one if it has one row only.

    Raises:
      ValueError: if the mask is a scalar or of unknown rank.
    """
    with name_scope(name, "RaggedMask", [data, mask]):
        data = convert_to_tensor_or_ragged_tensor(data, name="data")
        mask = convert_to_tensor_or_ragged_tensor(mask, dtypes.bool, name="mask")
        kind = common_splits_dtype(data, mask)
        rank = mask.shape.ndims
        if rank is None:
            raise ValueError("mask.shape.ndims must be known statically.")
        if rank == 0:
            raise ValueError("mask cannot be scalar.")
        if is_ragged(mask):
            return _by_ragged_mask(data, mask, kind)
        if not is_ragged(data):
            return _dense_by_dense(data, mask, rank, kind)
        if rank == 1:
            return _whole_rows(data, mask)
        mask = RaggedTensor.from_tensor(
            mask,
            ragged_rank=min(data.ragged_rank, rank - 1),
            row_splits_dtype=data.row_splits.dtype,
        )
        return boolean_mask(data, mask)


def _by_ragged_mask(data: Any, mask: Any, kind: Any) -> RaggedTensor:
    depth = mask.ragged_rank
    if not is_ragged(data):
        splits_type = mask.row_splits.dtype
        data = RaggedTensor.from_tensor(data, ragged_rank=depth, row_splits_dtype=splits_type)

    def kept(level: Any) -> Any:
        if level.shape.ndims > 2:
            return level.row_splits
        numbers = map_flat_values(cast, level, dtype=kind)
        return row_splits_of(reduce_sum(numbers, axis=1), axis=-1)

    both = [mask.nested_row_splits, data.nested_row_splits[:depth]]
    with control_dependencies(assert_splits_match(both)):
        splits = [kept(level) for level in mask._levels()]
        for _ in range(depth):
            data = data.values
        values = boolean_mask(data, mask.flat_values)
        return RaggedTensor.from_nested_row_splits(values, splits, validate=False)


def _whole_rows(data: Any, mask: Any) -> RaggedTensor:
    lengths = data.row_lengths()
    splits = row_splits_of(dense.boolean_mask(lengths, mask), axis=-1)
    value_mask = gather(mask, row_splits_to_segment_ids(data.row_splits))
    values = boolean_mask(data.values, value_mask)
    return RaggedTensor.from_row_splits(values, splits, validate=False)


def _dense_by_dense(data: Any, mask: Any, rank: int, kind: Any) -> Tensor | RaggedTensor:
    values = dense.boolean_mask(data, mask)
    if rank == 1:
        return values
    lengths = reshape(count_nonzero(mask, axis=-1, dtype=kind), [-1])
    result = RaggedTensor.from_row_lengths(values, lengths, validate=False)
    if rank == 2:
        return result
    size = shape(mask, out_type=kind)
    rows = cumprod(size) + 1
    for axis in range(rank - 3, -1, -1):
        width = size[axis + 1]
        splits = range_(rows[axis]) * width
        result = RaggedTensor.from_row_splits(result, splits, validate=False)
    return result
