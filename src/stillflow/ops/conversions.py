"""How lists that hold tensors, and static shapes, become tensors.

Importing any module of ops registers these conversions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.conversion import constant_op, register_tensor_conversion_function
from stillflow.graph.lazy import LazyModule
from stillflow.graph.tensor_like import is_dense_tensor_like
from stillflow.graph.tensor_shape import Dimension, TensorShape

# Looked up when they are first needed: these modules convert tensors themselves.
constants: Any = LazyModule("stillflow.ops.constants")
packing: Any = LazyModule("stillflow.ops.arrays.packing")

_PLAIN = frozenset((int, float, bool, str, bytes, complex, np.ndarray, *np.sctypeDict.values()))


def _dtype_inside(values: Any) -> Any:
    """The type of the first tensor in nested lists, None if there is none."""
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
) -> Any:
    return constants.shape_as_tensor(value, dtype, name)


def _dimension(
    value: Dimension, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    if value.value is None:
        raise ValueError(f"Cannot convert an unknown Dimension to a Tensor: {value}")
    if dtype not in (None, dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {dtype}")
    return constant_op(value.value, dtype or dtypes.int32, None, name or "shape_as_tensor")


# Lists before the conversion that takes them for constants.
register_tensor_conversion_function((list, tuple), _list, 99)
register_tensor_conversion_function(TensorShape, _shape)
register_tensor_conversion_function(Dimension, _dimension)
