"""Functions that the standard library used to have."""

from __future__ import annotations

import collections
import inspect
from collections.abc import Callable, Iterable
from typing import Any

ArgSpec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")


def getargspec(func: Callable[..., Any]) -> ArgSpec:
    """Return the names and defaults of a function's arguments.

    Raises:
      ValueError: the function has keyword-only arguments.
    """
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


def join(words: Iterable[str], sep: str = " ") -> str:
    """Join words, as ``string.join`` did."""
    return sep.join(words)


def setdefaultencoding(name: str) -> None:
    """Accept what Python 2 programs say after ``reload(sys)``; text is Unicode now."""
