"""Elements of mapping, folding and scanning: their number and structure."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from stillflow import nest
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.tensor_shape import Dimension, TensorShape, dimension_value
from stillflow.ops.arrays.shape import shape
from stillflow.variables.variable_scope import get_variable_scope


class Structure:
    """Packs flat lists like a template: any nested structure, or a single value."""

    def __init__(self, template: Any) -> None:
        self.template = template
        self.is_sequence = nest.is_sequence(template)

    def flatten(self, value: Any) -> list[Any]:
        return nest.flatten(value) if self.is_sequence else [value]

    def pack(self, flat: Sequence[Any]) -> Any:
        return nest.pack_sequence_as(self.template, flat) if self.is_sequence else flat[0]


@contextlib.contextmanager
def variables_cached_once() -> Iterator[None]:
    """Variables made inside are read once, not in every iteration of a loop."""
    scope = get_variable_scope()
    mine = scope.caching_device is None and not executing_eagerly()
    if mine:
        scope.set_caching_device(lambda op: op.device)
    try:
        yield
    finally:
        if mine:
            scope.set_caching_device(None)


def check_mapped(fn: Any, elems: Any) -> None:
    """Raise TypeError for arguments that no `map_fn` takes."""
    if not callable(fn):
        raise TypeError("fn must be callable.")
    if isinstance(elems, SparseTensor):
        raise TypeError(
            "To perform a map on the values of a sparse tensor use either  "
            "SparseTensor(input.indices, fn(input.values), input.dense_shape) or  "
            "SparseTensor(input.indices, map_fn(fn, input.values), input.dense_shape)"
        )


def as_tensors(elements: Sequence[Any]) -> list[Tensor]:
    return [convert_to_tensor(element, name="elem") for element in elements]


def check_ranks(elements: Sequence[Any]) -> None:
    """Raise ValueError if the first of the elements is known to be a scalar."""
    if elements[0].shape.ndims == 0:
        if len(elements) == 1:
            raise ValueError("elems must be a 1+ dimensional Tensor, not a scalar")
        raise ValueError("elements in elems must be 1+ dimensional Tensors, not scalars")


def size_of(element: Tensor) -> Tensor | int:
    """Return the size of the first dimension: a number if it is known and not 0, else a tensor."""
    return dimension_value(element.shape[0]) or shape(element)[0]


def set_static_size(results: Sequence[Tensor], elements: Sequence[Tensor]) -> None:
    """Set the results' static size, common to all elements, or raise ValueError."""
    sizes = [dimension_value(element.shape.with_rank_at_least(1)[0]) for element in elements]
    for size in sizes[1:]:
        Dimension(sizes[0]).merge_with(Dimension(size))
    for result in results:
        result.set_shape(TensorShape([sizes[0]]).concatenate(result.shape[1:]))
