"""Arrays of one element as numbers, and integers that wrap around, as before NumPy 2.

NumPy 2.4 raises for ``int(a)``, ``"%d" % a``, ``math.sqrt(a)`` and ``x[0] = a`` where ``a`` has one
element in one dimension or more; NumPy 2 raises for ``np.uint8(300)`` and ``bytes_[0] = -1``.  The
functions here do the same first, and look at the operands only if that has failed.  ``range(a)``,
``round(a)`` and ``items[a]`` raised under the NumPy of TensorFlow 1.15.5 as well.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from struct import error as _StructError
from typing import Any

import numpy as np

from stillflow.facade.say import say

_CONVERSION = re.compile(
    r"%(?:\((?P<key>[^)]*)\))?[-#0 +]*(?P<width>\*|\d*)"
    r"(?:\.(?P<precision>\*|\d*))?[hlL]?(?P<kind>.)",
    re.DOTALL,
)
_OF_NUMBERS = frozenset("diufFeEgG")
OUT_OF_BOUNDS = "out of bounds for"


@functools.cache
def needed() -> bool:
    """Return whether NumPy takes no array of one element for a number, in one dimension."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return int(np.zeros(1)) != 0
    except TypeError:
        return True


@functools.cache
def bounded() -> bool:
    """Return whether NumPy raises for integers outside the range of a type."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return int(np.uint8(256)) != 0
    except OverflowError:
        return True


def renamed() -> bool:
    """Return whether NumPy has types of its own under former names of Python's."""
    return getattr(np, "bool", bool) is not bool


def one(value: Any) -> Any:
    """Return the element of an array that has one, in one dimension or more; else the value."""
    if not isinstance(value, np.ndarray) or not value.ndim or value.size != 1:
        return value
    say("arrays of one element are taken for numbers here, as before NumPy 2.4")
    return np.asarray(value).reshape(())[()]


def call_all(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a function of numbers, if it fails with the elements of arrays that have one each."""
    try:
        return function(*args, **options)
    except (TypeError, _StructError):
        plain = [_plain(item) for item in args]
        named = {name: _plain(item) for name, item in options.items()}
        same = all(map(_is, plain, args)) and all(map(_is, named.values(), options.values()))
        if same:
            raise
    return function(*plain, **named)


def call_one(function: Callable[[Any], Any], value: Any) -> Any:
    """Call a function of one number as `call_all` does, at less cost."""
    try:
        return function(value)
    except (TypeError, _StructError):
        plain = _plain(value)
        if plain is value:
            raise
    return function(plain)


def _plain(value: Any) -> Any:
    return level(value, 1) if isinstance(value, (list, tuple)) else one(value)


def _converter(kind: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return ``kind`` for arrays of one element as well."""

    def convert(value: Any) -> Any:
        try:
            return kind(value)
        except TypeError:
            plain = one(value)
            if plain is value:
                raise
        return kind(plain)

    return convert


to_int, to_float, to_complex = map(_converter, (int, float, complex))


def percent(template: Any, values: Any) -> Any:
    """Return ``template % values``."""
    try:
        return template % values
    except TypeError:
        plain = formattable(template, values)
        if plain is None:
            raise
    return template % plain


def formattable(template: Any, values: Any) -> dict[str, Any] | tuple[Any, ...] | None:
    """Return a format's operand with numbers for arrays of one element; None if unchanged."""
    if isinstance(template, bytes):
        template = template.decode("latin-1")
    if not isinstance(template, str):
        return None
    single = not isinstance(values, (tuple, dict))
    made: Any = dict(values) if isinstance(values, dict) else [values] if single else list(values)
    at, changed = 0, False
    for found in _CONVERSION.finditer(template):
        if found["kind"] == "%":
            continue
        at += (found["width"], found["precision"]).count("*")
        key = at if found["key"] is None else found["key"]
        at += found["key"] is None
        if found["kind"] not in _OF_NUMBERS or not _holds(made, key):
            continue
        plain = one(made[key])
        changed |= plain is not made[key]
        made[key] = plain
    if not changed:
        return None
    return made if isinstance(made, dict) else tuple(made)


def _holds(values: Any, key: Any) -> bool:
    if isinstance(values, dict):
        return key in values
    return isinstance(key, int) and key < len(values)


def stored(target: Any, index: Any, value: Any) -> bool:
    """Store an item that an array has rejected, as it was formerly; False if it is not stored."""
    if not isinstance(target, (np.ndarray, np.flatiter, np.void)):
        return False
    flat = target.base if isinstance(target, np.flatiter) else target
    try:
        fitted = _storable(value, flat.dtype, np.ndim(target[index]))
        if fitted is value:
            return False
        target[index] = fitted
    except (TypeError, ValueError, OverflowError, IndexError):
        return False
    return True


def _storable(value: Any, dtype: np.dtype[Any], rank: int) -> Any:
    """Return a value for an item of a type and a number of dimensions; itself if it is one."""
    if isinstance(value, tuple) and dtype.names is not None:
        return tuple(one(item) for item in value)
    if isinstance(value, np.ndarray):
        return value if rank else one(value)
    levelled = level(value, rank) if isinstance(value, (list, tuple)) else value
    if dtype.kind in "iu" and bounded():
        return wrapped(levelled, dtype)
    return levelled


def set_item(target: Any, index: Any, value: Any) -> None:
    """Do ``target[index] = value``."""
    try:
        target[index] = value
    except (TypeError, ValueError, OverflowError):
        if not stored(target, index, value):
            raise


def filled(owner: Any, *args: Any, **options: Any) -> Any:
    """Do ``owner.fill(value)``."""
    try:
        return owner.fill(*args, **options)
    except OverflowError:
        if not isinstance(owner, np.ndarray) or not args or not stored(owner, ..., args[0]):
            raise
    return None


def wrapped(value: Any, dtype: Any) -> Any:
    """Return integers as an array of a type, whose range they may leave; else the value."""
    try:
        made = np.asarray(value)
    except ValueError:  # lists of different lengths
        return value
    if made.dtype.kind not in "iu":
        return value
    return made.astype(dtype)


def typed(kind: Any, *args: Any) -> Any:
    """Return ``np.uint8(value)``, or a value of another type of NumPy's."""
    try:
        return kind(*args)
    except OverflowError:
        if not _is_kind(kind) or not bounded():
            raise
        made = wrapped(int(args[0]) if isinstance(args[0], str) else args[0], kind)
        if made is args[0]:
            raise
    except ValueError:
        if not _is_kind(kind) or not isinstance(args[0], (list, tuple)):
            raise
        levelled = level(args[0])
        if levelled is args[0]:
            raise
        made = np.array(levelled, kind)
    return made if made.ndim else made[()]


def level(values: Any, rank: int | None = None) -> Any:
    """Return lists with the elements of arrays that are mixed with numbers or smaller arrays.

    It is the same object if all is of one depth; `rank` dimensions are there, if known.
    """
    depth = _depth(values) if rank is None else min(rank, _depth(values))
    made = _cut(values, depth)
    return values if made is None else made


def _depth(values: Any) -> int:
    """Return the smallest number of dimensions of the elements of nested lists."""
    if isinstance(values, (list, tuple)):
        return 1 + min(map(_depth, values), default=0)
    return int(np.ndim(values))


def _cut(values: Any, depth: int) -> Any:
    """Return values of a depth; None if they are so already, or cannot be."""
    if isinstance(values, (list, tuple)):
        if not depth:
            return None
        parts = [_cut(item, depth - 1) for item in values]
        if all(part is None for part in parts):
            return None
        return [item if part is None else part for item, part in zip(values, parts, strict=True)]
    if not isinstance(values, np.ndarray) or values.ndim <= depth:
        return None
    if any(size != 1 for size in values.shape[depth:]):
        return None
    return one(values) if depth == 0 else np.asarray(values).reshape(values.shape[:depth])


def _is(left: Any, right: Any) -> bool:
    return left is right


def _is_kind(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, np.number)
