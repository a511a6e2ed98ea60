"""Object behind a public name, and the operations and calls of its code."""

from __future__ import annotations

import contextlib
import dis
import functools
import importlib
import inspect
import sys
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from stillflow import _namespace
from stillflow._home import is_our_module
from stillflow.cli.locating.cards import Place, place_of_card, shown
from stillflow.cli.locating.places import place_of
from stillflow.facade.lookup import MISSING, lookup
from stillflow.facade.names import internal_module
from stillflow.graph import card
from stillflow.graph.lazy import LazyModule

_WITHOUT_OPERATIONS = tuple(
    f"stillflow.{name}" for name in ("graph", "files", "protos", "errors", "util", "platform")
)
_ROOTS = ("tf.", "tensorflow.", "stillflow.")


class Unknown(Exception):
    """A name that is not served.

    Attributes:
      asked: the name.
      known: those that might have been meant.
    """

    def __init__(self, asked: str, known: Iterable[str]) -> None:
        super().__init__(asked)
        self.asked, self.known = asked, list(known)


@dataclass(frozen=True)
class Served:
    """The object behind a name: its place, and the operations and calls of its code.

    Attributes:
      name: the name as TensorFlow spells it.
      place: where it is defined.
      kind: "function", "class", "operation", "module" or "value".
      operations: those that its code makes itself, public functions that it calls aside.
      calls: those public functions and classes.
    """

    name: str
    place: Place
    kind: str
    operations: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


def served(name: str) -> Served:
    """Find the object of a public name, an internal name of TensorFlow, or an operation.

    Unknown if nothing serves it.
    """
    path = name
    for root in _ROOTS:
        path = path.removeprefix(root)
    if path == name and card.find(name) is not None:
        return Served(name, place_of_card(name), "operation")
    value, public = _value(path), f"tf.{path}"
    if isinstance(value, types.ModuleType):
        file = getattr(value, "__file__", None)
        place = Place(shown(file) if file else _namespace.table_of(path), 0)
        return Served(public, place, "module")
    operations, calls = _made_and_called(value)
    kind = "class" if inspect.isclass(value) else "function" if callable(value) else "value"
    return Served(public, place_of(path, value), kind, operations, calls)


def _value(path: str) -> Any:
    """Return the object of a public name, or of an internal one that the facade serves."""
    if _namespace.provides(path):
        space, _, leaf = path.rpartition(".")
        module = importlib.import_module(".".join(filter(None, ["stillflow", space])))
        return getattr(module, leaf)
    owner, _, member = path.rpartition(".")
    if _namespace.target(owner) is not None and hasattr(of := _value(owner), member):
        found = inspect.getattr_static(of, member) if inspect.isclass(of) else getattr(of, member)
        return getattr(found, "__func__", found)
    inside, _, leaf = f"tensorflow.{path}".rpartition(".")
    if internal_module(inside) is not None:
        value = lookup(inside, leaf)
        if value is not MISSING:
            return value
    raise Unknown(path, _namespace.public_names())


@dataclass
class _Reader:
    """Reader of code and the functions it calls, up to public ones and other packages'."""

    start: Any
    operations: dict[str, None] = field(default_factory=dict)
    calls: dict[str, None] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)

    def read(self, value: Any) -> None:
        """Take in one object that code names."""
        if id(value) in self.seen:
            return
        self.seen.add(id(value))
        if isinstance(value, card.Card):
            self.operations[value.name] = None
        elif value is not self.start and (public := _public_name(value)):
            if _makes_operations(value.__module__):
                self.calls[f"tf.{public}"] = None
        elif inspect.isclass(value) and _makes_operations(value.__module__):
            for member in vars(value).values():
                self.read(member)
        elif isinstance(value, (classmethod, staticmethod)):
            self.read(value.__func__)
        elif isinstance(value, property):
            self.read(value.fget)
        elif callable(value) and hasattr(value, "__wrapped__"):
            self.read(inspect.unwrap(value))
        elif isinstance(value, types.FunctionType) and _makes_operations(value.__module__):
            for named in (*_named(value.__code__, value.__globals__), *_enclosed(value)):
                self.read(named)


def _makes_operations(module: str | None) -> bool:
    """Return whether code of this module is read: not that of types, shapes, scopes and files."""
    return is_our_module(module) and not str(module).startswith(_WITHOUT_OPERATIONS)


def _enclosed(function: types.FunctionType) -> Iterator[Any]:
    """Yield the values that a function has taken along from the one that made it."""
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # not set yet
            yield cell.cell_contents


def _named(code: types.CodeType, names: dict[str, Any]) -> Iterator[Any]:
    """Yield the values of global names, and of attributes of global modules, that code mentions."""
    module: Any = None
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = names.get(step.argval)
            module = value if _is_module(value) else None
            yield value
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and module is not None:
            value = getattr(module, step.argval, None)
            module = value if _is_module(value) else None
            yield value
        else:
            module = None
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _named(constant, names)


def _is_module(value: Any) -> bool:
    """Return whether a value is a module, or one of ours that is imported on demand."""
    if isinstance(value, LazyModule):
        return is_our_module(value._name)
    return isinstance(value, types.ModuleType)


def _made_and_called(value: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    reader = _Reader(value)
    reader.read(value)
    return tuple(sorted(reader.operations)), tuple(sorted(reader.calls))


def _public_name(value: Any) -> str | None:
    """Return the shortest public name of a function or class."""
    return _public_objects(len(sys.modules)).get(id(value))


@functools.lru_cache(maxsize=1)
def _public_objects(modules: int) -> dict[int, str]:
    """Return public names by the identity of their objects, for the modules imported so far."""
    found: dict[int, str] = {}
    table = _namespace.public_names()
    second = ("compat.", "contrib.")
    for name in sorted(table, key=lambda name: (name.startswith(second), name.count("."), name)):
        module, _, leaf = table[name].partition(":")
        # Modules that are not imported yet are not called by code that is.
        held = sys.modules.get(_namespace.absolute(module))
        value = getattr(held, leaf, None) if held is not None else None
        if inspect.isclass(value) or isinstance(value, types.FunctionType):
            found.setdefault(id(value), name)
    return found
