"""The time that kernels take, by the cost models of cards and the sizes of tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, prod
from typing import Any, Protocol

from stillflow.graph.constant_value import Dims
from stillflow.graph.operation import Operation, Tensor

_NANOSECONDS_PER_FLOP = 0.05
# Assumed value of an unknown size, such as the batch of a dataset.
_USUAL = 64
# From so many elements on, element-wise kernels share their work; those of Intel's library for
# vectors, and kernels that sort, do so much sooner.
_SHARED = 32_768
_SHARED_SOON = 32
# Nanoseconds for each of some matrices that are decomposed, and for the cube of its size.
_PER_MATRIX, _PER_CUBE = 5_000.0, 1.0


class Known(Protocol):
    """Shapes and values of tensors, as far as they are known."""

    @property
    def values(self) -> Mapping[Tensor, Any]:
        """Values that need not be computed."""

    def dims(self, tensor: Tensor) -> Dims:
        """Return the shape of a tensor."""


class Guess:
    """Shapes with a usual size in the place of those that are not known."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self.values = known.values

    def dims(self, tensor: Tensor) -> tuple[int, ...] | None:
        sizes = self._known.dims(tensor)
        return None if sizes is None else tuple(_USUAL if size is None else size for size in sizes)


def cost_of(op: Operation, known: Known) -> tuple[float, bool]:
    """Return an operation's cost in nanoseconds of one thread, and True if it may be shared."""
    cost, count = op.card.cost, _count(op, known)
    if cost.kind == "product":
        return count + 2.0 * count * _inner(op, known) * _NANOSECONDS_PER_FLOP, True
    if cost.kind == "matrices":
        return _matrices(op, known), True
    if cost.kind == "window":
        tensors = [*op._inputs, *op._outputs]
        answers, filter = (tensors[place] for place in cost.places)
        window = _product((known.dims(filter) or (None,))[:-1] or (None,))
        return 2.0 * _elements(answers, known) * window * _NANOSECONDS_PER_FLOP, True
    if cost.kind == "cells":
        return _cells(op, known), True
    least = _SHARED_SOON if cost.soon else _SHARED
    return count * cost.nanoseconds, count >= least or cost.kind == "passes"


def _cells(op: Operation, known: Known) -> float:
    """Return the cost of the products of a layer's inputs with the cells' weights."""
    first, *places = op.card.cost.places
    rows = _product((known.dims(op._inputs[first]) or (None,))[:-1] or (None,))
    weights = sum(_product(known.dims(op._inputs[place]) or (None,)) for place in places)
    products = 2 if op.type.endswith("Grad") else 1  # by the weights, and for theirs
    return 2.0 * products * rows * weights * _NANOSECONDS_PER_FLOP


def _count(op: Operation, known: Known) -> float:
    """Return the number of elements of an operation's work, where it is not known before."""
    worked_on, counts = op._outputs, op.card.cost.counts
    if counts == "inputs" or any(tensor.dtype._is_ref_dtype for tensor in worked_on):
        # A variable, of which it may use a part.
        worked_on = [tensor for tensor in op._inputs if not tensor.dtype._is_ref_dtype]
    count = max((_elements(tensor, known) for tensor in worked_on), default=0.0)
    if count and counts == "first input":
        return _product(known.dims(op._inputs[0]) or (None,))
    return count


def _matrices(op: Operation, known: Known) -> float:
    """Return the cost of decomposing the matrices of an operation's first input."""
    sizes = known.dims(op._inputs[0])
    if sizes is None or None in sizes or len(sizes) < 2:
        return inf
    cube = float(max(size or 0 for size in sizes[-2:])) ** 3
    return _product(sizes[:-2]) * (_PER_MATRIX + _PER_CUBE * cube)


def _elements(tensor: Tensor, known: Known) -> float:
    """Return the number of computed elements; infinity if unknown."""
    if tensor in known.values:
        return 0.0
    sizes = known.dims(tensor)
    if sizes is None:
        return inf
    return _product(sizes)


def _product(sizes: Sequence[int | None]) -> float:
    return prod(inf if size is None else float(size) for size in sizes)


def _inner(op: Operation, known: Known) -> float:
    """Return the length of the sums of a matrix product."""
    sizes = known.dims(op._inputs[0])
    transposed = op.attrs.get("transpose_a") or op.attrs.get("adj_x")
    size = sizes[-2 if transposed else -1] if sizes else None
    return inf if size is None else float(size)
