"""Rows of ragged tensors, and parts of rows: `ragged[key]`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays import gather as dense
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import shape, size
from stillflow.ops.arrays.stack import stack
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.math.binary import maximum, minimum
from stillflow.ops.math.cast import cast
from stillflow.ragged.gathering import gather
from stillflow.ragged.ranges import range as ragged_range
from stillflow.ragged.tensor import RaggedTensor

_ALL = slice(None, None, None)


def item(x: RaggedTensor, key: Any) -> Any:
    """Return `x[key]`; see `RaggedTensor.__getitem__`.

    IndexError if there are too many indices; in eager execution also for a row too far. TypeError
    if a slice is not of integers. ValueError for an index of a ragged dimension, or an ellipsis in
    an unknown shape.
    """
    keys = list(key) if isinstance(key, (list, tuple)) else [key]
    tensors = _tensors_in(key if isinstance(key, (list, tuple)) else [key])
    with name_scope(None, "RaggedGetItem", [x, *tensors]):
        return _item(x, keys)


def _tensors_in(key: Any) -> Iterator[Tensor]:
    if isinstance(key, Tensor):
        yield key
    elif isinstance(key, slice):
        yield from _tensors_in([key.start, key.stop, key.step])
    elif isinstance(key, (list, tuple)):
        for part in key:
            yield from _tensors_in(part)


def _item(x: Any, keys: Sequence[Any]) -> Any:
    """Return the keys of the dimensions from the outermost on."""
    if not keys:
        return x
    key, rest = keys[0], keys[1:]
    if key is Ellipsis:
        return _item(x, _expanded(keys, x.shape.ndims))
    if key is None:
        inner = _item(x, rest)
        splits = stack([0, _count(inner.row_splits) - 1])
        return RaggedTensor.from_row_splits(inner, splits, validate=False)
    if isinstance(key, slice):
        return _inner_item(_some_rows(x, key), rest)
    starts, limits = x.row_splits[:-1], x.row_splits[1:]
    if executing_eagerly():
        _check_row(key, len(starts))
    row = x.values[starts[key] : limits[key]]
    return row.__getitem__(rest)


def _check_row(key: Any, count: int) -> None:
    """End `for row in ragged`, which Python has count up until an IndexError."""
    with contextlib.suppress(TypeError, ValueError):  # the slice raises the error for the key
        if int(key) >= count:
            raise IndexError(f"Row key {key} out of bounds")


def _inner_item(x: Any, keys: Sequence[Any]) -> Any:
    """Return the keys of the dimensions from the second one on: `x[:, *keys]`."""
    if not keys:
        return x
    if isinstance(x, Tensor):
        return x.__getitem__([_ALL, *keys])
    key, rest = keys[0], keys[1:]
    if key is Ellipsis:
        return _inner_item(x, _expanded(keys, x.values.shape.ndims))
    if key is None:
        inner = _inner_item(x, rest)
        splits = range_(_count(inner.row_splits))
        return RaggedTensor.from_row_splits(inner, splits, validate=False)
    if not isinstance(key, slice):
        raise ValueError("Cannot index into an inner ragged dimension.")
    if key != _ALL:
        x = _some_columns(x, key)
    return x.with_values(_inner_item(x.values, rest))


def _count(splits: Tensor) -> Tensor:
    return shape(splits, out_type=splits.dtype)[0]


def _expanded(keys: Sequence[Any], rank: int | None) -> Sequence[Any]:
    """Keys whose first, an ellipsis, stands for one dimension less."""
    if rank is None:
        raise ValueError("Ellipsis not supported for unknown shape RaggedTensors")
    count = sum(key is not None for key in keys)
    if count > rank + 1:
        raise IndexError("Too many indices for RaggedTensor")
    return keys[1:] if count == rank + 1 else [_ALL, *keys]


def _some_rows(x: RaggedTensor, key: slice) -> RaggedTensor:
    if key == _ALL:
        return x
    starts, limits = x.row_splits[:-1][key], x.row_splits[1:][key]
    zero = zeros([1], x.row_splits.dtype)
    if key.step is not None and key.step != 1:
        return _from_ranges(starts, limits, 1, x.values)
    # One zero where no row is left, else the start of the first.
    splits = concat([zero[size(starts) :], starts[:1], limits], axis=0)
    start, limit = splits[0], splits[-1]
    return RaggedTensor.from_row_splits(x.values[start:limit], splits - start, validate=False)


def _some_columns(x: RaggedTensor, key: slice) -> RaggedTensor:
    ends = slice(None, -1), slice(1, None)
    bounds = [x.row_splits[end] for end in ends]
    for number, offset in enumerate((key.start, key.stop)):
        if offset is not None and offset != 0:
            bounds[number] = _moved(offset, *(x.row_splits[end] for end in ends))
    starts, limits = bounds
    return _from_ranges(starts, limits, key.step, x.values)


def _from_ranges(starts: Tensor, limits: Tensor, step: Any, values: Any) -> RaggedTensor:
    """Rows of the values at every `step`-th place from each start to its limit."""
    step = convert_to_tensor(1 if step is None else step, name="step")
    if not step.dtype.is_integer:
        raise TypeError("slice strides must be integers or None")
    step = cast(step, starts.dtype)
    places = ragged_range(starts, limits, step, row_splits_dtype=starts.dtype)
    pick = gather if isinstance(values, RaggedTensor) else dense.gather
    return places.with_values(pick(params=values, indices=places.values))


def _moved(offset: Any, starts: Tensor, limits: Tensor) -> Tensor:
    """Places at an offset in every row, from its start or, if negative, its end."""

    def from_end(end: Tensor, clip: Callable[..., Tensor], other: Tensor) -> Callable[[], Tensor]:
        return lambda: clip(end + offset, other)

    forwards, backwards = from_end(starts, minimum, limits), from_end(limits, maximum, starts)
    if isinstance(offset, Tensor):
        offset = cast(offset, starts.dtype)
        return cond(offset >= 0, forwards, backwards)
    if not isinstance(offset, int):
        raise TypeError("slice offsets must be integers or None")
    return forwards() if offset > 0 else backwards()
