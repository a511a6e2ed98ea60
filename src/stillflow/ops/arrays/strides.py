"""Strided slices: Python's indexing, resolved against a shape.

`x[1, ..., None, 2:8:3]` reaches the ops as vectors begin, end and strides and five bit masks that
say which entries are open ranges, single indices, new axes or the ellipsis.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stillflow.graph.dims import Dims, to_string
from stillflow.graph.node import Node


@dataclass(frozen=True, slots=True)
class Masks:
    """The bit masks of a strided slice op; bit i is about entry i of begin, end and strides."""

    begin: int
    end: int
    ellipsis: int
    new_axis: int
    shrink_axis: int

    @classmethod
    def of(cls, node: Node) -> Masks:
        return cls(
            node.begin_mask, node.end_mask, node.ellipsis_mask, node.new_axis_mask,
            node.shrink_axis_mask,
        )  # fmt: skip


@dataclass(slots=True)
class Range:
    """The part of one dimension that is taken: `count` elements from `start`, in steps."""

    start: int
    step: int
    count: int


@dataclass(slots=True)
class Resolved:
    """A slice of a known shape.

    Attributes:
      dims: the result's shape.
      index: a Python index with positive steps that takes the elements.
      flips: axes of the result of `index` that are then reversed.
      parts: the range of each dimension; None where the slice takes all of it.
      drops: dimensions of which a single element is taken.
      plain: whether no dimension is added.
    """

    dims: tuple[int, ...]
    index: tuple[Any, ...] = ()
    flips: tuple[int, ...] = ()
    parts: list[Range | None] = field(default_factory=list)
    drops: frozenset[int] = frozenset()
    plain: bool = True


@dataclass(slots=True)
class _Entry:
    """Slicing of one dimension of the input."""

    begin: int = 0
    end: int = 0
    stride: int = 1
    begin_open: bool = True
    end_open: bool = True
    shrink: bool = False


_NEW_AXIS = -2


def _entries(
    rank: int, begin: Sequence[int] | None, end: Sequence[int] | None, strides: Sequence[int],
    masks: Masks,
) -> tuple[list[_Entry], list[int]]:  # fmt: skip
    """One entry for each dimension, and the result's dimensions: an input's, or a new axis."""
    count = len(strides)
    ellipsis = masks.ellipsis
    if ellipsis & (ellipsis - 1):
        raise ValueError("Multiple ellipses in slice spec not allowed")
    ellipsis &= (1 << count) - 1  # a bit may be about no entry at all
    added_after = 0
    if ellipsis:
        first = ellipsis.bit_length() - 1
        added_after = sum(masks.new_axis >> i & 1 for i in range(first + 1, count))
    else:
        ellipsis = 1 << count
        count += 1
    entries: list[_Entry] = []
    layout: list[int] = []
    for i in range(count):
        if ellipsis >> i & 1:
            stop = min(rank - (count - i) + 1 + added_after, rank)
            while len(entries) < stop:
                layout.append(len(entries))
                entries.append(_Entry())
        elif masks.new_axis >> i & 1:
            layout.append(_NEW_AXIS)
        else:
            position = len(entries)
            if position == rank:
                raise ValueError(
                    f"Index out of range using input dim {position}; input has only {rank} dims"
                )
            shrink = bool(masks.shrink_axis >> i & 1)
            if not shrink:
                layout.append(position)
            entries.append(_Entry(
                begin[i] if begin is not None else 0, end[i] if end is not None else 0,
                strides[i], bool(masks.begin >> i & 1), bool(masks.end >> i & 1), shrink,
            ))  # fmt: skip
    return entries, layout


def _bound(value: int, is_open: bool, is_end: bool, dim: int, stride: int) -> int:
    """Return a bound of a range, moved into the dimension."""
    low, high = (0, dim) if stride > 0 else (-1, dim - 1)
    if is_open:
        return (high if is_end else low) if stride > 0 else (low if is_end else high)
    value = dim + value if value < 0 else value
    return max(low, min(high, value))


def _length(start: int, stop: int, stride: int) -> int:
    if stride < 0:
        start, stop, stride = stop, start, -stride
    return max(0, -((start - stop) // stride))


def _taken(entry: _Entry, axis: int, dim: int, known: bool) -> Range | None:
    """Return the elements taken of a dimension of known size.

    None where that cannot be told yet.
    """
    if entry.shrink and entry.stride <= 0:
        raise ValueError("only stride 1 allowed on non-range indexing.")
    if entry.shrink:
        if not known:
            return Range(0, 1, 1)
        start = dim + entry.begin if entry.begin < 0 else entry.begin
        if not 0 <= start < dim:
            raise ValueError(f"slice index {start} of dimension {axis} out of bounds.")
        return Range(start, 1, 1)
    if not known and not (entry.begin_open and entry.end_open):
        return None
    start = _bound(entry.begin, entry.begin_open, False, dim, entry.stride)
    stop = _bound(entry.end, entry.end_open, True, dim, entry.stride)
    count = _length(start, stop, entry.stride)
    return Range(start, entry.stride if count > 1 else 1, count)


def check_vectors(shapes: Sequence[Any]) -> None:
    """Raise an error for begin, end and strides that are not vectors of one length."""
    known = [shape for shape in shapes if shape is not None]
    if any(len(shape) != 1 for shape in known) or len({tuple(shape) for shape in known}) > 1:
        listed = ", ".join(to_string(tuple(shape)) for shape in shapes[:2])
        raise ValueError(
            "Expected begin, end, and strides to be 1D equal size tensors, but got shapes "
            f"{listed}, and {to_string(tuple(shapes[2]))} instead."
        )


def sliced_dims(
    dims: tuple[int | None, ...],
    begin: Sequence[int] | None,
    end: Sequence[int] | None,
    strides: Sequence[int],
    masks: Masks,
) -> Dims:
    """Return the shape of a slice, as far as the input's shape and the bounds are known."""
    entries, layout = _entries(len(dims), begin, end, strides, masks)
    known = begin is not None and end is not None
    sizes: list[int | None] = []
    for axis, (entry, dim) in enumerate(zip(entries, dims, strict=True)):
        if entry.stride == 0:
            raise ValueError(f"strides[{axis}] must be non-zero")
        if dim is None:
            sizes.append(1 if entry.shrink else None)
            continue
        taken = _taken(entry, axis, dim, known)
        sizes.append(None if taken is None else taken.count)
    return tuple([1 if axis == _NEW_AXIS else sizes[axis] for axis in layout])


def resolve(
    dims: Sequence[int],
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int],
    masks: Masks,
) -> Resolved:
    """Return the slice of a tensor of a fully known shape."""
    entries, layout = _entries(len(dims), begin, end, strides, masks)
    parts: list[Range | None] = []
    takes: list[Any] = []
    for axis, (entry, dim) in enumerate(zip(entries, dims, strict=True)):
        if entry.stride == 0:
            raise ValueError(f"strides[{axis}] must be non-zero")
        taken = _taken(entry, axis, dim, True)
        assert taken is not None
        whole = taken.step == 1 and taken.count == dim and not entry.shrink
        parts.append(None if whole else taken)
        takes.append(slice(None) if whole else _forward(taken, entry.shrink))
    index: list[Any] = []
    placed = 0
    for axis in layout:
        if axis == _NEW_AXIS:
            index.append(None)
            continue
        index.extend(takes[placed : axis + 1])
        placed = axis + 1
    index.extend(takes[placed:])
    sizes = [1 if axis == _NEW_AXIS else _size(parts[axis], dims[axis]) for axis in layout]
    flips = [
        position
        for position, axis in enumerate(layout)
        if axis != _NEW_AXIS and _is_reversed(parts[axis])
    ]
    drops = frozenset(axis for axis, entry in enumerate(entries) if entry.shrink)
    return Resolved(tuple(sizes), tuple(index), tuple(flips), parts, drops, _NEW_AXIS not in layout)


# While a plan runs, most slices are taken again and again of tensors of a few shapes.
resolve_again = functools.lru_cache(256)(resolve)


def _size(part: Range | None, dim: int) -> int:
    return dim if part is None else part.count


def _is_reversed(part: Range | None) -> bool:
    return part is not None and part.step < 0 and part.count > 1


def _forward(taken: Range, single: bool) -> Any:
    """Return the elements of a range in ascending order, as a Python index."""
    if single:
        return taken.start
    if taken.count == 0:
        return slice(0, 0)
    last = taken.start + (taken.count - 1) * taken.step
    low, high = min(taken.start, last), max(taken.start, last)
    return slice(low, high + 1, abs(taken.step))
