"""TensorLists during a run: immutable lists of tensors.

Every operation gives another list. The newest one of a chain of changes holds the elements; an
older one can compute its own from those of the next. So a push in a loop costs the same in every
iteration, and an older list stays unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from stillflow.graph import dims as shapes
from stillflow.graph.dims import Dims, shape_text
from stillflow.graph.dtypes import DType, cpp_name
from stillflow.graph.lazy import torch
from stillflow.ops.kernels import zeros_of
from stillflow.ops.tensor_array.store import refuse


class TensorList:
    """An immutable list of tensors; None stands for an element that was never set.

    Attributes:
      dtype: of the elements.
      element: the static shape of the elements.
      limit: how many there may be at most; -1 for any number.
    """

    __slots__ = ("_items", "_newer", "_undo", "dtype", "element", "limit")
    shape = ()

    def __init__(self, dtype: DType, element: Dims, items: list[Any], limit: int = -1) -> None:
        self.dtype, self.element, self.limit = dtype, element, limit
        self._items: list[Any] | None = items
        self._newer: TensorList | None = None
        self._undo: Callable[[list[Any]], Any] | None = None

    @property
    def items(self) -> list[Any]:
        """The elements, to be read only."""
        if self._items is None:
            self._recover()
        assert self._items is not None
        return self._items

    def _recover(self) -> None:
        """Recover the elements of this list from a copy of the newest list's."""
        undoes = []
        newest = self
        while newest._items is None:
            assert newest._undo is not None and newest._newer is not None
            undoes.append(newest._undo)
            newest = newest._newer
        items = list(newest._items)
        for undo in reversed(undoes):
            undo(items)
        self._items, self._newer, self._undo = items, None, None

    def _becomes(self, items: list[Any], undo: Callable[[list[Any]], Any]) -> TensorList:
        newer = TensorList(self.dtype, self.element, items, self.limit)
        self._items, self._newer, self._undo = None, newer, undo
        return newer

    def pushed(self, value: Any) -> TensorList:
        """Return the list with one more element."""
        items = self.items
        items.append(value)
        return self._becomes(items, list.pop)

    def popped(self) -> tuple[TensorList, Any]:
        """Without the last element, and that element."""
        items = self.items
        value = items.pop()
        return self._becomes(items, partial(_append, value)), value

    def replaced(self, index: int, value: Any) -> TensorList:
        """Return the list with another element at `index`."""
        items = self.items
        before, items[index] = items[index], value
        return self._becomes(items, partial(_put, index, before))

    def like(self, items: list[Any]) -> TensorList:
        """Return a list of other elements of the same kind."""
        return TensorList(self.dtype, self.element, items, self.limit)

    def copy(self) -> TensorList:
        """Return the same list with memory of its own."""
        return self.like([_copy(item) for item in self.items])

    def zeros_like(self) -> TensorList:
        """Return zeros for every element that is set."""
        return self.like([None if item is None else zeros_of(item) for item in self.items])

    def __add__(self, other: TensorList) -> TensorList:
        """Return the sums of the elements; InvalidArgumentError if the lists do not fit."""
        what = "Trying to add two lists of tensors"
        if self.dtype != other.dtype:
            raise refuse(
                f"{what} of different dtypes. One is {cpp_name(self.dtype)} and the other is "
                f"{cpp_name(other.dtype)}"
            )
        if not shapes.is_compatible(self.element, other.element):
            raise refuse(
                f"{what} with incompatible element shapes. One is {shape_text(self.element)} and "
                f"the other is {shape_text(other.element)}"
            )
        a, b = self.items, other.items
        if len(a) != len(b):
            raise refuse(
                f"{what} with different lengths. One is {len(a)} and the other is {len(b)}"
            )
        sums = [_sum(x, y) for x, y in zip(a, b, strict=True)]
        return TensorList(self.dtype, shapes.merge(self.element, other.element), sums)


def _copy(item: Any) -> torch.Tensor | None:
    if item is None:
        return None
    return item.clone() if hasattr(item, "clone") else item.copy()


def _append(value: Any, items: list[Any]) -> None:
    items.append(value)


def _put(index: int, value: Any, items: list[Any]) -> None:
    items[index] = value


def _sum(x: Any, y: Any) -> torch.Tensor | None:
    if x is None or y is None:
        return y if x is None else x
    if x.shape != y.shape:
        raise refuse(
            "Trying to add two tensors with incompatible element shapes. One is "
            f"{shape_text(tuple(x.shape))} and the other is {shape_text(tuple(y.shape))}"
        )
    return x + y
