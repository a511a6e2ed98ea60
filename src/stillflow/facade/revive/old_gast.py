"""Nodes of syntax trees that the package ``gast`` had before its 0.3 and 0.4."""

from __future__ import annotations

from typing import Any

import gast


class _OfConstants(type):
    """Class of the kinds of constants that trees had."""

    kinds: tuple[type, ...]

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, gast.Constant) and type(instance.value) in cls.kinds


def _constant(value: Any, **places: Any) -> Any:
    return gast.Constant(value, None, **places)


class Num(metaclass=_OfConstants):
    """A number; trees have ``gast.Constant`` for it."""

    kinds = (int, float, complex)

    def __new__(cls, n: Any, **places: Any) -> Any:
        return _constant(n, **places)


class Str(metaclass=_OfConstants):
    """Text; trees have ``gast.Constant`` for it."""

    kinds = (str,)

    def __new__(cls, s: Any, **places: Any) -> Any:
        return _constant(s, **places)


class Bytes(metaclass=_OfConstants):
    """Bytes; trees have ``gast.Constant`` for it."""

    kinds = (bytes,)

    def __new__(cls, s: Any, **places: Any) -> Any:
        return _constant(s, **places)


class NameConstant(metaclass=_OfConstants):
    """True, False or None; trees have ``gast.Constant`` for it."""

    kinds = (bool, type(None))

    def __new__(cls, value: Any, **places: Any) -> Any:
        return _constant(value, **places)


class Ellipsis(metaclass=_OfConstants):
    """``...``; trees have ``gast.Constant`` for it."""

    kinds = (type(...),)

    def __new__(cls, **places: Any) -> Any:
        return _constant(..., **places)


class Index:
    """An index; trees have the expression itself for it."""

    def __new__(cls, value: Any) -> Any:
        return value


class ExtSlice:
    """Slices and indices of several axes; trees have ``gast.Tuple`` for them."""

    def __new__(cls, dims: Any) -> Any:
        return gast.Tuple(dims, gast.Load())


for _name in ("n", "s"):  # the fields that the nodes had, on the one that stands for them
    if not hasattr(gast.Constant, _name):
        setattr(gast.Constant, _name, property(lambda node: node.value))
