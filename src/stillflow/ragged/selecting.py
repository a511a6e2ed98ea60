"""Elements of two ragged tensors chosen by a third: `tf.where`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillflow.graph.api import name_scope
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays import select as dense
from stillflow.ops.arrays.concat import concat as concat_dense
from stillflow.ops.arrays.gather import gather as gather_dense
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import expand_dims, shape
from stillflow.ragged.conversion import (
    common_splits_dtype,
    convert_to_tensor_or_ragged_tensor,
    is_ragged,
)
from stillflow.ragged.gathering import gather
from stillflow.ragged.joining import concat
from stillflow.ragged.mapping import map_flat_values

if TYPE_CHECKING:
    from stillflow.ragged.tensor import RaggedTensor


def where(
    condition: Any, x: Any = None, y: Any = None, name: str | None = None
) -> Tensor | RaggedTensor:
    """Return elements of `x` where a condition holds, of `y` elsewhere, or the places it holds at.

    The condition is ragged like `x` and `y`, or a dense vector that chooses rows.
    """
    if (x is None) != (y is None):
        raise ValueError("x and y must be either both None or both non-None")
    with name_scope("RaggedWhere", name, [condition, x, y]):
        condition = convert_to_tensor_or_ragged_tensor(condition, name="condition")
        if x is None:
            return _places(condition)
        x = convert_to_tensor_or_ragged_tensor(x, name="x")
        y = convert_to_tensor_or_ragged_tensor(y, name="y")
        common_splits_dtype(condition, x, y)
        are_ragged = [is_ragged(item) for item in (condition, x, y)]
        if not any(are_ragged):
            return dense.where(condition, x, y)
        if all(are_ragged):
            return map_flat_values(dense.where, condition, x, y)
        if is_ragged(condition):
            raise ValueError("Input shapes do not match.")
        return _rows(condition, x, y)


def _rows(condition: Tensor, x: Any, y: Any) -> RaggedTensor:
    condition.shape.assert_has_rank(1)
    both = concat([x, y], axis=0)
    kind = both.row_splits.dtype
    first, second = _count(x, kind), _count(y, kind)
    rows = dense.where(condition, range_(first), first + range_(second))
    return gather(both, rows)


def _count(x: Any, kind: Any) -> Tensor:
    if is_ragged(x):
        return x.nrows(out_type=kind)
    return shape(x, out_type=kind)[0]


def _places(condition: Any) -> Tensor:
    """One row of indices for every element that is true."""
    if not is_ragged(condition):
        return dense.where(condition)
    found: Any = dense.where(condition.flat_values)
    for level in reversed(condition._levels()):
        rowed = level.with_row_splits_dtype(found.dtype)
        position = found[:, 0]
        rows = gather_dense(rowed.value_rowids(), position)
        columns = position - gather_dense(rowed.row_splits, rows)
        outer = [expand_dims(numbers, 1) for numbers in (rows, columns)]
        found = concat_dense([*outer, found[:, 1:]], axis=1)
    return found
