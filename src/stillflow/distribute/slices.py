"""Sums, shares and copies of gradients, be they tensors or IndexedSlices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.distribute.values import DistributedValues
from stillflow.graph.api import device
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.gradients.aggregation import sum_slices
from stillflow.ops.math.reductions import add_n


def aggregate(values: Sequence[Any], accumulate: Callable[[Any], Any] = add_n) -> Any:
    """Return the sum of tensors, by `accumulate`, or of IndexedSlices."""
    if not any(isinstance(value, IndexedSlices) for value in values):
        return accumulate(values)
    if len(values) == 1:
        return values[0]
    if any(isinstance(value, Tensor) for value in values):
        return add_n(values)
    return sum_slices(list(values))


def divide_by(value: Any, count: int) -> Any:
    """Return a tensor or IndexedSlices, divided by a number."""
    if isinstance(value, IndexedSlices):
        return IndexedSlices(value.values / count, value.indices, value.dense_shape)
    return value / count


def copy_to(value: Any, name: str) -> Tensor | IndexedSlices:
    """Return a copy of a tensor or IndexedSlices on a device."""
    with device(name):
        if not isinstance(value, IndexedSlices):
            return identity(value)
        values, indices = identity(value.values), identity(value.indices)
        shape = None if value.dense_shape is None else identity(value.dense_shape)
        return IndexedSlices(values, indices, shape)


def contains_slices(value: Any) -> bool:
    """Return True for IndexedSlices, and for a list or distributed value that has some."""
    if isinstance(value, DistributedValues):
        value = value.values
    if isinstance(value, (list, tuple)) and not isinstance(value, IndexedSlices):
        return any(contains_slices(part) for part in value)
    return isinstance(value, IndexedSlices)
