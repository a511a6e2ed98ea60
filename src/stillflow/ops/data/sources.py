"""Datasets made of tensors: TensorDataset, TensorSliceDataset, RangeDataset and the like."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.arrays import string_scalar
from stillflow.graph.dims import shape_text
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.pipeline import (
    INFINITE,
    TYPED,
    Dataset,
    dataset_op,
    invalid,
    scalar,
)
from stillflow.ops.data.walk import Element, State, Walk
from stillflow.ops.kernels import copied
from stillflow.ops.queues.elements import Stacked
from stillflow.ops.random.philox import Philox

tensor_dataset_op = dataset_op(
    """
    TensorDataset(components: [Toutput_types]) -> handle: variant
    Toutput_types: list(type) >= 1
    output_shapes: list(shape) >= 1
    flags: stateful
""",
    keeps=tuple(range(64)),
)
tensor_slice_dataset_op = dataset_op(
    """
    TensorSliceDataset(components: [Toutput_types]) -> handle: variant
    Toutput_types: list(type) >= 1
    output_shapes: list(shape) >= 1
    flags: stateful
""",
    keeps=tuple(range(64)),
)
range_dataset_op = dataset_op(
    f"RangeDataset(start: int64, stop: int64, step: int64) -> handle: variant{TYPED}"
    "\nflags: stateful"
)
sparse_tensor_slice_dataset_op = dataset_op(
    """
    SparseTensorSliceDataset(indices: int64, values: Tvalues, dense_shape: int64) -> handle: variant
    Tvalues: type
    flags: stateful
""",
    keeps=(0, 1, 2),
)
random_dataset_op = dataset_op(
    f"RandomDataset(seed: int64, seed2: int64) -> handle: variant{TYPED}\nflags: stateful"
)


def _dims(value: Any) -> tuple[int, ...]:
    return tuple(value.shape)


class _Once(Walk):
    """One element."""

    inputs = ()
    flags: ClassVar[dict[str, str]] = {"produced": "produced"}

    def __init__(self, element: Element) -> None:
        self.element = element
        self.produced = False

    def __next__(self) -> Element:
        if self.produced:
            raise StopIteration
        self.produced = True
        return self.element


@tensor_dataset_op.kernel
def tensor_dataset_kernel(node: Node) -> Kernel:
    types = list(node.Toutput_types)

    def run(*components: Any) -> Dataset:
        shapes = [_dims(c) for c in components]
        return Dataset("FromTensor", types, shapes, lambda *_: _Once(components), 1)

    return run


_SEVERAL = 4  # elements: as many are taken as a part of the tensors


class Slices(Walk):
    """The elements of tensors along their first dimension."""

    inputs = ()
    numbers: ClassVar[dict[str, str]] = {"position": "i"}

    def __init__(self, components: tuple[Any, ...], position: int = 0) -> None:
        self.components = components
        self.position = position
        self._elements = slices_of(components, position)

    def __next__(self) -> Element:
        element = next(self._elements)
        self.position += 1
        return element

    def take(self, count: int) -> tuple[Sequence[Element], Exception | None]:
        if count < _SEVERAL:
            return super().take(count)
        taken = slice(self.position, self.position + count)
        elements = Stacked([copied(value[taken]) for value in self.components])
        self.position += len(elements)
        self._elements = slices_of(self.components, self.position)
        return elements, None

    def restore(self, state: State) -> None:
        super().restore(state)
        self._elements = slices_of(self.components, self.position)


def slices_of(components: tuple[Any, ...], first: int = 0) -> Iterator[Element]:
    """Return the elements of tensors along their first dimension, from number `first` on."""
    return zip(*(_slices(component, first) for component in components), strict=False)


def _slices(value: Any, first: int) -> Iterator[Any]:
    if isinstance(value, np.ndarray):
        rest = iter(value[first:])
        return map(string_scalar, rest) if value.ndim == 1 else rest
    return map(value.__getitem__, range(first, value.shape[0]))


@tensor_slice_dataset_op.kernel
def tensor_slice_dataset_kernel(node: Node) -> Kernel:
    types = list(node.Toutput_types)

    def run(*components: Any) -> Dataset:
        counts = {c.shape[0] for c in components if len(c.shape)}
        if len(counts) != 1 or any(not len(c.shape) for c in components):
            raise invalid("All components must have the same size in the 0th dimension")
        shapes = [_dims(c)[1:] for c in components]
        return Dataset("TensorSlice", types, shapes, lambda *_: Slices(components), counts.pop())

    return run


_AT_ONCE = 64


class _Range(Walk):
    """Numbers at the same distance."""

    inputs = ()
    numbers: ClassVar[dict[str, str]] = {"next": "next"}

    def __init__(self, start: int, stop: int, step: int) -> None:
        self.next = start
        self.stop = stop
        self.step = step
        self._made: list[Any] = []  # some that follow, the last one first: these cost less together
        self._following = start

    def __next__(self) -> Element:
        number = self.next
        if not self._made or number != self._following:
            self._made = self._some(number)
        self.next = self._following = number + self.step
        return (self._made.pop(),)

    def _some(self, first: int) -> list[Any]:
        number = min(_AT_ONCE, -((first - self.stop) // self.step))
        if number <= 0:
            raise StopIteration
        numbers = np.arange(number, dtype=np.int64) * self.step + first
        return list(torch.from_numpy(numbers).unbind(0))[::-1]


@range_dataset_op.kernel
def range_dataset_kernel(node: Node) -> Kernel:
    types = list(node.output_types)

    def run(*limits: Any) -> Dataset:
        start, stop, step = map(scalar, limits)
        if step == 0:
            raise invalid("step must be a non-zero integer.")
        size = max(0, -((start - stop) // step))  # may be too long for len()
        make = lambda *_: _Range(start, stop, step)
        return Dataset("Range", types, [()], make, size)

    return run


class RandomNumbers:
    """The 32-bit numbers of a random stream.

    Attributes:
      drawn: how many there were; it may be set.
    """

    def __init__(self, stream: Philox) -> None:
        self._start = stream
        self._block: list[int] = []
        self._first = 0  # the number of the block's first element
        self._next = 0

    def __call__(self) -> int:
        if self._next == len(self._block):
            self.drawn = self.drawn
        number = self._block[self._next]
        self._next += 1
        return number

    @property
    def drawn(self) -> int:
        return self._first + self._next

    @drawn.setter
    def drawn(self, count: int) -> None:
        stream = self._start.copy()
        stream.skip(count // _WORDS_PER_BLOCK)
        self._first, self._next = count - count % _WORDS_PER_BLOCK, count % _WORDS_PER_BLOCK
        self._block = stream.words(_WORDS).tolist()


_WORDS = 256
_WORDS_PER_BLOCK = 4


class _RandomWalk(Walk):
    """Numbers of a random stream."""

    inputs = ()

    def __init__(self, seed: int, seed2: int) -> None:
        self.draw = RandomNumbers(Philox.from_seeds(seed, seed2))

    def __next__(self) -> Element:
        return (torch.tensor(self.draw(), dtype=torch.int64),)

    def save(self, state: State) -> None:
        self.put(state, "num_random_samples", self.draw.drawn)

    def restore(self, state: State) -> None:
        self.draw.drawn = self.integer(state, "num_random_samples")


@random_dataset_op.kernel
def random_dataset_kernel(node: Node) -> Kernel:
    types = list(node.output_types)

    def run(seed: Any, seed2: Any) -> Dataset:
        seeds = scalar(seed), scalar(seed2)
        return Dataset("Random", types, [()], lambda *_: _RandomWalk(*seeds), INFINITE)

    return run


@sparse_tensor_slice_dataset_op.kernel
def sparse_tensor_slice_dataset_kernel(node: Node) -> Kernel:
    types = [dtypes.int64, node.Tvalues, dtypes.int64]

    def run(indices: Any, values: Any, dense_shape: Any) -> Dataset:
        _check_sparse(indices, values, dense_shape)
        rows = indices[:, 0].tolist()
        if any(b < a for a, b in pairwise(rows)):
            raise errors_unordered()
        rank = len(dense_shape) - 1
        shapes = [(None, rank), (None,), (rank,)]

        make = lambda *_: _SparseRows(indices, values, dense_shape, rows)
        return Dataset("SparseTensorSlice", types, shapes, make, int(dense_shape[0]))

    return run


def errors_unordered() -> Exception:
    from stillflow import errors

    return errors.unimplemented(
        "The SparseTensor must be ordered in the batch dimension; "
        "handling arbitrarily ordered input is not currently supported."
    )


def _check_sparse(indices: Any, values: Any, dense_shape: Any) -> None:
    for value, rank, name, kind in (
        (indices, 2, "indices", "matrix"), (values, 1, "values", "vector"),
        (dense_shape, 1, "shape", "vector"),
    ):  # fmt: skip
        if len(value.shape) != rank:
            raise invalid(
                f"Input {name} should be a {kind} but received shape {shape_text(_dims(value))}"
            )


class _SparseRows(Walk):
    """The rows of a sparse tensor."""

    inputs = ()
    numbers: ClassVar[dict[str, str]] = {"row": "i"}

    def __init__(self, indices: Any, values: Any, dense_shape: Any, rows: list[int]) -> None:
        self.indices = indices
        self.values = values
        self.dense_shape = dense_shape
        self.rows = rows
        self.row = 0

    def __next__(self) -> Element:
        if self.row >= int(self.dense_shape[0]):
            raise StopIteration
        first, last = bisect_left(self.rows, self.row), bisect_right(self.rows, self.row)
        self.row += 1
        return self.indices[first:last, 1:], self.values[first:last], self.dense_shape[1:]
