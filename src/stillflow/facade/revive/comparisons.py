"""Comparisons and truth of NumPy's values, as before NumPy 1.25 and 2.

Arrays whose shapes do not fit together were unequal as a whole, and an empty array was false; NumPy
raises for both now.  A number of Python's was compared with one of NumPy's as a double.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.facade.revive import promotion
from stillflow.facade.say import say

_SHAPES = ("could not be broadcast", "shape mismatch")
_UNEVEN = "inhomogeneous"


@functools.cache
def needed() -> bool:
    """Return whether NumPy raises where arrays of different shapes are compared."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return (np.zeros(2) == np.zeros(3)) is not False
    except ValueError:
        return True


def compared(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Return the former result of ``left == right`` or ``left != right``."""
    try:
        result = promotion.compare(function, left, right)
    except ValueError as error:
        if _UNEVEN in str(error):
            return function(_as_objects(left), _as_objects(right))
        if not is_about_shapes(error):
            raise
        result = NotImplemented
    else:
        if type(right) is not str and type(left) is not str:
            return result
        if not _is_numbers(left) and not _is_numbers(right):
            return result
    say("arrays that cannot be compared element by element are unequal here, as in old NumPy")
    return function is operator.ne


def ordered(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Return the former result of ``left < right`` and the like."""
    return promotion.compare(function, left, right)


def contained(item: Any, container: Any) -> bool:
    """Return the former result of ``item in container``."""
    try:
        return item in container
    except ValueError as error:
        if not is_about_shapes(error):
            raise
    if isinstance(container, np.ndarray):
        return False
    return any(member is item or truth(compared(operator.eq, member, item)) for member in container)


def truth(value: Any) -> bool:
    """Return ``bool(value)``."""
    try:
        return bool(value)
    except ValueError:
        if not isinstance(value, np.ndarray) or value.size:
            raise
    say("an empty array is false here, as in old NumPy")
    return False


def is_about_shapes(error: ValueError) -> bool:
    """Return whether an error says that shapes do not fit together."""
    text = str(error)
    return any(part in text for part in _SHAPES)


def is_of_arrays(error: ValueError) -> bool:
    """Return whether an error says that arrays have no single answer that they once had."""
    return is_about_shapes(error) or "empty array" in str(error)


def _as_objects(value: Any) -> Any:
    return np.array(value, dtype=object) if isinstance(value, (list, tuple)) else value


def _is_numbers(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "biufc"
