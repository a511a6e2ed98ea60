"""Datasets of batches: BatchDataset(V2), PaddedBatchDataset(V2), UnbatchDataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.arrays import Array
from stillflow.graph.dims import shape_text
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.pipeline import (
    TYPED,
    UNKNOWN,
    Context,
    Dataset,
    Elements,
    as_dataset,
    component_dims,
    invalid,
    scalar,
    unary,
)
from stillflow.ops.data.sources import Slices
from stillflow.ops.data.walk import Element, State, Walk
from stillflow.ops.queues.elements import Stacked

_PADDED = "\nToutput_types: list(type) >= 1\noutput_shapes: list(shape) >= 1\nN: int >= 1"
_PADDING = "batch_size: int64, padded_shapes: N*int64, padding_values: [Toutput_types]"

batch_dataset_op = unary("BatchDataset", "batch_size: int64", TYPED)
batch_dataset_v2_op = unary(
    "BatchDatasetV2", "batch_size: int64, drop_remainder: bool",
    f"\nparallel_copy: bool = false{TYPED}",
)  # fmt: skip
padded_batch_dataset_op = unary("PaddedBatchDataset", _PADDING, _PADDED)
padded_batch_dataset_v2_op = unary(
    "PaddedBatchDatasetV2", f"{_PADDING}, drop_remainder: bool",
    f"\nparallel_copy: bool = false{_PADDED}",
)  # fmt: skip
unbatch_dataset_op = unary("UnbatchDataset", "", TYPED)


def batch_of(elements: Sequence[Element]) -> Element:
    """Stack elements to one; InvalidArgumentError if components differ in shape."""
    if isinstance(elements, Stacked):
        return elements.components
    return tuple([_stack(column, i) for i, column in enumerate(zip(*elements, strict=True))])


def _stack(values: Sequence[Any], component: int) -> torch.Tensor | Array:
    first = values[0]
    if isinstance(first, torch.Tensor):
        try:
            return torch.stack(values)
        except RuntimeError:
            _check_shapes(values, component)
            raise
    _check_shapes(values, component)
    stacked = np.empty((len(values), *first.shape), object)
    for index, value in enumerate(values):
        is_scalar = isinstance(value, np.ndarray) and not value.shape
        stacked[index] = value[()] if is_scalar else value
    return stacked


def _check_shapes(values: Sequence[Any], component: int) -> None:
    shape = tuple(values[0].shape)
    for index, value in enumerate(values):
        if tuple(value.shape) != shape:
            raise invalid(
                f"Cannot batch tensors with different shapes in component {component}. First "
                f"element had shape {shape_text(shape)} and element {index} had shape "
                f"{shape_text(tuple(value.shape))}."
            )


class Batching(Walk):
    """Batches of so many elements; the last one may have fewer."""

    def __init__(self, source: Elements, size: int, drop: bool, stack: Any) -> None:
        self.source = source
        self.size = size
        self.drop = drop
        self.stack = stack
        self.ended = False

    def __next__(self) -> Element:
        if self.ended:
            raise StopIteration
        elements = self.collect()
        if len(elements) < self.size:
            self.ended = True
            if self.drop or not elements:
                raise StopIteration
        return self.stack(elements)

    def collect(self) -> Sequence[Element]:
        """Return the elements of the next batch."""
        elements, error = self.source.take(self.size)
        if error is not None:
            raise error
        return elements


_INTERRUPTIONS = (errors.CancelledError, errors.DeadlineExceededError)


class MapBatching(Batching):
    """Batches of results. One of them that is an error makes the whole batch one."""

    def collect(self) -> Sequence[Element]:
        failure: errors.OpError | None = None
        left = self.size
        while left > 0:
            elements, error = self.source.take(left)
            if error is None:
                break
            if not isinstance(error, errors.OpError) or isinstance(error, _INTERRUPTIONS):
                raise error
            failure = failure or error
            left -= len(elements) + 1
        if failure is not None:
            raise failure
        return elements


def assigned(elements: Sequence[Element]) -> Element:
    """Elements stacked where the first one made room: only their numbers of values must agree."""
    try:
        return batch_of(elements)
    except errors.InvalidArgumentError:
        return batch_of([_shaped(element, elements[0]) for element in elements])


def _shaped(element: Element, like: Element) -> Element:
    for value, first in zip(element, like, strict=True):
        if prod(value.shape) != prod(first.shape):
            raise invalid(
                "Cannot add tensor to the batch: number of elements does not match. Shapes are: "
                f"[tensor]: {shape_text(tuple(value.shape))}, "
                f"[batch]: {shape_text(tuple(first.shape))}"
            )
    return tuple(value.reshape(first.shape) for value, first in zip(element, like, strict=True))


def batches(source: Dataset, size: int, drop: bool) -> int:
    """Return the number of batches of a dataset."""
    if source.size < 0:
        return source.size
    return source.size // size + (0 if drop else int(source.size % size > 0))


def _sizes(number: Any, drop: Sequence[Any]) -> tuple[int, bool]:
    size = scalar(number)
    if size <= 0:
        raise invalid("Batch size must be greater than zero.")
    return size, bool(drop) and bool(scalar(drop[0]))


def _batch_dims(dims: Any, size: int, drop: bool) -> tuple[int | None, ...] | None:
    return None if dims is None else (size if drop else None, *dims)


# TensorFlow makes one dataset of these and a batch: MapAndBatch.
_FUSED = ("Map", "ParallelMap")


def _batch_kernel(node: Node) -> Callable[..., Any]:
    kind = node.op.type.replace("Dataset", "")

    def run(value: Any, number: Any, *rest: Any) -> Dataset:
        source = as_dataset(value)
        size, drop = _sizes(number, rest)

        def make(context: Context, prefix: str) -> Elements:
            elements = source.iterate(context, prefix)
            if source.kind in _FUSED:
                return MapBatching(elements, size, drop, assigned)
            return Batching(elements, size, drop, batch_of)

        shapes = [_batch_dims(dims, size, drop) for dims in source.shapes]
        return Dataset(kind, source.types, shapes, make, batches(source, size, drop))

    return run


batch_dataset_op.kernel(_batch_kernel)
batch_dataset_v2_op.kernel(_batch_kernel)


# ---- with padding


class _Padding:
    """Stacking of elements, filled up to `shapes`, in which -1 is as much as the batch needs."""

    def __init__(self, shapes: list[list[int]], fillers: Sequence[Any]) -> None:
        self.shapes = shapes
        self.fillers = fillers

    def __call__(self, elements: Sequence[Element]) -> Element:
        columns = zip(*elements, strict=True)
        return tuple([
            self._stack(column, index) for index, column in enumerate(columns)
        ])  # fmt: skip

    def _stack(self, values: Sequence[Any], component: int) -> torch.Tensor | Array:
        padded = self.shapes[component]
        shapes = [tuple(value.shape) for value in values]
        for shape in shapes:
            if len(shape) != len(padded):
                raise invalid(
                    "All elements in a batch must have the same rank as the padded shape for "
                    f"component{component}: expected rank {len(padded)} but got element with "
                    f"rank {len(shape)}"
                )
        dims = [
            dim if dim >= 0 else max(shape[axis] for shape in shapes)
            for axis, dim in enumerate(padded)
        ]
        for shape in shapes:
            if any(have > room for have, room in zip(shape, dims, strict=True)):
                raise errors.data_loss("Attempted to pad to a smaller size than the input element.")
        if all(list(shape) == dims for shape in shapes):
            return _stack(values, component)
        return self._fill(values, (len(values), *dims), self.fillers[component])

    @staticmethod
    def _fill(values: Sequence[Any], shape: tuple[int, ...], filler: Any) -> torch.Tensor | Array:
        result: Any
        if isinstance(values[0], np.ndarray):
            result = np.full(shape, filler[()], object)
        else:
            result = torch.empty(shape, dtype=values[0].dtype)
            result.fill_(filler)
        for index, value in enumerate(values):
            result[(index, *(slice(size) for size in value.shape))] = value
        return result


def _padded_kernel(node: Node) -> Callable[..., Any]:
    count, kind = node.N, node.op.type.replace("Dataset", "")

    def run(value: Any, number: Any, *rest: Any) -> Dataset:
        source = as_dataset(value)
        shapes, fillers, drops = rest[:count], rest[count : 2 * count], rest[2 * count :]
        size, drop = _sizes(number, drops)
        _check_padding(source, shapes, fillers)
        padded = [shape.tolist() for shape in shapes]
        stack = _Padding(padded, fillers)

        def make(context: Context, prefix: str) -> Elements:
            return Batching(source.iterate(context, prefix), size, drop, stack)

        dims = [
            _batch_dims(tuple(None if d < 0 else d for d in shape), size, drop) for shape in padded
        ]
        return Dataset(kind, source.types, dims, make, batches(source, size, drop))

    return run


def _check_padding(source: Dataset, shapes: Sequence[Any], fillers: Sequence[Any]) -> None:
    if len(shapes) != len(source.types):
        raise invalid(
            f"Number of padded shapes ({len(shapes)}) must match the number of components in "
            f"the input dataset's elements ({len(source.types)})"
        )
    if any(len(shape.shape) != 1 for shape in shapes):
        raise invalid("All padded shapes must be vectors")
    for dim in (dim for shape in shapes for dim in shape.tolist()):
        if dim < -1:
            raise invalid(f"Dimension {dim} must be >= -1")
    if any(len(filler.shape) for filler in fillers):
        raise invalid("All padding values must be scalars")


padded_batch_dataset_op.kernel(_padded_kernel)
padded_batch_dataset_v2_op.kernel(_padded_kernel)


# ---- as sparse tensors

dense_to_sparse_batch_dataset_op = unary(
    "DenseToSparseBatchDataset", "batch_size: int64, row_shape: int64", TYPED
)


class _ToSparse:
    """Conversion of elements to a sparse tensor, as variants; `row` bounds sizes, -1 for any."""

    def __init__(self, row: list[int]) -> None:
        self.row = row

    def __call__(self, elements: Sequence[Element]) -> Element:
        values = [value for (value,) in elements]
        dims = [max(dim, 0) for dim in self.row]
        for value in values:
            self._check(tuple(value.shape))
            dims = [
                size if dim < 0 else have
                for dim, have, size in zip(self.row, dims, map(max, dims, value.shape), strict=True)
            ]
        places = [
            np.column_stack([
                np.full(int(np.prod(value.shape)), number), *map(np.ravel, np.indices(value.shape))
            ])
            for number, value in enumerate(values)
        ]  # fmt: skip
        flat = [value.reshape(-1) for value in values]
        parts = np.empty(3, object)
        parts[0] = torch.from_numpy(np.concatenate(places).astype(np.int64))
        parts[1] = np.concatenate(flat) if isinstance(flat[0], np.ndarray) else torch.cat(flat)
        parts[2] = torch.tensor([len(values), *dims], dtype=torch.int64)
        return (parts,)

    def _check(self, shape: tuple[int, ...]) -> None:
        row = "[" + ",".join("?" if dim < 0 else str(dim) for dim in self.row) + "]"
        if len(shape) != len(self.row):
            raise invalid(
                f"Input element had shape ({shape_text(shape)}) that is incompatible with the row "
                f"shape ({row})."
            )
        if any(size > dim >= 0 for size, dim in zip(shape, self.row, strict=True)):
            raise errors.data_loss(
                f"Input element had shape ({shape_text(shape)}) that is larger than the row shape "
                f"({row})."
            )


@dense_to_sparse_batch_dataset_op.kernel
def dense_to_sparse_batch_dataset_kernel(node: Node) -> Kernel:
    types, shapes = list(node.output_types), component_dims(node)

    def run(value: Any, number: Any, row_shape: Any) -> Dataset:
        source = as_dataset(value)
        size, _ = _sizes(number, ())
        if len(source.types) != 1:
            raise invalid("DenseToSparseBatchDataset only supports inputs with a single component.")
        if len(row_shape.shape) != 1:
            raise invalid("row_shape must be a vector")
        stack = _ToSparse(row_shape.tolist())

        def make(context: Context, prefix: str) -> Elements:
            return Batching(source.iterate(context, prefix), size, False, stack)

        return Dataset("DenseToSparseBatch", types, shapes, make, batches(source, size, False))

    return run


# ---- the other way round


class Unbatching(Walk):
    """The elements of batches one by one."""

    def __init__(self, source: Elements) -> None:
        self.source = source
        self.current = Slices(())

    def __next__(self) -> Element:
        while True:
            for element in self.current:
                return element
            components = next(self.source)
            counts = {c.shape[0] if len(c.shape) else None for c in components}
            if None in counts:
                raise invalid("Cannot unbatch an input with scalar components.")
            if len(counts) > 1:
                raise invalid(
                    "Input element must have the same batch size in each component. Component 0 "
                    f"had size {components[0].shape[0]} but component "
                    f"{_first_other(components)}."
                )
            self.current = Slices(components)

    def save(self, state: State) -> None:
        super().save(state)
        components = self.current.components
        size = len(components[0]) if components else 0
        self.put(state, "current_index", self.current.position)
        self.put(state, "n", size)
        if self.current.position < size:
            for index, component in enumerate(components):
                self.put(state, f"tensors[{index}]", component)

    def restore(self, state: State) -> None:
        super().restore(state)
        components: list[Any] = []
        while self.has(state, f"tensors[{len(components)}]"):
            components.append(self.get(state, f"tensors[{len(components)}]"))
        if components:
            self.current = Slices(tuple(components), self.integer(state, "current_index"))


def _first_other(components: Element) -> str:
    for index, component in enumerate(components):
        if component.shape[0] != components[0].shape[0]:
            return f"{index} had size, {component.shape[0]}"
    return ""


@unbatch_dataset_op.kernel
def unbatch_dataset_kernel(node: Node) -> Kernel:
    shapes = component_dims(node)

    def run(value: Any) -> Dataset:
        source = as_dataset(value)

        def make(context: Context, prefix: str) -> Elements:
            return Unbatching(source.iterate(context, prefix))

        return Dataset("Unbatch", source.types, shapes, make, UNKNOWN)

    return run
