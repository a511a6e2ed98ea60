"""Ragged tensors repeated along their dimensions: `tf.tile`."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.ops.arrays import tile as dense
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.masks import to_integers
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ragged.conversion import convert_to_tensor_or_ragged_tensor, is_ragged
from stillflow.ragged.segments import row_splits_of
from stillflow.ragged.splits import repeat_ranges
from stillflow.ragged.tensor import RaggedTensor


def tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    """Return a tensor repeated along every dimension, `multiples` [rank] times; see `tf.tile`."""
    with name_scope(name, "RaggedTile", [input, multiples]):
        input = convert_to_tensor_or_ragged_tensor(input, name="input")
        if not is_ragged(input):
            return dense.tile(input, multiples, name)
        multiples = to_integers(multiples, "multiples", input.row_splits.dtype)
        multiples.shape.assert_has_rank(1)
        known = static_value(multiples)
        values = _tiled_values(input, multiples, known)
        splits = _tiled_splits(input, multiples, known)
        return RaggedTensor.from_nested_row_splits(values, splits, validate=False)


def _is_one(known: Any, axis: int) -> bool:
    return known is not None and known[axis] == 1


def _tiled_values(input: Any, multiples: Tensor, known: Any) -> Tensor:
    """Return the innermost values, repeated from the innermost ragged dimension outwards."""
    nested = input.nested_row_splits
    places = range_(nested[-1][-1])
    tiled: Any = None
    for axis in range(input.ragged_rank, 0, -1):
        splits = nested[axis - 1]
        if tiled is not None:
            splits = gather(tiled * multiples[axis + 1], splits)
        if not _is_one(known, axis):
            places = repeat_ranges(places, splits, multiples[axis])
        tiled = splits
    values = gather(input.flat_values, places)
    inner = concat([multiples[:1], multiples[input.ragged_rank + 1 :]], axis=0)
    return dense.tile(values, inner)


def _tiled_splits(input: Any, multiples: Tensor, known: Any) -> list[Tensor]:
    nested = input.nested_row_splits
    depth = input.ragged_rank

    def started(outer: int) -> list[Any]:
        """Return where the rows of a dimension start, in rows of itself and of each inner one."""
        levels = nested[outer : max(outer + 1, depth - 1)]
        return [*accumulate(levels, lambda rows, splits: gather(splits, rows))]

    starts = [started(outer) for outer in range(depth)]

    def tiled(axis: int) -> Tensor:
        lengths = (nested[axis][1:] - nested[axis][:-1]) * multiples[axis + 1]
        times: Any = 1
        for outer in reversed(range(axis)):
            if not _is_one(known, outer + 1):
                rows = starts[outer][axis - outer - 1] * times
                lengths = repeat_ranges(lengths, rows, multiples[outer + 1])
            times = times * multiples[outer + 1]
        return row_splits_of(dense.tile(lengths, multiples[:1]), axis=-1)

    return [tiled(axis) for axis in range(depth)]
