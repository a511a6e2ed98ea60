"""Assembly of a part of a tensor from the saved parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.files.tensor_slice import Shape, TensorSlice, overlap

Array = np.ndarray[Any, Any]


def assemble(
    key: bytes,
    shape: Shape,
    wanted: TensorSlice,
    saved: Sequence[TensorSlice],
    read: Callable[[TensorSlice], Array],
) -> Array:
    """Return a part of a tensor, from `saved` ones that `read` gives, as a new array.

    `key` is the tensor's name, `shape` its full shape. InternalError if parts overlap or reach
    outside, InvalidArgumentError if they do not cover what is wanted.
    """
    target_shape = wanted.shape_in(shape)
    target = wanted.bounds_in(shape)
    pieces = []
    covered = 0
    _check_disjoint(shape, saved)
    for part in saved:
        shared = overlap(target, part.bounds_in(shape))
        if shared is not None:
            covered += prod(stop - start for start, stop in shared)
            pieces.append((part, shared))
    if covered != prod(target_shape):
        raise errors.invalid_argument(
            f"Does not have sufficient slices for partitioned tensor {key.decode(errors='replace')}"
            f" to restore in slice_spec: {wanted}"
        )
    result: Array | None = None
    for part, shared in pieces:
        value = read(part)
        if result is None:
            result = np.empty(target_shape, value.dtype)
        result[_within(shared, target)] = value[_within(shared, part.bounds_in(shape))]
    if result is None:  # nothing is wanted, so any part gives the type
        result = np.empty(target_shape, read(saved[0]).dtype)
    return result


def _within(bounds: Any, outer: Any) -> tuple[slice, ...]:
    return tuple(
        slice(start - base, stop - base) for (start, stop), (base, _) in zip(bounds, outer)
    )


def _check_disjoint(shape: Shape, parts: Sequence[TensorSlice]) -> None:
    for part in parts:
        part.shape_in(shape)
    if len(parts) < 2:
        return
    boxes = np.array([part.bounds_in(shape) for part in parts], np.int64)
    starts, stops = boxes[:, :, 0], boxes[:, :, 1]
    for place in range(1, len(parts)):
        touching = (starts[:place] < stops[place]) & (starts[place] < stops[:place])
        hit = np.flatnonzero(touching.all(1))
        if hit.size:
            raise errors.internal(
                f"Overlapping slices: existing slice = {parts[hit[0]]}, new slice = {parts[place]}"
            )
