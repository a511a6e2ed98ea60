"""Elements of queues: unstacked from batches and stacked to batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from stillflow.graph.arrays import Array, string_scalar
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import torch
from stillflow.ops.kernels import copied, torch_type

Tuple = tuple[Any, ...]


def rows(components: Sequence[Any]) -> list[Tuple]:
    """Return the elements of a batch, in their own memory: none keeps the batch alive."""
    return list(zip(*map(_rows, components), strict=True))


class Stacked(Sequence[Tuple]):
    """Elements that are stacked already; they are taken apart where somebody wants them singly.

    Args:
      components: what a batch of the elements holds.
    """

    def __init__(self, components: Sequence[Any]) -> None:
        self.components = tuple(components)

    def __len__(self) -> int:
        return len(self.components[0])

    def __iter__(self) -> Iterator[Tuple]:
        return iter(rows(self.components))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Stacked([value[index] for value in self.components])
        return list(self)[index]

    def owned(self) -> Stacked:
        """Return copies of the elements: feeds may change later."""
        return Stacked(list(map(copied, self.components)))


def joined(parts: Sequence[Sequence[Tuple]]) -> Sequence[Tuple]:
    """Elements one after the other: stacked, if those of all parts are, in one shape."""
    found = [part for part in parts if len(part)]
    if len(found) == 1:
        return found[0]
    if found and all(isinstance(part, Stacked) for part in found):
        columns = list(zip(*(part.components for part in found), strict=True))  # type: ignore[attr-defined]
        if all(len({tuple(value.shape[1:]) for value in column}) == 1 for column in columns):
            return Stacked([_joined(column) for column in columns])
    return [element for part in found for element in part]


def _joined(column: Sequence[Any]) -> torch.Tensor | Array:
    return np.concatenate(column) if isinstance(column[0], np.ndarray) else torch.cat(column)


def _rows(batch: Any) -> list[Any]:
    if isinstance(batch, np.ndarray):
        return list(map(string_scalar if batch.ndim == 1 else np.copy, batch))
    if batch.ndim == 1:
        return list(batch.clone().unbind(0))  # feeds may change later
    return [row.clone() for row in batch.unbind(0)]


def count(parts: Sequence[Tuple | Stacked]) -> int:
    """Return the number of elements, some of which are stacked."""
    return sum(len(part) if type(part) is Stacked else 1 for part in parts)


def stacked(elements: Sequence[Tuple | Stacked]) -> Tuple:
    """Return a batch of elements whose components agree in shape; some may be stacked already."""
    if isinstance(elements, Stacked):
        return elements.components
    if Stacked not in map(type, elements):
        return tuple(_stack(column) for column in zip(*elements, strict=True))
    parts: list[Tuple] = []
    for done, group in itertools.groupby(elements, lambda part: type(part) is Stacked):
        some = list(group)
        whole = [part.components for part in some if isinstance(part, Stacked)]
        parts += whole if done else [stacked(some)]
    if len(parts) == 1:
        return parts[0]
    return tuple(_joined(column) for column in zip(*parts, strict=True))


def _stack(column: tuple[Any, ...]) -> torch.Tensor | Array:
    if not isinstance(column[0], np.ndarray):
        return torch.stack(column)
    if column[0].ndim:
        return np.stack(column)
    made = np.empty(len(column), object)
    made[:] = [string.item() for string in column]
    return made


def padded(elements: Sequence[Tuple], shapes: Sequence[tuple[int | None, ...]]) -> Tuple:
    """Return a batch of elements, padded with zeros to the largest where `shapes` has None."""
    columns = zip(*elements, strict=True)
    return tuple(
        _stack(column) if None not in shape else _pad(column, shape)
        for column, shape in zip(columns, shapes, strict=True)
    )


def _pad(column: tuple[Any, ...], shape: tuple[int | None, ...]) -> torch.Tensor | Array:
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
    """Return a batch of no elements."""
    made: list[Any] = []
    for dtype, shape in zip(dtypes, shapes, strict=True):
        sizes = (0, *(size or 0 for size in shape))
        if dtype.torch_name is None:
            made.append(np.empty(sizes, dtype=object))
        else:
            made.append(torch.empty(sizes, dtype=torch_type(dtype), device=device))
    return tuple(made)
