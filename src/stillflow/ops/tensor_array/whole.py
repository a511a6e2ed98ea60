"""Whole TensorArrays at once: gathered, scattered, concatenated, split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims as shapes
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.dims import Dims, shape_text
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import torch
from stillflow.ops.kernels import moving, torch_type
from stillflow.ops.tensor_array.store import ArrayStore, refuse


def _empty(shape: tuple[int, ...], dtype: DType) -> torch.Tensor | Array:
    if dtype == dtypes.string:
        return np.empty(shape, dtype=object)
    return torch.empty(shape, dtype=torch_type(dtype))


def together(values: Sequence[Any], dtype: DType, new_axis: bool) -> torch.Tensor | Array:
    """Elements stacked, or put one after the other."""
    if isinstance(values[0], np.ndarray):
        return np.stack(values) if new_axis else np.concatenate(values)
    stack = torch.stack if new_axis else torch.cat
    join = moving(dtype, lambda *items: stack(items), len(values))
    try:
        return join(*values)
    except RuntimeError:  # zeros for unwritten elements are on the host
        there = next((value.device for value in values if not value.is_cpu), None)
        if there is None:
            raise
        return join(*(value.to(there) for value in values))


def gather(
    store: ArrayStore, indices: Sequence[int], dtype: DType, element: Dims
) -> torch.Tensor | Array:
    """Elements stacked along a new first dimension.

    InvalidArgumentError if their shapes differ, or are not what `element` says; UnimplementedError
    if there are none, of unknown shape.
    """
    store.check(dtype)
    _merge_element(store, element)
    if not indices:
        if not shapes.is_known(element):
            raise _unknown_element("element shape", element, "packing")
        return _empty((0, *element), dtype)
    values = store.read_many(indices)
    first = tuple(values[0].shape)
    if not shapes.is_compatible(element, first):
        raise refuse(
            f"TensorArray was passed element_shape {shape_text(element)} which does not match the "
            f"Tensor at index 0: {shape_text(first)}"
        )
    if isinstance(values, torch.Tensor):
        return values.clone(memory_format=torch.contiguous_format)
    for number, value in enumerate(values):
        if value.shape != first:
            raise refuse(
                f"TensorArray has inconsistent shapes.  Index 0 has shape: {shape_text(first)} but "
                f"index {number} has shape: {shape_text(tuple(value.shape))}"
            )
    return together(values, dtype, True)


def _merge_element(store: ArrayStore, element: Dims) -> None:
    if not shapes.is_compatible(store.element, element):
        what = "ranks"
        both: list[Any] = [shapes.rank(store.element), shapes.rank(element)]
        if both[0] == both[1]:
            what, both = "shapes", [shape_text(store.element), shape_text(element)]
        text = " vs. ".join(map(str, both))
        raise refuse(f"PartialTensorShape: Incompatible {what} during merge: {text}")
    if store.exact is None:
        store.set_element(shapes.merge(store.element, element))


def _unknown_element(what: str, element: Dims, task: str) -> errors.UnimplementedError:
    return errors.unimplemented(
        f"TensorArray has size zero, but {what} {shape_text(element)} is not fully defined. "
        f"Currently only static shapes are supported when {task} zero-size TensorArrays."
    )


def concat(store: ArrayStore, dtype: DType, element: Dims) -> tuple[Any, Any]:
    """Return all elements one after the other, and the length of each.

    `element` is their shape without the first dimension; UnimplementedError if it is unknown where
    there are none. InvalidArgumentError if shapes do not fit together.
    """
    store.check(dtype)
    size = store.whole_size()
    if not size:
        if not shapes.is_known(element):
            raise _unknown_element("element_shape_except0", element, "concatenating")
        return _empty((0, *element), dtype), _lengths([])
    values = [store.read(index) for index in range(size)]
    rest: tuple[int, ...] = ()
    for number, value in enumerate(values):
        if not value.ndim:
            raise refuse(
                f"Concat saw a scalar shape at index {number} but requires at least vectors.  "
                "Did you mean to call pack?"
            )
        mine = tuple(value.shape[1:])
        if not number:
            rest = mine
            if not shapes.is_compatible(element, rest):
                raise refuse(
                    f"TensorArray was passed element_shape_except0 {shape_text(element)} but index "
                    f"0 has (excepting dimension 0) shape: {shape_text(rest)} which does not match."
                )
        elif mine != rest:
            raise refuse(
                "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: "
                f"{shape_text(rest)} but index {number} has (excepting dimension 0) shape: "
                f"{shape_text(mine)}"
            )
    return together(values, dtype, False), _lengths([len(value) for value in values])


def _lengths(lengths: list[int]) -> torch.Tensor:
    return torch.tensor(lengths, dtype=torch.int64)


def rows(value: Any, dtype: DType) -> list[Any]:
    """Return the parts of a tensor along its first dimension, as views of its memory."""
    if isinstance(value, np.ndarray):
        return [value[i : i + 1].reshape(value.shape[1:]) for i in range(len(value))]
    return list(moving(dtype, torch.Tensor.unbind)(value))


def scatter(store: ArrayStore, indices: Sequence[int], value: Any, dtype: DType) -> None:
    """Write the rows of `value` to the places `indices`.

    InvalidArgumentError unless there is one for each row, none too large.
    """
    store.check(dtype, "is trying to write dtype")
    if not value.ndim:
        raise refuse("Input value for unpack must be at least a vector but received shape: []")
    if len(indices) != len(value):
        raise refuse(
            f"Expected len(indices) == values.shape[0], but saw: {len(indices)} vs. {len(value)}"
        )
    largest = max(indices, default=-1)
    size = store.size()
    if store.dynamic:
        size = max(size, largest + 1)
    if largest >= size:
        raise refuse(f"Max scatter index must be < array size ({largest} vs. {size})")
    store.write_many(indices, value if dtype.is_floating else rows(value, dtype))


def unpack(store: ArrayStore, value: Any, dtype: DType) -> None:
    """Write the rows of `value` to all places, as old graphs do."""
    store.check(dtype, "is trying to write dtype")
    if not value.ndim:
        raise refuse("Input value for unpack must be at least a vector but received shape: []")
    size = store.size()
    if store.dynamic:
        size = max(size, len(value))
    if len(value) != size:
        raise refuse(
            "Input value must have first dimension equal to the array size "
            f"({len(value)} vs. {size})"
        )
    _mark(store, size)
    store.write_many(range(size), value if dtype.is_floating else rows(value, dtype))


def split(store: ArrayStore, value: Any, lengths: list[int], dtype: DType) -> None:
    """Cuts `value` along its first dimension into parts of the given lengths.

    InvalidArgumentError if the lengths do not add up, or are not as many as places.
    """
    total = sum(lengths)
    if not value.ndim:
        raise refuse("Expected value to be at least a vector, but received shape: []")
    if total != len(value):
        raise refuse(
            "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
            f"{total} and value's shape is: {shape_text(tuple(value.shape))}"
        )
    size = store.size()
    if store.dynamic:
        size = max(size, len(lengths))
    if size != len(lengths):
        raise refuse(
            "TensorArray's size is not equal to the size of lengths "
            f"({size} vs. {len(lengths)}), and the TensorArray is not marked as dynamically "
            "resizeable"
        )
    store.check(dtype, "is trying to write dtype")
    _mark(store, size)
    start = 0
    for index, length in enumerate(lengths):
        store.write(index, value[start : start + length])
        start += length


def _mark(store: ArrayStore, size: int) -> None:
    if not store.is_grad:
        store.marked_size = size
