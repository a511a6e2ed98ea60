"""Variations of an operation's arguments: other types, shapes, values and attributes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

NUMPY_TYPES = {
    "float32": np.float32, "float64": np.float64, "float16": np.float16,
    "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64,
    "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64,
    "bool": np.bool_, "complex64": np.complex64, "complex128": np.complex128,
    "string": np.object_,
}  # fmt: skip

#: Values at which kernels tend to differ, by the kind of the element type.
SPECIAL = {
    "O": [b"", b"x", b"-1", b"1.5", b" 2", b"abc def", b"\xff", b"a,b"],
    "b": [True, False],
    "f": [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e30, 1e-30, 0.5, -2.5, 2.5, 100.0],
    "c": [0, 1, 1j, -1, complex("nan"), 1e20],
}

#: Values for attributes, by their kind.
ATTRIBUTES: dict[str, Callable[[random.Random, Any], Any]] = {
    "bool": lambda rng, old: rng.choice([True, False]),
    "int": lambda rng, old: rng.choice([0, 1, 2, 3, -1, -2, 5, (old or 0) + 1]),
    "float": lambda rng, old: rng.choice([0.0, 1.0, -1.0, 0.5, 2.0, 1e10, np.nan, np.inf]),
    "string": lambda rng, old: rng.choice(["", "x"]),
    "list(int)": lambda rng, old: _other_list(rng, list(old or [1, 2, 2, 1])),
}


def with_special_values(rng: random.Random, array: np.ndarray) -> np.ndarray:
    """Return the array with a few elements, or all, at the ends of what their type holds."""
    flat = np.array(array).reshape(-1)
    if not flat.size:
        return array
    pool = SPECIAL.get(flat.dtype.kind) or _special_integers(flat.dtype)
    with np.errstate(all="ignore"):
        for _ in range(rng.choice([1, 1, 1, 2, len(flat)])):
            flat[rng.randrange(len(flat))] = rng.choice(pool)
    return flat.reshape(array.shape)


def _special_integers(dtype: np.dtype) -> list[int]:
    limits = np.iinfo(dtype)
    return [0, 1, 2, 3, 5, 7, 10, limits.max, limits.min] + ([-1, -2, -7] if limits.min else [])


def with_other_shape(rng: random.Random, array: np.ndarray) -> np.ndarray:
    """Return the array with an axis or a position more or less, or with none at all."""
    change = rng.choice(sorted(WHOLE_SHAPES) + sorted(AXIS_SHAPES))
    if change in WHOLE_SHAPES:
        return WHOLE_SHAPES[change](array)
    if not array.ndim:
        return array.reshape(1)
    axis = rng.randrange(array.ndim)
    return AXIS_SHAPES[change](array, axis) if array.shape[axis] else array


WHOLE_SHAPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "scalar": lambda array: array.reshape(-1)[:1].reshape(()) if array.size else array,
    "leading axis": lambda array: array[None],
    "trailing axis": lambda array: array[..., None],
    "twice": lambda array: np.stack([array, array]),
}
AXIS_SHAPES: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "no axis": lambda array, axis: _part(array, axis, 0),
    "empty": lambda array, axis: _part(array, axis, slice(0, 0)),
    "longer": lambda array, axis: _part(array, axis, [*range(array.shape[axis]), 0]),
    "shorter": lambda array, axis: _part(array, axis, slice(0, -1)),
}


def _part(array: np.ndarray, axis: int, index: Any) -> np.ndarray:
    found = array[(slice(None),) * axis + (index,)]
    if isinstance(found, np.ndarray):
        return found
    scalar = np.empty((), array.dtype)  # np.asarray would make NumPy's own strings of bytes
    scalar[()] = found
    return scalar


def with_type(array: np.ndarray, dtype: Any) -> np.ndarray | None:
    """Return the array in another type; None where strings would have to become numbers."""
    if array.dtype == object:
        return array if dtype is np.object_ else None
    if dtype is np.object_:
        texts = np.empty(array.size, object)
        texts[:] = [str(item).encode() for item in array.ravel()]
        return texts.reshape(array.shape)
    with np.errstate(all="ignore"):
        real = array.real if array.dtype.kind == "c" and np.dtype(dtype).kind != "c" else array
        return np.asarray(real).astype(dtype)


def _other_list(rng: random.Random, items: list[int]) -> list[int]:
    change = rng.choice(["set", "set", "set", "drop", "append", "clear"])
    if change == "set" and items:
        items[rng.randrange(len(items))] = rng.choice([0, 1, 2, 3, -1, 4])
    return {"drop": items[:-1], "append": [*items, 1], "clear": []}.get(change, items)
