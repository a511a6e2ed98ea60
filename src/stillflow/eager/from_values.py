"""Eager tensors made by their class, as `tensorflow.python.framework.ops.EagerTensor(...)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.dtypes import DType, as_dtype
from stillflow.graph.eager_arrays import as_eager_array

# Says that no device was given, which may be None.
NOT_GIVEN: Any = object()


def held_and_type(value: Any, device: Any, dtype: Any) -> tuple[Any, DType]:
    """Return the content of a tensor for a number, text, array or sequence, and its type.

    `dtype` is a number in `types.proto`, None for the value's own. There has to be a device, a name
    or None; all tensors that are made so are on the default one. TypeError without a device, or if
    the value cannot be of the type; ValueError if it cannot become a tensor.
    """
    from stillflow.eager.immediate import context

    if device is NOT_GIVEN:  # it stands second, where tensors that ran have their type
        if dtype is None:
            raise TypeError("function missing required argument 'device' (pos 2)")
        dtype = None
    kind = _kind(value, dtype)
    if kind is not None and isinstance(value, np.ndarray) and not value.dtype.hasobject:
        value = value.astype(kind.as_numpy_dtype)
    array = as_eager_array(value, kind)
    made = context().constant(array, as_dtype(array.dtype) if kind is None else kind)
    return made._held, made.dtype


def _kind(value: Any, dtype: Any) -> DType | None:
    if dtype is None:
        return None
    if not isinstance(dtype, int):
        raise TypeError(f"Expecting a DataType value for dtype. Got {type(dtype).__name__}")
    try:
        return as_dtype(dtype)
    except TypeError:
        if isinstance(value, np.ndarray):
            raise TypeError(f"Invalid dtype argument value {dtype}") from None
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {dtype}") from None
