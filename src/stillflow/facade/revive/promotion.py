"""Arithmetic of NumPy's numbers and arrays, with the types that it gave before NumPy 2.

A number took on the type of the array it was combined with (``np.sqrt(2.0) * float32_array`` was
float32), and two numbers both kept their types (``0.0 + np.float32(1)`` was a float64).  The
operations on NumPy's values cannot be determined for certain before they run: all candidates are
rewritten, and check their operands then.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.facade.revive import scalars
from stillflow.facade.say import say

_CHANGED = np.lib.NumpyVersion(np.__version__) >= "2.0.0"
# Kinds of numbers in the order in which one outdid the other; complex and real ones were equals.
_RANK = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 2}
_PYTHON = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}
_FLOATS = (np.float32, np.float64, np.float16)
# A quotient of two numbers of one of these was single precision, one of arrays was double.
_SMALL = (np.int8, np.uint8, np.int16, np.uint16)
_SAFE = 255  # up to here no number asks for a larger type than half precision
_INT64 = np.iinfo(np.int64)


def combine(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Return ``function(left, right)``, both of the types that they took on before NumPy 2."""
    if function is operator.truediv and type(left) is type(right) and type(left) in _SMALL:
        return np.float32(left) / np.float32(right)
    return function(fitted(left, right), fitted(right, left))


def compare(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """`combine` for comparisons, whose results have no type to speak of."""
    one, other = type(left), type(right)
    if (one is other and one is not np.ndarray) or (one in _PYTHON and other in _PYTHON):
        return function(left, right)
    if one in _PYTHON and other in _FLOATS:
        return function(_as_number(left), right)
    if other in _PYTHON and one in _FLOATS:
        return function(left, _as_number(right))
    return function(fitted(left, right, False), fitted(right, left, False))


def fitted(value: Any, other: Any, notes: bool = True) -> Any:
    """Return one operand as the other one has it: itself but for numbers that change their type."""
    if not _CHANGED or (isinstance(value, np.ndarray) and value.ndim):
        return value
    if isinstance(other, np.ndarray) and other.ndim:
        return _with_array(value, other.dtype, notes)
    if type(value) in _PYTHON and _is_number(other):
        return _as_number(value)
    return value


def added(value: Any, target: Any) -> Any:
    """Return a number to add to a target in place, so that the sum keeps its type."""
    value = fitted(value, target)
    number = isinstance(value, np.generic) and value.dtype.kind in _RANK
    if _CHANGED and number and type(target) in _PYTHON:
        return np.promote_types(value.dtype, _PYTHON[type(target)]).type(value)
    return value


def added_at(value: Any, target: Any) -> Any:
    """Return a number to add to an item in place: a number where the item of an array is one."""
    if isinstance(target, np.generic):
        value = scalars.one(value)
    return added(value, target)


def total(values: Any, *start: Any, **options: Any) -> Any:
    """Return the former result of ``sum``; the start is a Python number, by default 0."""
    values = values if isinstance(values, np.ndarray) else list(values)
    if not _CHANGED or options or not any(isinstance(item, np.generic) for item in values):
        return sum(values, *start, **options)
    result: Any = start[0] if start else 0
    for item in values:
        result = combine(operator.add, result, item)
    return result


def largest(*values: Any, **options: Any) -> Any:
    """Return the former result of ``max``."""
    return _extreme(max, operator.gt, values, options)


def smallest(*values: Any, **options: Any) -> Any:
    """Return the former result of ``min``."""
    return _extreme(min, operator.lt, values, options)


def _extreme(built_in: Any, beats: Any, given: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if len(given) == 1 and not isinstance(given[0], np.ndarray):
        given = (list(given[0]),)
    values = given[0] if len(given) == 1 else given
    mixed = any(type(item) in _PYTHON for item in values) and any(map(_is_number, values))
    if not _CHANGED or options or not mixed:
        return built_in(*given, **options)
    return functools.reduce(lambda a, b: b if compare(beats, b, a) else a, values)


def _is_number(value: Any) -> bool:
    """Return True if it is a number of NumPy's, or an array of one."""
    return isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind in _RANK


def _as_number(value: Any) -> Any:
    if type(value) is int and not _INT64.min <= value <= _INT64.max:
        return value
    return _PYTHON[type(value)](value)


def _with_array(value: Any, dtype: np.dtype[Any], notes: bool) -> Any:
    """Convert a number that is combined with an array of a type, with a note if asked for."""
    own = type(value) in _PYTHON
    if dtype.kind not in _RANK or not (own or _is_number(value)):
        return value
    if own and _RANK[dtype.kind] == 2 and abs(value) <= _SAFE:
        return value  # NumPy still adapts Python's own numbers to the other operand
    if own:
        value = _as_number(value)
    if not isinstance(value, (np.generic, np.ndarray)):
        return value
    if _RANK[value.dtype.kind] > _RANK[dtype.kind]:
        return value
    wanted = np.promote_types(dtype, _smallest(value, dtype))
    if wanted == value.dtype:
        return value
    if notes and not own:
        say(f"a {value.dtype} is taken for a {wanted} with an array of {dtype}, as in NumPy 1")
    return wanted.type(value)


def _smallest(value: Any, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the smallest type that holds a number; a signed one with signed ones if it fits."""
    found = np.min_scalar_type(value)
    if found.kind == "u" and dtype.kind == "i" and value <= np.iinfo(f"i{found.itemsize}").max:
        return np.dtype(f"i{found.itemsize}")
    return found
