"""Functions that the standard library used to have."""

from __future__ import annotations

import ast
import collections
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

ArgSpec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")


def getargspec(func: Callable[..., Any]) -> ArgSpec:
    """Return the names and defaults of a function's arguments."""
    full = inspect.getfullargspec(func)
    if full.kwonlyargs:
        raise ValueError(
            "Function has keyword-only parameters or annotations, use inspect.signature() API"
        )
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)


def formatargspec(
    args: Iterable[str],
    varargs: str | None = None,
    varkw: str | None = None,
    defaults: tuple[Any, ...] | None = None,
    *more: Any,
) -> str:
    """Return an argument list as it stands in a ``def``."""
    names = list(args)
    first = len(names) - len(defaults or ())
    parts = [
        name if index < first else f"{name}={(defaults or ())[index - first]!r}"
        for index, name in enumerate(names)
    ]
    parts += [f"*{varargs}"] * bool(varargs) + [f"**{varkw}"] * bool(varkw)
    return f"({', '.join(parts)})"


def linux_distribution(*arguments: Any, **options: Any) -> tuple[str, str, str]:
    """Return name, version and code name of a Linux distribution; empty elsewhere."""
    import platform

    try:
        facts = platform.freedesktop_os_release()
    except OSError:
        return "", "", ""
    return (facts.get("NAME", ""), facts.get("VERSION_ID", ""), facts.get("VERSION_CODENAME", ""))


dist = linux_distribution


class ByteString(Sequence):
    """Abstract base class of ``bytes`` and ``bytearray``."""

    __slots__ = ()


ByteString.register(bytes)
ByteString.register(bytearray)


class _OfConstants(type):
    """Class of the kinds of constants that syntax trees had."""

    kinds: tuple[type, ...]

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, ast.Constant) and type(instance.value) in cls.kinds


class Num(ast.Constant, metaclass=_OfConstants):
    """A number; trees have ``ast.Constant`` for it."""

    kinds = (int, float, complex)

    def __new__(cls, n: Any, **options: Any) -> Any:
        return ast.Constant(n, **options)


class Str(ast.Constant, metaclass=_OfConstants):
    """Text; trees have ``ast.Constant`` for it."""

    kinds = (str,)

    def __new__(cls, s: Any, **options: Any) -> Any:
        return ast.Constant(s, **options)


class Bytes(ast.Constant, metaclass=_OfConstants):
    """Bytes; trees have ``ast.Constant`` for it."""

    kinds = (bytes,)

    def __new__(cls, s: Any, **options: Any) -> Any:
        return ast.Constant(s, **options)


class NameConstant(ast.Constant, metaclass=_OfConstants):
    """True, False or None; trees have ``ast.Constant`` for it."""

    kinds = (bool, type(None))

    def __new__(cls, value: Any, **options: Any) -> Any:
        return ast.Constant(value, **options)


def find_loader(name: str, path: Any = None) -> Any:
    """Return the loader of a module, or None."""
    import importlib.util

    spec = importlib.util.find_spec(name)
    return spec.loader if spec is not None else None


def get_loader(module_or_name: Any) -> Any:
    """Return the loader of a module, which may be loaded already, or None."""
    if isinstance(module_or_name, str):
        return find_loader(module_or_name)
    return getattr(module_or_name, "__loader__", None)


def getcheckinterval() -> int:
    """Return the default: threads take turns by time now."""
    return 100


def setcheckinterval(n: int) -> None:
    """Do nothing: threads take turns by time now, ``sys.setswitchinterval``."""


def make_suite(testCaseClass: Any, prefix: str = "test", *more: Any) -> Any:
    """Return the tests of a class."""
    import unittest

    loader = unittest.TestLoader()
    loader.testMethodPrefix = prefix
    return loader.loadTestsFromTestCase(testCaseClass)


def join(words: Iterable[str], sep: str = " ") -> str:
    """Join words, as ``string.join`` did."""
    return sep.join(words)


def setdefaultencoding(name: str) -> None:
    """Accept the call of Python 2 programs after ``reload(sys)``; text is Unicode now."""
