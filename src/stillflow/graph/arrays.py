"""Values of constants: Python numbers, strings, lists and arrays as arrays of a tensor's type.

An array made of one repeated value is a view with strides 0. An array filled up with its last value
remembers the values given (`FilledArray`). Written to a graph, such constants stay small.
"""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType
from stillflow.graph.tensor_shape import Dimension, TensorShape

Array = np.ndarray[Any, Any]

# A message is limited to 2 GiB, and so is the expansion of a few bytes of message.
MAX_BYTES = 1 << 31


class FilledArray(np.ndarray[Any, Any]):
    """An array whose last given value was repeated up to its shape.

    Attributes:
      given: The values that were given, flat; None for arrays derived from this one.
    """

    given: np.ndarray[Any, Any] | None

    def __array_finalize__(self, obj: Any) -> None:
        self.given = None


def as_array(
    values: Any,
    dtype: Any = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> Array:
    """Return the value of a constant as an array, of the type and shape TensorFlow gives it.

    `values` are a Python number, bool, str or bytes, nested lists of such, or an array. By default
    Python integers become int32 (int64 if they do not fit), floats float32, and arrays keep their
    type. If `shape` holds more elements, the last value is repeated; with `allow_broadcast` a
    single value may fill the shape, and nothing else. Returns a new array: strings are an object
    array of bytes, quantized types are structured. TypeError if values do not fit the type, or
    (when it is checked) the shape; ValueError if they are None, ragged, or too many.
    """
    sizes = None if shape is None else [int(dim) for dim in shape]
    array = fast_array(values, dtype) if sizes is None or 0 not in sizes else None
    if array is None:
        array = _convert(values, None if dtype is None else dtypes.as_dtype(dtype), sizes)
    if sizes is None:
        return array
    array = _fill(array, sizes, verify_shape, allow_broadcast)
    if not array.size and isinstance(values, (str, bytes)):
        empty: Any = array.view(FilledArray)  # TF writes a string that fills nothing all the same
        empty.given = string_scalar(as_bytes(values)).reshape(1)
        return empty
    return array


def fast_array(values: Any, dtype: Any) -> Array | None:
    """Return a plain value or flat list of one type as an array; None for others."""
    fast = _FAST.get(values.__class__)
    return None if fast is None else fast(values, dtype)


def _fast_int(value: int, dtype: Any) -> Array | None:
    if dtype is None or dtype is dtypes.int32:
        if -0x80000000 <= value <= 0x7FFFFFFF:
            return np.array(value, np.int32)
    elif dtype is dtypes.int64:
        return np.array(value, np.int64)
    elif dtype is dtypes.float32 and -0x1000000 <= value <= 0x1000000:
        return np.array(value, np.float32)
    return None


def _fast_float(value: float, dtype: Any) -> Array | None:
    if dtype is dtypes.float64:
        return np.array(value)
    # Larger values round to infinity, which numpy warns of.
    if (dtype is None or dtype is dtypes.float32) and -3e38 < value < 3e38:
        return np.array(value, np.float32)
    return None


def _fast_bool(value: bool, dtype: Any) -> Array | None:
    return np.array(value) if dtype is None or dtype is dtypes.bool else None


def _fast_str(value: str, dtype: Any) -> Array | None:
    return string_scalar(value.encode()) if dtype is None or dtype is dtypes.string else None


def _fast_bytes(value: bytes, dtype: Any) -> Array | None:
    return string_scalar(value) if dtype is None or dtype is dtypes.string else None


def string_scalar(value: bytes) -> Array:
    """Return a string as an array without dimensions."""
    array = np.empty((), object)
    array[()] = value
    return array


def _fast_list(values: Any, dtype: Any) -> Array | None:
    kinds = set(map(type, values))
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    if kind is int:
        return _fast_int_list(values, dtype)
    if kind is float:
        if dtype is dtypes.float64:
            return np.array(values)
        if (dtype is None or dtype is dtypes.float32) and _within(values, 3e38):
            return np.array(values, np.float32)
    elif kind is bool and (dtype is None or dtype is dtypes.bool):
        return np.array(values)
    return None


def _fast_int_list(values: Any, dtype: Any) -> Array | None:
    if dtype is None or dtype is dtypes.int32:
        return np.array(values, np.int32) if _within(values, 0x7FFFFFFF) else None
    if dtype is dtypes.int64:
        return np.array(values, np.int64)
    if dtype is dtypes.float32 and _within(values, 0x1000000):
        return np.array(values, np.float32)
    return None


def _within(values: Any, bound: float) -> bool:
    return -bound <= min(values) and max(values) <= bound


def _fast_array(values: Array, dtype: Any) -> Array | None:
    known = _ARRAY_TYPES.get(values.dtype)
    return values.copy() if known is not None and (dtype is None or dtype is known) else None


# Types of arrays that are kept as they are, in the byte order of this machine.
_ARRAY_TYPES = {
    dtype.np_dtype: dtype
    for dtype in dtypes.TF_VALUE_DTYPES
    if dtype is not dtypes.string and not dtype.is_quantized
}

_FAST: dict[type, Callable[[Any, Any], Array | None]] = {
    int: _fast_int,
    float: _fast_float,
    bool: _fast_bool,
    str: _fast_str,
    bytes: _fast_bytes,
    list: _fast_list,
    tuple: _fast_list,
    np.ndarray: _fast_array,
}


def _convert(values: Any, dtype: DType | None, sizes: list[int] | None) -> Array:
    """Return the values as an array of their own shape."""
    if _is_array_like(values):
        values = np.asarray(values)
    if isinstance(values, (np.ndarray, np.generic)):
        array = _convert_array(np.asarray(values), dtype)
    elif values is None:
        raise ValueError("None values not supported.")
    else:
        array = _convert_python(values, dtype, sizes)
    if dtype is not None and dtype.is_quantized:
        return array
    found = dtypes.as_dtype(array.dtype)
    if dtype is not None and dtype.base_dtype is not found:
        raise TypeError(f"Incompatible types: {dtype} vs. {array.dtype}. Value is {values}")
    return _to_bytes(array, values) if found is dtypes.string else array


def _convert_array(values: Array, dtype: DType | None) -> Array:
    target: Any = values.dtype.newbyteorder("=")
    if dtype is not None and dtype.is_numpy_compatible:
        target = dtype.np_dtype
    with np.errstate(all="ignore"):
        return values.astype(target, order="C", copy=True, subok=False)


def _convert_python(values: Any, dtype: DType | None, sizes: list[int] | None) -> Array:
    target = dtype.np_dtype if dtype is not None else None
    with np.errstate(all="ignore"):
        if sizes is not None and prod(sizes) == 0:
            array = np.empty(sizes, target)
        else:
            _check_compatible(values, dtype)
            array = _from_python(values, target)
            quantized = dtype is not None and dtype.is_quantized
            if not quantized and list(array.shape) != _dense_shape(values):
                raise _not_dense(values, array)
        if dtype is None:
            array = _narrow(array)
    return array


def _from_python(values: Any, target: Any) -> Array:
    try:
        return np.array(values, target, order="C")
    except OverflowError:
        # Out of range for the type: wraps around, as integers of a fixed width do.
        return np.array(values, np.int64).astype(target)
    except ValueError:
        if target is not None or not isinstance(values, (list, tuple)):
            raise
        # numpy rejects ragged lists; as objects they have the shape they share.
        array = np.array(values, object)
        if list(array.shape) != _dense_shape(values):
            raise _not_dense(values, array) from None
        return array


def _narrow(array: Array) -> Array:
    """Python numbers are float32 and, where they fit, int32."""
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64:
        narrow = array.astype(np.int32)
        if np.array_equal(narrow, array):
            return narrow
    return array


def _not_dense(values: Any, array: Array) -> ValueError:
    return ValueError(
        f"Argument must be a dense tensor: {values} - got shape {list(array.shape)}, "
        f"but wanted {_dense_shape(values)}."
    )


def _dense_shape(values: Any) -> list[int]:
    """Return the shape of nested lists if all lists on one level are as long as the first."""
    shape: list[int] = []
    while isinstance(values, (list, tuple)):
        shape.append(len(values))
        if not values:
            break
        values = values[0]
    return shape


def _to_bytes(array: Array, values: Any) -> Array:
    """Return an array of strings as an object array of bytes."""
    if isinstance(values, (np.ndarray, np.generic)):
        items = array.ravel().tolist()
        encoded = [as_bytes(item) for item in items]
    else:
        try:
            encoded = [as_bytes(item) for item in _leaves_of_lists(values)] if array.size else []
        except TypeError:
            raise TypeError(
                f"Failed to convert object of type {type(values)} to Tensor. Contents: {values}. "
                "Consider casting elements to a supported type."
            ) from None
    result = np.empty(len(encoded), object)
    result[:] = encoded
    return result.reshape(array.shape)


def _leaves_of_lists(values: Any) -> Iterator[Any]:
    if isinstance(values, (list, tuple)):
        for value in values:
            yield from _leaves_of_lists(value)
    else:
        yield values


def as_bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise TypeError(f"Expected binary or unicode string, got {value!r}")


# ---- Which Python values fit which type ------------------------------------------------------

_INTEGERS = (numbers.Integral, np.integer, Dimension)
_REALS = (numbers.Real, np.integer, np.floating)
_COMPLEXES = (numbers.Complex, np.number)

_SCALARS = (bool, int, float, complex, str, bytes)


def _check_compatible(values: Any, dtype: DType | None) -> None:
    """Raise TypeError if a value among `values` does not fit the type."""
    if values.__class__ in _SCALARS and dtype is None:
        return
    if dtype is None:
        for leaf in _leaves(values):
            if leaf.__class__ not in _SCALARS and _is_tensor(leaf):
                raise TypeError("List of Tensors when single Tensor expected")
        return
    if dtype.is_quantized:
        _check_quantized(values, dtype)
        return
    accepted = _accepted(dtype.base_dtype)
    if accepted is None:
        _check_compatible(values, None)
        return
    for leaf in _leaves(values):
        if not isinstance(leaf, accepted):
            raise _mismatch(leaf, dtype)


def _accepted(dtype: DType) -> tuple[Any, ...] | type[Any] | None:
    if dtype.is_floating:
        return _REALS
    if dtype.is_integer:
        return _INTEGERS
    if dtype.is_complex:
        return _COMPLEXES
    if dtype.is_bool:
        return bool
    return (bytes, str) if dtype is dtypes.string else None


def _check_quantized(values: Any, dtype: DType) -> None:
    """Quantized values are written as tuples of one integer, inside lists."""
    if isinstance(values, tuple):
        for leaf in _leaves(values):
            if not isinstance(leaf, _INTEGERS):
                raise _mismatch(leaf, dtype)
    elif isinstance(values, list):
        for value in values:
            _check_quantized(value, dtype)
    else:
        raise _mismatch(values, dtype)


def _mismatch(value: Any, dtype: DType) -> TypeError:
    kind = "bool_" if isinstance(value, np.bool_) else type(value).__name__
    # numpy shows its scalars as np.float64(1.5); the message has always shown the bare value.
    bare = str(value) if isinstance(value, (np.number, np.bool_)) else repr(value)
    return TypeError(f"Expected {dtype.name}, got {bare} of type '{kind}' instead.")


def _leaves(values: Any) -> Iterator[Any]:
    if isinstance(values, (list, tuple)):
        for value in values:
            if value.__class__ in _SCALARS:
                yield value
            else:
                yield from _leaves(value)
    elif isinstance(values, dict):
        for key in sorted(values):
            yield from _leaves(values[key])
    else:
        yield values


def _is_tensor(value: Any) -> bool:
    # Where the module was not imported there are no tensors, and it imports this one.
    operation = sys.modules.get("stillflow.graph.operation")
    return operation is not None and isinstance(value, operation.Tensor)


def _is_array_like(value: Any) -> bool:
    if value.__class__ in _SCALARS or isinstance(value, (list, tuple)) or _is_tensor(value):
        return False
    if callable(getattr(value, "__array__", None)):
        return True
    if isinstance(getattr(value, "__array_interface__", None), dict):
        return True
    try:
        memoryview(value)
    except TypeError:
        return False
    return not isinstance(value, bytes)


# ---- Shapes larger than the values -----------------------------------------------------------


def _fill(array: Array, sizes: list[int], verify_shape: bool, allow_broadcast: bool) -> Array:
    """Return the array with another shape; where that holds more, the last value is repeated."""
    count = prod(sizes)
    if allow_broadcast:
        if array.shape not in ((), (1,)) and array.size != count:
            raise TypeError(f"Expected Tensor's shape: {tuple(sizes)}, got {array.shape}.")
    elif verify_shape and array.shape != tuple(sizes):
        raise TypeError(f"Expected Tensor's shape: {tuple(sizes)}, got {array.shape}.")
    elif array.size > count:
        raise ValueError(
            f"Too many elements provided. Needed at most {count}, but received {array.size}"
        )
    if min(sizes, default=0) < 0:
        TensorShape(sizes)  # raises
    return repeat_last(array.ravel(), tuple(sizes), count)


def repeat_last(given: Array, shape: tuple[int, ...], count: int) -> Array:
    if given.size == count:
        return given.reshape(shape)
    if count == 0:
        return given[:0].reshape(shape)
    if given.size == 1:
        return _repeat_one(given, shape)
    if count * given.itemsize > MAX_BYTES:
        raise ValueError(
            f"A tensor of shape {list(shape)} would repeat its last value into more than 2GB."
        )
    array: Any = np.zeros(count, given.dtype).view(FilledArray)
    array[: given.size] = given
    if given.size:
        array[given.size :] = given[-1]
    elif given.dtype == object:
        array[:] = b""
    array = array.reshape(shape)
    array.given = given
    return array


def _repeat_one(given: Array, shape: tuple[int, ...]) -> Array:
    """Return a read-only view in which one value fills a shape."""
    if given.dtype == object:
        return np.broadcast_to(given.reshape(()), shape)
    # The same as broadcast_to, at a fraction of its cost.
    view = np.ndarray(shape, given.dtype, given, strides=(0,) * len(shape))
    view.flags.writeable = False
    return view
