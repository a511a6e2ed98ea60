"""Functions that NumPy used to have."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

sctypes = {
    "int": [np.int8, np.int16, np.int32, np.int64],
    "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
    "float": [np.float16, np.float32, np.float64, np.longdouble],
    "complex": [np.complex64, np.complex128, np.clongdouble],
    "others": [bool, object, bytes, str, np.void],
}
typeDict: dict[Any, type] = dict(np.sctypeDict)


def asscalar(a: Any) -> Any:
    """Return an array of one element as a Python scalar."""
    return np.asarray(a).item()


def asfarray(a: Any, dtype: Any = np.float64) -> np.ndarray:
    """Return an array of a floating-point type: float64 where an integer type is asked for."""
    return np.asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def alen(a: Any) -> int:
    """Return the length of the first dimension, 1 for a scalar."""
    return len(np.atleast_1d(a))


def msort(a: Any) -> np.ndarray:
    """Return a copy sorted along the first dimension."""
    return np.sort(a, axis=0)


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> np.ndarray:
    """Return, flat, whether each element of `ar1` is in `ar2`."""
    return np.isin(np.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert)


def find_common_type(array_types: Iterable[Any], scalar_types: Iterable[Any]) -> np.dtype:
    """Return the type for a mix of arrays and scalars: arrays win within one kind."""
    arrays = [np.dtype(item) for item in array_types]
    scalars = [np.dtype(item) for item in scalar_types]
    if not arrays or not scalars:
        return np.result_type(*(arrays or scalars))
    array, scalar = np.result_type(*arrays), np.result_type(*scalars)
    order = "biufc"
    return scalar if order.find(scalar.kind) > order.find(array.kind) else array


class _Cast(dict):
    """``np.cast[dtype](values)``."""

    def __missing__(self, dtype: Any) -> Callable[[Any], np.ndarray]:
        return lambda values: np.asarray(values, dtype)


cast = _Cast()


def loads(data: bytes, **options: Any) -> Any:
    """Unpickle bytes."""
    return pickle.loads(data, **options)


def recfromtxt(fname: Any, **options: Any) -> np.ndarray:
    """Read a text file into a record array."""
    options.setdefault("dtype", None)
    return np.genfromtxt(fname, **options).view(np.recarray)


def recfromcsv(fname: Any, **options: Any) -> np.ndarray:
    """Read a comma-separated file, with names in its first row, into a record array."""
    for name, value in (("case_sensitive", "lower"), ("names", True), ("delimiter", ",")):
        options.setdefault(name, value)
    return recfromtxt(fname, **options)


def disp(mesg: Any, device: Any = None, linefeed: bool = True) -> None:
    """Print a message to a file, stdout if none is given."""
    print(mesg, end="\n" if linefeed else "", file=device)


def deprecate(*arguments: Any, **options: Any) -> Any:
    """Decorate a function as deprecated; the note itself is left out."""
    return arguments[0] if arguments and callable(arguments[0]) else lambda function: function


def issctype(rep: Any) -> bool:
    """Return whether something names a scalar type."""
    try:
        return np.dtype(rep).type is not np.object_
    except TypeError:
        return False


def obj2sctype(rep: Any, default: Any = None) -> Any:
    """Return the scalar type of a type, an array or a name."""
    try:
        return np.dtype(getattr(rep, "dtype", rep)).type
    except TypeError:
        return default


def maximum_sctype(t: Any) -> type:
    """Return the largest scalar type of the kind of a type."""
    kinds = {"i": np.int64, "u": np.uint64, "f": np.longdouble, "c": np.clongdouble}
    dtype = np.dtype(t)
    return kinds.get(dtype.kind, dtype.type)


def sctype2char(sctype: Any) -> str:
    """Return the character of a scalar type."""
    return np.dtype(obj2sctype(sctype, sctype)).char


def byte_bounds(a: Any) -> tuple[int, int]:
    """Return the addresses of the first byte of an array, and of that behind its last."""
    low, high = np.lib.array_utils.byte_bounds(a)
    return int(low), int(high)


def fastCopyAndTranspose(a: Any) -> np.ndarray:
    """Return a copy of a matrix, transposed."""
    return np.array(a).T.copy()
