"""Datasets made of tensors: TensorDataset, TensorSliceDataset, RangeDataset and the like."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.ops.data.pipeline import (
    INFINITE,
    TYPED,
    Context,
    Dataset,
    Element,
    dataset_op,
    invalid,
    scalar,
    shape_text,
)
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


@tensor_dataset_op.kernel
def tensor_dataset_kernel(node: Node) -> Any:
    types = list(node.Toutput_types)

    def run(*components: Any) -> Dataset:
        return Dataset(
            "Tensor", types, [_dims(c) for c in components], lambda *_: iter((components,)), 1
        )

    return run


def slices_of(components: tuple[Any, ...]) -> Iterator[Element]:
    """The elements of tensors along their first dimension."""
    return zip(*(_slices(component) for component in components), strict=False)


def _slices(value: Any) -> Iterator[Any]:
    if isinstance(value, np.ndarray):
        return map(_object_slice, iter(value)) if value.ndim == 1 else iter(value)
    return map(value.__getitem__, range(value.shape[0]))


def _object_slice(item: Any) -> np.ndarray:
    array = np.empty((), object)
    array[()] = item
    return array


@tensor_slice_dataset_op.kernel
def tensor_slice_dataset_kernel(node: Node) -> Any:
    types = list(node.Toutput_types)

    def run(*components: Any) -> Dataset:
        counts = {c.shape[0] for c in components if len(c.shape)}
        if len(counts) != 1 or any(not len(c.shape) for c in components):
            raise invalid("All components must have the same size in the 0th dimension")
        shapes = [_dims(c)[1:] for c in components]
        return Dataset("TensorSlice", types, shapes, lambda *_: slices_of(components), counts.pop())

    return run


@range_dataset_op.kernel
def range_dataset_kernel(node: Node) -> Any:
    types = list(node.output_types)

    def run(*limits: Any) -> Dataset:
        start, stop, step = map(scalar, limits)
        if step == 0:
            raise invalid("step must be a non-zero integer.")
        numbers = range(start, stop, step)

        def make(context: Context, prefix: str) -> Any:
            tensor, kind = torch.tensor, torch.int64
            return ((tensor(number, dtype=kind),) for number in numbers)

        size = max(0, -((start - stop) // step))  # may be too long for len()
        return Dataset("Range", types, [()], make, size)

    return run


class _Words:
    """Numbers of a random stream."""

    def __init__(self, seed: int, seed2: int) -> None:
        self.draw = words(Philox.from_seeds(seed, seed2))

    def __iter__(self) -> _Words:
        return self

    def __next__(self) -> Element:
        return (torch.tensor(next(self.draw), dtype=torch.int64),)


_WORDS = 256


def words(stream: Philox) -> Iterator[int]:
    """The 32-bit numbers of a stream one by one."""
    while True:
        yield from stream.words(_WORDS).tolist()
        stream.skip(_WORDS // 4)


@random_dataset_op.kernel
def random_dataset_kernel(node: Node) -> Any:
    types = list(node.output_types)

    def run(seed: Any, seed2: Any) -> Dataset:
        seeds = scalar(seed), scalar(seed2)
        return Dataset("Random", types, [()], lambda *_: _Words(*seeds), INFINITE)

    return run


@sparse_tensor_slice_dataset_op.kernel
def sparse_tensor_slice_dataset_kernel(node: Node) -> Any:
    types = [dtypes.int64, node.Tvalues, dtypes.int64]

    def run(indices: Any, values: Any, dense_shape: Any) -> Dataset:
        _check_sparse(indices, values, dense_shape)
        rows = indices[:, 0].tolist()
        if any(b < a for a, b in pairwise(rows)):
            raise errors_unordered()
        rank = len(dense_shape) - 1
        shapes = [(None, rank), (None,), (rank,)]

        def make(context: Context, prefix: str) -> Any:
            return _sparse_rows(indices, values, dense_shape, rows)

        return Dataset("SparseTensorSlice", types, shapes, make, int(dense_shape[0]))

    return run


def errors_unordered() -> Exception:
    from stillflow import errors

    return errors.UnimplementedError(
        None,
        None,
        "The SparseTensor must be ordered in the batch dimension; "
        "handling arbitrarily ordered input is not currently supported.",
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


def _sparse_rows(indices: Any, values: Any, dense_shape: Any, rows: list[int]) -> Any:
    rest = dense_shape[1:]
    first = 0
    for row in range(int(dense_shape[0])):
        last = first
        while last < len(rows) and rows[last] == row:
            last += 1
        yield indices[first:last, 1:], values[first:last], rest
        first = last
