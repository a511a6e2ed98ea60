"""Names that TensorFlow 1.15 deprecates, and the notices that it logs, from `deprecated.txt`.

A public function has its notices from when a program asks for it: the package's own calls bypass
them. So do a class's members; those of classes that programs have objects of without naming them
have the decorator `noticed`, and functions whose home is the module of their public name.
"""

from __future__ import annotations

import os
from functools import cache
from types import FunctionType

from stillflow._namespace import with_notices as of_public_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    _Method = TypeVar("_Method", bound=Callable[..., Any])

_Row = list[str]  # the arguments as JSON, TensorFlow's name and module, date, instructions
_COPIED = ("__kwdefaults__", "__doc__", "__annotations__")


@cache
def rows() -> dict[str, tuple[str, ...]]:
    """Return the lines of each public name, the outermost decorator's first."""
    found: dict[str, tuple[str, ...]] = {}
    folder = os.path.dirname(os.path.dirname(__file__))
    with open(os.path.join(folder, "deprecated.txt"), encoding="utf-8") as file:
        for line in file:
            names, _, row = line.partition("\t")
            for name in names.split(" "):
                found[name] = (*found.get(name, ()), row)
    return found


def with_notices(path: str, value: Any) -> Any:
    """Return the object of a public name as a function, or a class, that logs its notices."""
    made = _with_notices(value, rows()[path]) if path in rows() else value
    if made is not value and made.__module__ != "stillflow":
        made.__module__, made.__qualname__ = "stillflow", path  # where pickle finds it
    return made


def noticed(path: str) -> Callable[[_Method], _Method]:
    """Return a decorator with the notices of a public function, or of this method of a class."""
    return lambda function: _decorated(function, _split(rows()[path], function.__name__))


@cache
def _with_notices(value: Any, lines: tuple[str, ...]) -> Any:
    if not isinstance(value, type):
        return _decorated(value, _split(lines))
    for name in {row[1].rpartition(".")[2] for row in _split(lines)}:
        member, own = getattr(value, name, None), _split(lines, name)
        member = vars(value).get(name, member)
        if "_noticed" in getattr(member, "__dict__", {}):
            continue
        kind: Any = type(member)
        if kind is property:
            setattr(value, name, property(_decorated(member.fget, own), member.fset))
        elif kind in (staticmethod, classmethod):
            setattr(value, name, kind(_decorated(member.__func__, own)))
        elif member is not None:
            setattr(value, name, _decorated(member, own))
    return value


def _split(lines: Iterable[str], name: str = "") -> list[_Row]:
    """Return the fields of lines, or of those about a function or method of this name."""
    fields = [line.rstrip("\n").split("\t") for line in lines]
    return [row for row in fields if name in ("", row[1].rpartition(".")[2])]


def _decorated(function: Any, notices: list[_Row]) -> Any:
    """Return a function that logs notices when it is called; the function itself is left alone."""
    import json

    from stillflow.util import deprecation

    if not isinstance(function, FunctionType):
        return function
    function = vars(function).get("_noticed", function)
    while (
        "_tf_decorator" in vars(function) and function._tf_decorator.decorator_name == "deprecated"
    ):
        function = function._tf_decorator.decorated_target  # contrib's own: they say the same
    made: Any = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__,
        function.__closure__,
    )  # fmt: skip
    for name in _COPIED:
        setattr(made, name, getattr(function, name))
    made.__dict__.update(vars(function), _noticed=function)
    for about, made.__qualname__, made.__module__, day, text in reversed(notices):
        inner, date, text, about = made, day or None, text.replace("\\n", "\n"), json.loads(about)
        if about is None:
            made = deprecation.deprecated(date, text)(inner)
        elif isinstance(about, dict):
            made = deprecation.deprecated_arg_values(date, text, **about)(inner)
        else:
            fine = (name if isinstance(name, str) else tuple(name) for name in about)
            made = deprecation.deprecated_args(date, text, *fine)(inner)
        for each in (inner, made):  # the notice has the names that they had
            each.__module__, each.__qualname__ = function.__module__, function.__qualname__
    return made


of_public_names.provide(with_notices)
