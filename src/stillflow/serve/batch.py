"""Requests combined into one batch: concatenated, padded, run, and split again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from stillflow import errors

Array = np.ndarray[Any, Any]


def rows_of(feeds: Mapping[str, Array]) -> int:
    """Return the number of rows of a request, the first dimension of all its inputs.

    Raises:
      InvalidArgumentError: if there are no inputs, or they differ in it.
    """
    sizes = set()
    for array in feeds.values():
        if not array.ndim:
            raise errors.invalid_argument(
                "Batching session Run() input tensors must have at least one dimension"
            )
        sizes.add(array.shape[0])
    if len(sizes) != 1:
        raise errors.invalid_argument(
            "Batching session Run() input tensors must have equal 0th-dimension size"
        )
    return sizes.pop()


def combined(requests: Sequence[Mapping[str, Array]], size: int, pads: bool) -> dict[str, Array]:
    """Return the inputs of a batch.

    Args:
      requests: the inputs of each request.
      size: rows of the batch; rows that are missing repeat the first one.
      pads: whether inputs of different lengths are filled up with zeros, or empty strings.

    Raises:
      FailedPreconditionError: if shapes differ and `pads` is not set.
    """
    feeds = {}
    for name in requests[0]:
        arrays = [request[name] for request in requests]
        if len({array.shape[1:] for array in arrays}) > 1:
            arrays = _padded(name, arrays, pads)
        missing = size - sum(len(array) for array in arrays)
        if missing > 0:
            arrays.append(np.repeat(arrays[0][:1], missing, axis=0))
        feeds[name] = np.concatenate(arrays) if len(arrays) > 1 else arrays[0]
    return feeds


def _padded(name: str, arrays: Sequence[Array], pads: bool) -> list[Array]:
    if not pads or len({array.ndim for array in arrays}) > 1:
        raise errors.failed_precondition(
            f"Tensors with name '{name}' from different tasks have different shapes and padding "
            "is turned off. Set pad_variable_length_inputs to true, or ensure that all tensors "
            "with the same name have equal dimensions starting with the first dim."
        )
    longest = [max(sizes) for sizes in zip(*(array.shape[1:] for array in arrays))]
    found = []
    for array in arrays:
        filled = np.zeros([len(array), *longest], array.dtype)
        if array.dtype == object:
            filled.fill(b"")
        filled[tuple(slice(size) for size in array.shape)] = array
        found.append(filled)
    return found


def split(outputs: Sequence[Array], rows: Sequence[int], size: int) -> list[list[Array]]:
    """Return the outputs of each request.

    Args:
      outputs: of the batch.
      rows: the number of rows of each request.
      size: rows of the batch, those that fill it up included.

    Raises:
      FailedPreconditionError: if an output has other rows than the inputs.
    """
    for array in outputs:
        if not array.ndim:
            raise errors.failed_precondition("Batched output tensor has 0 dimensions")
        if len(array) != size:
            raise errors.failed_precondition(
                "Batched output tensor's 0th dimension does not equal the sum of the 0th "
                "dimension sizes of the input tensors"
            )
    ends = accumulate(rows)
    return [[array[end - count : end] for array in outputs] for end, count in zip(ends, rows)]
