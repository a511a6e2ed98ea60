"""Splits compared, and rows repeated as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.fill import ones
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.masks import repeat
from stillflow.ops.arrays.shape import shape
from stillflow.ops.debugging.comparisons import assert_equal
from stillflow.ops.ragged.ranges import ragged_range_op


def assert_splits_match(nested_splits_lists: Sequence[Sequence[Tensor]]) -> list[Any]:
    """Return checks that lists of splits, equally long, are the same in a run."""
    message = "Inputs must have identical ragged splits"
    first, *rest = nested_splits_lists
    if any(len(splits) != len(first) for splits in rest):
        raise ValueError(message)
    return [
        assert_equal(mine, its, message=message)
        for splits in rest
        for mine, its in zip(first, splits)
    ]


def repeat_ranges(params: Tensor, splits: Tensor, repeats: Tensor) -> Tensor:
    """Return each row of `params` (told apart by `splits`) as often as asked for, whole each time.

    `repeats` is a scalar, or one number for each row; of the type of `splits`.
    """
    bounds: list[Any]
    if repeats.shape.ndims == 0:
        # One start (and one end) for every copy.
        copies: Any = repeat(splits, repeats, axis=0)
        last = shape(copies, out_type=repeats.dtype)[0] - repeats
        bounds = [copies[:last], copies[repeats:]]
    else:
        ends = slice(None, -1), slice(1, None)
        bounds = [repeat(splits[end], repeats, axis=0) for end in ends]
    _, places = ragged_range_op(*bounds, ones((), bounds[0].dtype))
    return gather(params, places)
