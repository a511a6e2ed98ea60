"""Values of constants where operations run when they are called.

TensorFlow reads Python values there by other rules than in graphs: the first number decides the
type (`np.float64` gives float64, other numbers of NumPy in lists count as Python's), arrays may
stand in lists, and only a single value is repeated to fill a shape.
"""

from __future__ import annotations

from itertools import chain
from math import prod
from typing import Any, NoReturn

import numpy as np

from stillflow.errors import invalid_argument
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array, as_array, as_bytes, fast_array
from stillflow.graph.dtypes import DType
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import Dimension, TensorShape

_REAL = (float, np.floating, int, np.integer)
# Python types allowed in a list of a type; bool is an int to Python, np.bool_ is not.
_MEMBERS: dict[DType, tuple[type, ...]] = {
    dtypes.string: (str, bytes),
    dtypes.float64: _REAL,
    dtypes.float16: _REAL,
    dtypes.float32: _REAL,
    dtypes.bool: (bool, np.bool_),
    dtypes.int32: (int, np.integer, Dimension),
    dtypes.int64: (int, np.integer, Dimension),
    dtypes.uint64: (int, np.integer, Dimension),
    dtypes.complex128: (complex, np.complexfloating, float, np.floating),
}
# The type that a list has by its first number, the first match deciding.
_BY_FIRST: tuple[tuple[tuple[type, ...], DType], ...] = (
    ((str, bytes), dtypes.string),
    ((np.float64,), dtypes.float64),
    ((np.float16,), dtypes.float16),
    ((float, np.floating), dtypes.float32),
    ((bool, np.bool_), dtypes.bool),
    ((int, np.integer, Dimension), dtypes.int64),
    ((complex, np.complexfloating), dtypes.complex128),
)
_SCALARS = tuple(chain.from_iterable(types for types, _ in _BY_FIRST))
_INT32 = np.iinfo(np.int32)


def as_eager_array(value: Any, dtype: DType | None) -> Array:
    """Return the value of a constant made outside of graphs, as `as_array` returns it.

    None as `dtype` lets the value decide. TypeError if it does not fit the type, ValueError if it
    cannot become a tensor at all.
    """
    array = fast_array(value, dtype)
    if array is not None:
        return array
    if isinstance(value, (np.ndarray, np.generic)):
        return _of_numpy(value, dtype)
    dims, leaves = _flat(value)
    array = None if dtype is None else _directly(leaves, dtype)
    if array is None:
        array = _inferred(leaves)
        found = dtypes.as_dtype(array.dtype)
        if dtype is not None and dtype is not found:
            if leaves and not _becomes(dtype, found):
                name = dtypes.cpp_name(dtype)
                raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {name}")
            array = as_array(array, dtype) if leaves else np.empty(0, dtype.np_dtype)
    return array.reshape(dims)


def fill_to_shape(array: Array, shape: Any, verify_shape: bool) -> Array:
    """Return an array of the requested shape.

    TypeError for another number of elements than one; InvalidArgumentError if its one element is in
    a list.
    """
    wanted = TensorShape(shape)
    dims = tuple(dim or 0 for dim in wanted.as_list())
    if array.shape == dims:
        return array
    if verify_shape:
        found = TensorShape(array.shape).dims
        raise TypeError(f"Expected Tensor's shape: {tuple(wanted)}, got {tuple(found or ())}.")
    size = prod(dims)
    if array.size == size:
        return array.reshape(dims)
    if array.size == 1:
        if array.ndim:
            text = ",".join(map(str, array.shape))
            raise invalid_argument(f"value must be a scalar, got shape [{text}] [Op:Fill]")
        return np.broadcast_to(array, dims)
    raise TypeError(
        "Eager execution of tf.constant with unsupported shape "
        f"(value has {array.size} elements, shape is {wanted} with {size} elements)."
    )


def _of_numpy(value: Any, dtype: DType | None) -> Array:
    kind = value.dtype.kind
    if kind in "mM":
        name = "NPY_DATETIME" if kind == "M" else "NPY_TIMEDELTA"
        _reject_array(f"numpy type: {name}")
    if kind == "O" or dtype is dtypes.string:
        strange = next((x for x in np.ravel(value).tolist() if not isinstance(x, (str, bytes))), "")
        if strange != "":
            _reject_array(f"object type {type(strange).__name__}")
    return as_array(value, dtype)


def _reject_array(what: str) -> NoReturn:
    raise ValueError(f"Failed to convert a NumPy array to a Tensor (Unsupported {what}).")


def _flat(value: Any) -> tuple[list[int], list[Any]]:
    """Return the sizes of nested sequences, and their leaves."""
    dims: list[int] = []
    level = [value]
    while level and _is_sequence(level[0]):
        if any(isinstance(row, Tensor) for row in level):
            raise TypeError("List of Tensors when single Tensor expected")
        if not all(map(_is_sequence, level)):
            _reject_ragged()
        rows = [_members(row) for row in level]
        if not rows[0]:  # the others are not looked at
            return [*dims, 0], []
        if len(set(map(len, rows))) > 1:
            _reject_ragged()
        dims.append(len(rows[0]))
        level = list(chain.from_iterable(rows))
    return dims, [leaf[()] if isinstance(leaf, np.ndarray) and not leaf.ndim else leaf
                  for leaf in level]  # fmt: skip


def _reject_ragged() -> NoReturn:
    raise ValueError("Can't convert non-rectangular Python sequence to Tensor.")


def _is_sequence(value: Any) -> bool:
    kind = type(value)
    if kind is list or kind is tuple:
        return True
    if issubclass(kind, np.ndarray):
        return bool(value.ndim)
    if issubclass(kind, (*_SCALARS, dict)):
        return False
    return hasattr(kind, "__getitem__")


def _members(row: Any) -> list[Any]:
    if isinstance(row, (list, tuple, range, np.ndarray)):
        return list(row)
    if isinstance(row, TensorShape):
        return list(row.dims or ())
    if not hasattr(type(row), "__len__"):
        raise ValueError(f"TypeError: object of type '{type(row).__name__}' has no len()\n")
    # A series of pandas iterates over numbers of Python, where TensorFlow looks at NumPy's.
    members = [*(row.to_numpy() if hasattr(row, "to_numpy") and row.ndim == 1 else row)]
    if len(members) != len(row):
        _reject_ragged()
    if _has_no_first(row):  # then TensorFlow does not see the type, but numbers only
        return [float(x) if isinstance(x, np.floating) else x for x in members]
    return members


def _has_no_first(row: Any) -> bool:
    """Return True if a pandas series has no label 0, by which numbers are found."""
    index: Any = getattr(row, "index", None)
    return getattr(index, "inferred_type", None) == "integer" and 0 not in index


def _directly(leaves: list[Any], dtype: DType) -> Array | None:
    """Return the members as an array of the wanted type, if a list of it allows all of them."""
    members = _MEMBERS.get(dtype)
    if not leaves or members is None or not _are(leaves, members):
        return None
    return _array(leaves, dtype)


def _are(leaves: list[Any], members: tuple[type, ...]) -> bool:
    return all(issubclass(kind, members) for kind in set(map(type, leaves)))


def _array(leaves: list[Any], dtype: DType) -> Array | None:
    """Return an array of members that were looked at; None if an integer does not fit."""
    if dtype is dtypes.string:
        strings = np.empty(len(leaves), object)
        strings[:] = [as_bytes(leaf) for leaf in leaves]
        return strings
    if dtype.is_integer:
        try:
            return np.array([int(leaf) for leaf in leaves], dtype.np_dtype)
        except OverflowError:
            return None
    with np.errstate(all="ignore"):
        return np.array(leaves, np.float64 if dtype.is_floating else dtype.np_dtype).astype(
            dtype.np_dtype
        )


def _inferred(leaves: list[Any]) -> Array:
    """Return an array of the type that the first member decides."""
    if not leaves:
        return np.empty(0, np.float32)
    first = leaves[0]
    dtype = next((dtype for types, dtype in _BY_FIRST if isinstance(first, types)), None)
    if dtype is None:
        raise ValueError(
            f"Attempt to convert a value ({first!r}) with an unsupported type ({type(first)}) to a "
            "Tensor."
        )
    integers = _MEMBERS[dtypes.int64]
    if dtype is dtypes.int64 and not _are(leaves, integers):
        other = next(leaf for leaf in leaves if not isinstance(leaf, integers))
        if isinstance(other, (float, np.floating)):
            dtype = dtypes.float32
    members = (complex, np.complexfloating) if dtype is dtypes.complex128 else _MEMBERS[dtype]
    if not _are(leaves, members):
        raise ValueError("Can't convert Python sequence with mixed types to Tensor.")
    array = _array(leaves, dtype)
    if array is None:
        raise ValueError("Can't convert Python sequence with out-of-range integer to Tensor.")
    if dtype is dtypes.float32:
        _check_finite(leaves, array)
    elif dtype is dtypes.int64 and array.min() >= _INT32.min and array.max() <= _INT32.max:
        return array.astype(np.int32)
    return array


def _check_finite(leaves: list[Any], array: Array) -> None:
    """Raise an error for numbers that overflow to infinity in float32."""
    if np.isinf(array).any() and not np.isinf(np.array(leaves, np.float64)[np.isinf(array)]).all():
        raise ValueError(
            "Can't convert Python sequence with a value out of range for a double-precision float."
        )


def _becomes(wanted: DType, found: DType) -> bool:
    """Return True if values of one type are accepted where another was requested."""
    if wanted.is_integer or wanted.is_quantized:
        return found.is_integer
    if wanted.is_floating:
        return found.is_floating or found.is_integer
    return wanted.is_complex and (found.is_complex or found.is_floating or found.is_integer)
