"""The places in the sources of what public names stand for."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from stillflow import _namespace
from stillflow._home import is_our_module
from stillflow.cli.locating.cards import Place, shown

# The table of messages has a line for each public name; other tables and marks name the object.
_MESSAGES = "stillflow.protos.public"


def place_of(path: str, value: Any) -> Place:
    """Return where a value of a public name, without "tf.", is defined.

    A function or class of ours has its definition; a constant, a message, and what another library
    defines or a function makes have the line that makes the name public.
    """
    target = _namespace.target(path)
    if isinstance(value, property):
        value = value.fget
    plain = inspect.unwrap(value) if callable(value) else value
    if target is None or not _is_made_elsewhere(plain, target):
        if isinstance(plain, FunctionType):
            return Place(shown(plain.__code__.co_filename), plain.__code__.co_firstlineno)
        try:
            file, line = inspect.getsourcefile(plain), inspect.getsourcelines(plain)[1]
            if file:
                return Place(shown(file), max(line, 1))
        except (TypeError, OSError):
            pass  # a constant, or a class that no source defines
    module, _, name = (target or f"{type(value).__module__}:").partition(":")
    return _place_in(_MESSAGES if module == "protos" else _namespace.absolute(module), name, path)


def _is_made_elsewhere(value: Any, target: str) -> bool:
    """Return whether another library defines a value, or a function of ours that makes such."""
    module = getattr(value, "__module__", None)
    if not is_our_module(module):
        return True
    made = getattr(value, "__closure__", None) is not None
    return made and module != _namespace.absolute(target.partition(":")[0])


def _place_in(module: str, name: str, path: str) -> Place:
    """Return the line of a module that binds a name, makes it public or lists it; else line 1."""
    if (loaded := sys.modules.get(module)) is not None:
        file = getattr(loaded, "__file__", None)
    else:
        spec = importlib.util.find_spec(module)
        file = spec.origin if spec is not None else None
    if not file:
        return Place(module, 0)
    with open(file, encoding="utf-8") as source:
        text = source.read()
    return Place(shown(file), next(_lines(text, name, path), 1))


def _lines(text: str, name: str, path: str) -> Iterator[int]:
    """Yield lines: a statement that binds the name, the public name as a string, the name."""
    for statement in ast.parse(text).body:
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        bound = {node.id for target in targets if target for node in ast.walk(target)
                 if isinstance(node, ast.Name)}  # fmt: skip
        if name in bound or name == getattr(statement, "name", None):
            yield statement.lineno
    for number, line in enumerate(text.splitlines(), 1):
        if f'"{path}"' in line:
            yield number
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(rf"\b{re.escape(name)}\b", line):
            yield number
