"""Lists stacked or concatenated to one tensor, and tensors cut into elements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from stillflow.graph import dims as shapes
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.dims import Dims, shape_text
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import torch
from stillflow.ops.kernels import zeros
from stillflow.ops.tensor_array import whole
from stillflow.ops.tensor_array.store import refuse


def as_objects(values: Sequence[Any]) -> Array:
    """Return a vector of variants."""
    result = np.empty(len(values), object)
    result[:] = values
    return result


def rows(value: Any, dtype: DType) -> list[Any]:
    """Return the parts of a tensor along its first dimension."""
    return list(value) if dtype == dtypes.variant else whole.rows(value, dtype)


def merged(a: Dims, b: Dims) -> Dims:
    """Merge both shapes; InvalidArgumentError if they contradict each other."""
    try:
        return shapes.merge(a, b)
    except ValueError:
        what = "shapes", shape_text(a), shape_text(b)
        if a is not None and b is not None and len(a) != len(b):
            what = "ranks", str(len(a)), str(len(b))
        kind, one, other = what
        raise refuse(
            f"PartialTensorShape: Incompatible {kind} during merge: {one} vs. {other}"
        ) from None


def common(element: Dims, items: Sequence[Any]) -> Dims:
    """Return the common static shape of all set elements; InvalidArgumentError if they differ."""
    for item in () if shapes.is_known(element) else items:
        if item is not None:
            element = merged(element, tuple(item.shape))
    return element


def _filled(items: Sequence[Any], element: tuple[int, ...], dtype: DType, device: Any) -> list[Any]:
    return [zeros(element, dtype, device) if item is None else item for item in items]


def _stacked(items: Sequence[Any], element: Any, dtype: DType, device: Any) -> torch.Tensor:
    if dtype == dtypes.variant:
        return as_objects(items)
    if not items:
        return zeros((0, *element), dtype, device)
    return whole.together(_filled(items, element, dtype, device), dtype, True)


def stack(items: Sequence[Any], element: Dims, dtype: DType, device: Any) -> torch.Tensor:
    """All elements along a new first dimension, or InvalidArgumentError without a known shape."""
    if not items and not shapes.is_known(element):
        raise refuse(
            "Tried to stack elements of an empty list with non-fully-defined element_shape: "
            f"{shape_text(element)}"
        )
    element = common(element, items)
    if not shapes.is_known(element):
        raise refuse(
            "Tried to stack list which only contains uninitialized tensors and has a "
            f"non-fully-defined element_shape: {shape_text(element)}"
        )
    return _stacked(items, element, dtype, device)


def gather(
    items: Sequence[Any], indices: Sequence[int], element: Dims, dtype: DType, device: Any
) -> torch.Tensor:
    """Return the elements at some places, along a new first dimension.

    InvalidArgumentError if there is no such place, or their shape cannot be told.
    """
    if not indices and not shapes.is_known(element):
        raise refuse(
            "Tried to gather 0-elements from a list with non-fully-defined shape: "
            f"{shape_text(element)}"
        )
    for index in indices:
        if not 0 <= index < len(items):
            raise refuse(f"Index {index} out o range; list only has {len(items)} elements.")
    chosen = [items[index] for index in indices]
    element = common(element, chosen)
    if not shapes.is_known(element):
        raise refuse(
            "Tried to gather uninitialized tensors from a list with non-fully-defined "
            f"element_shape: {shape_text(element)}"
        )
    return _stacked(chosen, element, dtype, device)


def concat(
    items: Sequence[Any], element: Dims, leading: Sequence[int] | None, dtype: DType, device: Any
) -> tuple[Any, Any]:
    """Return all elements one after the other, and the length of each.

    `leading` are the lengths of elements never set; None where the op has no such input.
    InvalidArgumentError if shapes do not fit together, or cannot be told.
    """
    if element == ():
        raise refuse("Concat requires elements to be at least vectors, found scalars instead.")
    first, rest = (None, None) if element is None else (element[0], element[1:])
    if not items and not shapes.is_known(rest):
        raise refuse(
            "All except the first dimension must be fully defined when concating an empty tensor "
            f"list. element_shape: {shape_text(rest)}"
        )
    for index, item in enumerate(items):
        if item is None:
            continue
        if not item.ndim:
            raise refuse(
                f"Concat saw a scalar shape at index {index} but requires at least vectors."
            )
        rest = merged(rest, tuple(item.shape[1:]))
        if first not in (None, len(item)):
            raise refuse(
                "First entry of element_shape input does not match the first dim of list element "
                f"at index: {index} Expected: {first} Actual: {len(item)}"
            )
    if not shapes.is_known(rest):
        raise refuse(
            "Trying to concat list with only uninitialized tensors but "
            f"element_shape_except_first_dim_ is not fully defined: {shape_text(rest)}"
        )
    lengths = _lengths(items, first, leading)
    parts = [
        zeros((length, *rest), dtype, device) if item is None else item
        for item, length in zip(items, lengths, strict=True)
    ]
    empty = zeros((0, *rest), dtype, device)
    value = whole.together(parts, dtype, False) if parts else empty
    return value, torch.tensor(lengths, dtype=torch.int64)


def _lengths(items: Sequence[Any], first: Any, leading: Sequence[int] | None) -> list[int]:
    there = {len(item) for item in items if item is not None}
    if first is None and len(there) == 1:
        (first,) = there
    result = []
    for index, item in enumerate(items):
        if item is not None:
            result.append(len(item))
        elif leading is not None and index < len(leading):
            result.append(leading[index])
        elif first is not None:
            result.append(first)
        elif leading is None:
            raise refuse(
                "Concating lists with uninitialized tensors is not supported in this version of "
                "TensorListConcat. Consider updating your GraphDef to run the newer version."
            )
        else:
            raise refuse(
                f"List contains uninitialized tensor at index {index} but leading_dims has only "
                f"{len(leading)} elements."
            )
    return result


def check_rows(value: Any, element: Dims) -> None:
    """Raise InvalidArgumentError for a tensor whose rows cannot be elements of that shape."""
    shape = tuple(value.shape)
    if not shape:
        raise refuse(f"Tensor must be at least a vector, but saw shape: {shape_text(shape)}")
    if not shapes.is_compatible(element, shape[1:]):
        raise refuse(
            f"Specified a list with shape {shape_text(element)} from a tensor with shape "
            f"{shape_text(shape[1:])}"
        )


def split(value: Any, element: Dims, lengths: Any) -> list[Any]:
    """Parts of a tensor along its first dimension, of the given lengths.

    InvalidArgumentError if these do not add up, or shapes do not fit.
    """
    shape = tuple(value.shape)
    if element == ():
        raise refuse("TensorListSplit requires element_shape to be at least of rank 1, but saw: []")
    if not shape:
        raise refuse(f"Tensor must be at least a vector, but saw shape: {shape_text(shape)}")
    if element is not None and not shapes.is_compatible(element[1:], shape[1:]):
        raise refuse(
            f"tensor shape {shape_text(shape)} is not compatible with element_shape "
            f"{shape_text(element)}"
        )
    if lengths.ndim != 1:
        found = shape_text(tuple(lengths.shape))
        raise refuse(f"Expected lengths to be a vector, received shape: {found}")
    sizes = lengths.tolist()
    ends = list(accumulate(sizes))
    for size, end in zip(sizes, ends, strict=True):
        if size < 0:
            raise refuse(f"Invalid value in lengths: {size}")
        if end > shape[0]:
            raise refuse(
                f"Attempting to slice [{end - size}, {end}] from tensor with length {shape[0]}"
            )
    used = ends[-1] if ends else 0
    if used != shape[0]:
        raise refuse(f"Unused values in tensor. Length of tensor: {shape[0]} Values used: {used}")
    return [value[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def scattered(
    value: Any, indices: Sequence[int], element: Dims, count: int, dtype: DType
) -> list[Any]:
    """Elements that are the rows of a tensor at the given places; `count` of them if not -1.

    InvalidArgumentError unless there is one for each row, in range.
    """
    if count < -1:
        raise refuse(f"TensorListScatter expects num_elements >= -1, found: {count}")
    check_rows(value, element)
    if len(indices) != len(value):
        raise refuse(
            f"Invalid number of rows in input tensor. Expected: {len(indices)} Actual: {len(value)}"
        )
    for index in indices:
        if index < 0:
            raise refuse("Indices in TensorListScatter must all be non-negative.")
        if count != -1 and index >= count:
            raise refuse(
                f"TensorListScatter: Trying to scatter at index {index} in list with size {count}"
            )
    items: list[Any] = [None] * max(max(indices, default=-1) + 1, count)
    for index, row in zip(indices, rows(value, dtype), strict=True):
        items[index] = row
    return items


def scatter_into(items: list[Any], value: Any, indices: Any, dtype: DType) -> None:
    """Put the rows of a tensor at the given places of a list, which grows where needed.

    InvalidArgumentError unless there is one for each row, none negative.
    """
    if not value.ndim:
        raise refuse("Tensor must be at least a vector, but saw shape: []")
    if indices.ndim != 1:
        found = shape_text(tuple(indices.shape))
        raise refuse(f"Expected indices to be a vector, but received shape: {found}")
    places = indices.tolist()
    if len(places) != len(value):
        raise refuse(
            f"Expected len(indices) == tensor.shape[0], but saw: {len(places)} vs. {len(value)}"
        )
    if min(places, default=0) < 0:
        raise refuse("Indices in TensorListScatter must all be non-negative.")
    items.extend([None] * (max(places, default=-1) + 1 - len(items)))
    for place, row in zip(places, rows(value, dtype), strict=True):
        items[place] = row
