"""Rows of numbers in arithmetic progression: `tf.ragged.range`."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.ops.ragged.ranges import range_parts
from stillflow.ragged.tensor import RaggedTensor


@export("ragged.range")
def range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> Any:
    """Rows of numbers from `starts` to `limits` (without these) in steps of `deltas`.

    Args:
      starts: vectors with one number a row, or scalars for all rows; if `limits` is not given,
        the limits of rows from 0.
      limits: like `starts`.
      deltas: like `starts`, not 0.
      dtype: of the numbers, by default the widest type given.
      name: of the operation.
      row_splits_dtype: of the splits, `tf.int32` or `tf.int64`.

    Returns:
      A ragged tensor of rank 2.
    """
    if limits is None:
        starts, limits = 0, starts
    kind = dtypes.as_dtype(row_splits_dtype)
    splits, values = range_parts(starts, limits, deltas, dtype, kind, name)
    return RaggedTensor.from_row_splits(values, splits, validate=False)
