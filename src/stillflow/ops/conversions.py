"""Conversions of lists that hold tensors, static shapes and slices of rows to tensors."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.constant_value import constant_value
from stillflow.graph.conversion import constant_op, standard_conversions
from stillflow.graph.dtypes import DType
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.lazy import LazyModule
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_like import is_dense_tensor_like
from stillflow.graph.tensor_shape import Dimension, TensorShape
from stillflow.ops import constants

# Looked up when they are first needed: these modules convert tensors themselves.
if TYPE_CHECKING:
    from stillflow.ops.arrays import stack as packing
    from stillflow.ops.math import segment
else:
    packing = LazyModule("stillflow.ops.arrays.stack")
    segment = LazyModule("stillflow.ops.math.segment")

# From this many elements on, making a dense tensor of slices deserves a warning.
LARGE_NUM_ELEMENTS = 100_000_000

_PLAIN = frozenset((int, float, bool, str, bytes, complex, np.ndarray, *np.sctypeDict.values()))


def _dtype_inside(values: Any) -> DType | None:
    """Return the type of the first tensor in nested lists, None if there is none."""
    for item in values:
        kind = type(item)
        if kind in _PLAIN:
            continue
        if kind is list or isinstance(item, (list, tuple)):
            dtype = _dtype_inside(item)
            if dtype is not None:
                return dtype
        elif is_dense_tensor_like(item):
            return item.dtype.base_dtype
    return None


def _list(values: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    inside = None if as_ref else _dtype_inside(values)
    if inside is None:
        return NotImplemented  # nothing but constants
    return packing.autopack(values, inside, dtype, name)


def _shape(
    value: TensorShape, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    return constants.shape_as_tensor(value, dtype, name)


def _dimension(
    value: Dimension, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if value.value is None:
        raise ValueError(f"Cannot convert an unknown Dimension to a Tensor: {value}")
    if dtype not in (None, dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {dtype}")
    return constant_op(value.value, dtype or dtypes.int32, None, name or "shape_as_tensor")


def _slices(
    value: IndexedSlices, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    """Return the dense tensor that slices stand for, with a warning where it may be large."""
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for IndexedSlices with dtype "
            f"{value.dtype.name}"
        )
    if value.dense_shape is None:
        raise ValueError(
            f"Tensor conversion requested for IndexedSlices without dense_shape: {value}"
        )
    rows: Any = value.dense_shape
    dense_shape = constant_value(rows) if isinstance(rows, Tensor) else np.asarray(rows)
    if dense_shape is None:
        warnings.warn(
            "Converting sparse IndexedSlices to a dense Tensor of unknown shape. "
            "This may consume a large amount of memory.",
            stacklevel=2,
        )
    elif (count := int(np.prod(dense_shape.astype(object)))) >= LARGE_NUM_ELEMENTS:
        warnings.warn(
            f"Converting sparse IndexedSlices to a dense Tensor with {count} "
            "elements. This may consume a large amount of memory.",
            stacklevel=2,
        )
    result: Tensor = segment.unsorted_segment_sum(value.values, value.indices, rows[0], name=name)
    return result


# Lists before the conversion that takes them for constants.
standard_conversions.provide(
    (
        (99, (list, tuple), _list),
        (100, TensorShape, _shape),
        (100, Dimension, _dimension),
        (100, IndexedSlices, _slices),
    )
)
