"""Checks and conversion of feeds."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.dims import is_compatible
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Tensor
from stillflow.ops.session_tensors import TensorHandle
from stillflow.ops.value_arrays import EncodedFeed, to_array


class AnyShape(np.ndarray):
    """Array to be fed regardless of the tensor's static shape, as Keras feeds its models."""


def feed_array(graph: Graph, tensor: Tensor, value: Any) -> np.ndarray:
    """Return a fed value as an array of the tensor's type; an array that fits is not copied."""
    if isinstance(value, Tensor):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include "
            "Python scalars, strings, lists, numpy ndarrays, or TensorHandles. For reference, the "
            f"tensor object was {value} which was passed to the feed with key {tensor}."
        )
    if isinstance(value, TensorHandle):
        value = to_array(value.value())
    dtype = tensor.dtype.base_dtype
    try:
        kind = dtype.as_numpy_dtype
    except KeyError:  # the handle of a resource, or a variant
        raise TypeError(f"Tensor {tensor} of type {dtype.name} cannot be fed") from None
    if isinstance(value, int) and not _holds(kind, value):
        raise TypeError(
            f"Type of feed value {value} with type {type(value)} is not compatible with "
            f"Tensor type {kind}. Try explicitly setting the type of the feed tensor to a "
            "larger type (e.g. int64)."
        )
    if dtype == dtypes.string:
        array = _strings(value)
    elif kind is None:
        raise TypeError(f"Tensor {tensor} of type {dtype.name} cannot be fed")
    else:
        array = np.asarray(value, dtype=kind)
    fits = tensor._dims == array.shape or is_compatible(tensor._dims, array.shape)
    if not fits and not isinstance(value, AnyShape):
        raise ValueError(
            f"Cannot feed value of shape {array.shape!r} for Tensor {tensor.name!r}, which has "
            f"shape {str(tensor.shape)!r}"
        )
    if graph._unfeedable and not graph.is_feedable(tensor):
        raise ValueError(f"Tensor {tensor} may not be fed.")
    return array


def _holds(kind: Any, value: int) -> bool:
    """Return True if numbers of a numpy type can be this integer; strings cannot."""
    if kind is object:
        return False
    if kind is None or np.dtype(kind).names:
        return True
    try:
        return bool(np.dtype(kind).type(value).item() == value)
    except OverflowError:
        return False


def _strings(value: Any) -> np.ndarray:
    """Text and bytes as an object array of bytes."""
    array = np.asarray(value, dtype=object)
    if all(type(item) is bytes for item in array.flat):
        return array
    owner = EncodedFeed(array.shape, dtype=object)
    result = owner.view(np.ndarray)
    for index, item in np.ndenumerate(array):
        result[index] = item if isinstance(item, bytes) else str(item).encode()
    owner.text, owner.fed = array, weakref.ref(result)
    return result
