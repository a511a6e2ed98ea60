"""Rows told apart by splits or by numbers: one form from the other."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import TensorShape, dimension_value
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.masks import repeat, to_integers
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import shape
from stillflow.ops.math.counting import bincount
from stillflow.ops.math.cumulative import cumsum

INDEX_TYPES = (dtypes.int32, dtypes.int64)


@export("ragged.row_splits_to_segment_ids")
def row_splits_to_segment_ids(splits: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """Return the row number of every value.

    Args:
      splits: where each row starts, and where the last one ends: int32 or int64 [rows + 1].
      name: of the scope.
      out_type: of the result, by default the type of `splits`.

    Raises:
      ValueError: if `splits` is known to be empty, or of another type or rank.
    """
    with name_scope(name, "RaggedSplitsToSegmentIds", [splits]):
        splits = convert_to_tensor(splits, name="splits", preferred_dtype=dtypes.int64)
        if splits.dtype not in INDEX_TYPES:
            raise ValueError("splits must have dtype int32 or int64")
        splits.shape.assert_has_rank(1)
        if dimension_value(splits.shape[0]) == 0:
            raise ValueError("Invalid row_splits: []")
        out_type = splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        lengths = splits[1:] - splits[:-1]
        rows = shape(splits, out_type=out_type)[-1] - 1
        return repeat(range_(rows), repeats=lengths, axis=0)


def _splits_type(segment_ids: Any, num_segments: Any, out_type: Any) -> DType:
    if out_type is not None:
        return dtypes.as_dtype(out_type)
    given = [value for value in (segment_ids, num_segments) if isinstance(value, Tensor)]
    return given[0].dtype if given else dtypes.int64


@export("ragged.segment_ids_to_row_splits")
def segment_ids_to_row_splits(
    segment_ids: Any, num_segments: Any = None, out_type: Any = None, name: str | None = None
) -> Tensor:
    """Return the start of each row, and the end of the last one.

    Args:
      segment_ids: for every value the number of its row, ascending: integers [n].
      num_segments: how many rows there are, by default as many as are numbered.
      out_type: of the result, by default the type of the tensors given.
      name: of the scope.

    Raises:
      TypeError: if a number is not of an integer type.
    """
    out_type = _splits_type(segment_ids, num_segments, out_type)
    with name_scope(name, "SegmentIdsToRaggedSplits", [segment_ids]):
        ids = to_integers(segment_ids, "segment_ids")
        ids.shape.assert_has_rank(1)
        count = None
        if num_segments is not None:
            count = to_integers(num_segments, "num_segments")
            count.shape.assert_has_rank(0)
        splits = row_splits_of(bincount(ids, minlength=count, maxlength=count, dtype=out_type))
        known = None if count is None else static_value(count)
        if known is not None:
            splits.set_shape(TensorShape([known + 1]))
        return splits


def row_splits_of(lengths: Tensor, axis: int = 0) -> Tensor:
    """Return the splits of rows of given lengths."""
    return concat([[0], cumsum(lengths)], axis=axis)
