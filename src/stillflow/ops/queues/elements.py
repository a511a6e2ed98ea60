"""Elements of queues: cut from batches and put together to batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.graph.arrays import string_scalar
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import torch
from stillflow.ops.kernels import torch_type

Tuple = tuple[Any, ...]


def rows(components: Sequence[Any]) -> list[Tuple]:
    """The elements of a batch. They own their memory: one that stays keeps no batch alive."""
    return list(zip(*map(_rows, components), strict=True))


def _rows(batch: Any) -> list[Any]:
    if isinstance(batch, np.ndarray):
        return list(map(string_scalar if batch.ndim == 1 else np.copy, batch))
    if batch.ndim == 1:
        return list(batch.unbind(0))
    return [row.clone() for row in batch.unbind(0)]


def stacked(elements: Sequence[Tuple]) -> Tuple:
    """A batch of elements whose components agree in shape."""
    return tuple(_stack(column) for column in zip(*elements, strict=True))


def _stack(column: tuple[Any, ...]) -> Any:
    if not isinstance(column[0], np.ndarray):
        return torch.stack(column)
    if column[0].ndim:
        return np.stack(column)
    made = np.empty(len(column), object)
    made[:] = [string.item() for string in column]
    return made


def padded(elements: Sequence[Tuple], shapes: Sequence[tuple[int | None, ...]]) -> Tuple:
    """A batch of elements, each filled up with zeros to the largest where `shapes` has None."""
    columns = zip(*elements, strict=True)
    return tuple(
        _stack(column) if None not in shape else _pad(column, shape)
        for column, shape in zip(columns, shapes, strict=True)
    )


def _pad(column: tuple[Any, ...], shape: tuple[int | None, ...]) -> Any:
    sizes = [
        max(item.shape[i] for item in column) if size is None else size
        for i, size in enumerate(shape)
    ]
    first = column[0]
    if isinstance(first, np.ndarray):
        batch: Any = np.full((len(column), *sizes), b"", dtype=object)
    else:
        batch = first.new_zeros((len(column), *sizes))
    for i, item in enumerate(column):
        batch[(i, *(slice(size) for size in item.shape))] = item
    return batch


def empty(dtypes: Sequence[DType], shapes: Sequence[tuple[int | None, ...]], device: Any) -> Tuple:
    """A batch of no elements."""
    made: list[Any] = []
    for dtype, shape in zip(dtypes, shapes, strict=True):
        sizes = (0, *(size or 0 for size in shape))
        if dtype.torch_name is None:
            made.append(np.empty(sizes, dtype=object))
        else:
            made.append(torch.empty(sizes, dtype=torch_type(dtype), device=device))
    return tuple(made)
