"""Assertions about element types, and questions about values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.ops.arrays.shape import reshape, shape, size
from stillflow.ops.arrays.slicing import strided_slice
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.control_flow.identity_and_group import no_op
from stillflow.ops.debugging.tensor_names import named
from stillflow.ops.math import comparison
from stillflow.ops.math.reductions import reduce_all

# fmt: off
NUMERIC_TYPES = frozenset((
    dtypes.float32, dtypes.float64, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64,
    dtypes.uint8, dtypes.qint8, dtypes.qint32, dtypes.quint8, dtypes.complex64,
))
# fmt: on


@export("debugging.assert_proper_iterable", "assert_proper_iterable")
def assert_proper_iterable(values: Any) -> None:
    """Raise an error for accidental iterables: tensors, arrays, strings.

    Raises:
      TypeError: for these, and for what is not iterable at all.
    """
    if isinstance(values, (Tensor, SparseTensor, np.ndarray, str, bytes)):
        raise TypeError(
            f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}'
        )
    if not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


@export("debugging.assert_integer", "assert_integer")
def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Any:
    """Return an operation that does nothing, if x is of an integer type.

    Raises:
      TypeError: if it is not.
    """
    with name_scope(name, "assert_integer", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(
                f'{message or ""}  Expected "x" to be integer type.  Found: '
                f"{named(x, 'tensor')} of dtype {x.dtype}"
            )
        return no_op("statically_determined_was_integer")


@export("debugging.assert_type", "assert_type")
def assert_type(
    tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
) -> Operation | None:
    """Return an operation that does nothing, if `tensor` is of type `tf_type`.

    Raises:
      TypeError: if it is not.
    """
    with name_scope(name, "assert_type", [tensor]):
        tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype != tf_type:
            subject = named(tensor, "tensor")
            gap = " " if tensor.holds_value else "  "
            raise TypeError(f"{message or ''}{gap}{subject} must be of type {tf_type}")
        return no_op("statically_determined_correct_type")


@export("debugging.is_numeric_tensor", "is_numeric_tensor")
def is_numeric_tensor(tensor: Any) -> bool:
    """Return True if `tensor` is a tensor of numbers."""
    return isinstance(tensor, Tensor) and tensor.dtype in NUMERIC_TYPES


def _monotonic(x: Any, compare: Callable[..., Any]) -> Any:
    x = reshape(x, [-1])
    if not is_numeric_tensor(x):
        raise TypeError(f"Expected x to be numeric, instead found: {x}")
    is_short = comparison.less(size(x), 2)
    length: Any = shape(x) - 1
    difference = cond(
        is_short,
        lambda: convert_to_tensor([], dtype=x.dtype),
        lambda: strided_slice(x, [1], [1] + length) - strided_slice(x, [0], length),
    )
    zero = convert_to_tensor(0, dtype=difference.dtype)
    return reduce_all(compare(zero, difference))


@export("math.is_non_decreasing", "debugging.is_non_decreasing", "is_non_decreasing")
def is_non_decreasing(x: Any, name: str | None = None) -> Any:
    """Return True if no element of x, in order, is smaller than its predecessor."""
    with name_scope(name, "is_non_decreasing", [x]):
        return _monotonic(x, comparison.less_equal)


@export("math.is_strictly_increasing", "debugging.is_strictly_increasing", "is_strictly_increasing")
def is_strictly_increasing(x: Any, name: str | None = None) -> Any:
    """Return True if each element of x, in order, is larger than its predecessor."""
    with name_scope(name, "is_strictly_increasing", [x]):
        return _monotonic(x, comparison.less)


def _same_base_type(items: Sequence[Any], expected: DType | None) -> DType | None:
    first: Any = None
    for item in items:
        if item is None:
            continue
        kind = item.dtype.base_dtype
        if expected is None:
            expected, first = kind, item
        elif kind != expected:
            source = f" as {getattr(first, 'name', first)}" if first is not None else ""
            raise ValueError(
                f"{getattr(item, 'name', item)}, type={kind}, must be of the same type "
                f"({expected}){source}."
            )
    return expected


@export("debugging.assert_same_float_dtype", "assert_same_float_dtype")
def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> DType:
    """Return the one floating-point type of all tensors, float32 if there is none.

    Raises:
      ValueError: if the types differ or are not floating-point.
    """
    if tensors:
        dtype = _same_base_type(tensors, dtype)
    if not dtype:
        return dtypes.float32
    if not dtype.is_floating:
        raise ValueError(f"Expected floating point type, got {dtype}.")
    result: DType = dtype
    return result
