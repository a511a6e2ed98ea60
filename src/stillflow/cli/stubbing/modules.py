"""Stub files of `tensorflow`: the public namespaces, and the internal modules that programs import.

Each public function and class is defined once, in the namespace of its shortest name; its other
names import that one. Internal modules are made of the tables of the facade.
"""

from __future__ import annotations

import importlib
import inspect
import keyword
import types as kinds
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

from stillflow import _namespace
from stillflow._home import is_our_module
from stillflow.cli.stubbing import messages
from stillflow.cli.stubbing.annotations import Annotations
from stillflow.cli.stubbing.classes import class_text, value_text
from stillflow.cli.stubbing.signatures import function_text
from stillflow.facade import internal, names
from stillflow.facade.lookup import resolve

HEADER = """\
# Written by `python -m stillflow stubs`.
# mypy: ignore-errors
# pyright: basic, reportSelfClsParameterName=false
"""
_OPEN = "def __getattr__(name: str) -> _t.Any: ...\n"
_ROOT = "tensorflow"


class Stubs:
    """All stub files of the package `tensorflow`.

    Attributes:
      values: the public names of each namespace with their values.
      homes: where each public class and function is defined, by its identity.
      classes: those of classes.
    """

    def __init__(self) -> None:
        self.values: dict[str, dict[str, Any]] = {
            space: dict(_members(space)) for space in sorted(_spaces())
        }
        self.homes: dict[int, str] = {}
        self.classes: dict[int, str] = {}
        for space in sorted(self.values, key=_rank):
            for name, value in self.values[space].items():
                if _is_defined(value) and id(value) not in self.homes:
                    self.homes[id(value)] = names.join(_full(space), name)
                    if inspect.isclass(value):
                        self.classes[id(value)] = self.homes[id(value)]
        self.messages = messages.homes(self.classes)

    def files(self) -> dict[str, str]:
        """Return the text of each stub file, by its path below the folder of stubs."""
        texts = {_full(space): self._namespace(space) for space in self.values}
        for alias, meant in _aliases(self.values):
            hidden = [x for x in self.values[meant] if x.startswith("_")]  # from the star
            texts.setdefault(_full(alias), "".join(
                f"from {_full(meant)} import {x}\n" for x in ("*", *(f"{x} as {x}" for x in hidden))
            ))  # fmt: skip
        texts[messages.PROTOBUF] = messages.common_text()
        for module, contents in messages.files().items():
            texts[module] = self._protos(module, contents)
        for module in [*names.internal_modules(), *internal.MODULES, *internal.OBJECTS]:
            module = f"{_ROOT}.{module}" if not module.startswith(_ROOT) else module
            if module not in texts:
                texts[module] = self._internal(module)
        for module in list(texts):
            while module := module.rpartition(".")[0]:
                texts.setdefault(module, f"import typing as _t\n{_OPEN}")
        return {_path(module): f"{HEADER}{text}" for module, text in texts.items()}

    def _namespace(self, space: str) -> str:
        lines, types = [], Annotations(self.classes, self.messages)
        for name in sorted(_inside(space, self.values)):
            lines.append(f"from {_full(space)} import {name} as {name}\n")
        for name, value in sorted(self.values[space].items()):
            lines.append(self._member(_full(space), name, value, types))
        if space in _namespace._DYNAMIC:
            lines.append(_OPEN)
        return "".join([*(f"{x}\n" for x in sorted(types.imports)), *lines])

    def _member(self, module: str, name: str, value: Any, types: Annotations) -> str:
        home = self.homes.get(id(value))
        if home is not None and home != f"{module}.{name}":
            space, _, public = home.rpartition(".")
            if space == module:
                return f"{name} = {public}\n"
            return f"from {space} import {public} as {name}\n"
        if isinstance(value, kinds.ModuleType):
            return f"{name}: _t.Any\n"
        if inspect.isclass(value):
            return class_text(name, value, types)
        return function_text(name, value, types) if _is_defined(value) else (
            value_text(name, value, types)
        )  # fmt: skip

    def _all(self, space: str, but: Mapping[str, Any]) -> Iterator[str]:
        """Yield the imports of all names of a namespace but some that a module defines itself."""
        if not but.keys() & self.values[space].keys():
            yield f"from {_full(space)} import *\n"
            return
        for name in {**dict.fromkeys(sorted(_inside(space, self.values))), **self.values[space]}:
            if name not in but:
                yield f"from {_full(space)} import {name} as {name}\n"

    def _protos(self, module: str, contents: Mapping[str, Any]) -> str:
        """Return the stub of a file of messages."""
        lines, types = [], Annotations(self.classes, self.messages)
        for name, value in contents.items():
            if messages.is_message(value):
                lines.append(self._member(module, name, value, types))
            elif isinstance(value, int):
                lines.append(f"{name}: {types.builtin('int')}\n")
            elif isinstance(value, EnumTypeWrapper):
                lines.append(messages.enum_text(name, (), types))
            else:
                lines.append(f"{name}: _t.Any\n")
        return "".join([*(f"{x}\n" for x in sorted(types.imports)), *lines])

    def _internal(self, module: str) -> str:
        """Return the stub of an internal module; names that no table has are of any type."""
        types = Annotations(self.classes, self.messages)
        entry = names.internal_module(module) or names.InternalModule()
        spaces = [x for x in (*entry.spaces, entry.alias) if x in self.values]
        found = {name: resolve(public) for name, public in entry.names.items()}
        if module in internal.MODULES:
            found.update(_own(internal.MODULES[module]))
        for name, target in internal.OBJECTS.get(module, {}).items():
            for home in target.split() if name == "*" else ():
                found = {**_own(home), **found}
            path, _, attribute = target.partition(":")
            if attribute and name != "*":
                found[name] = getattr(_imported(path), attribute, None)
        own = {
            name: value for name, value in sorted(found.items())
            if _is_name(name) and (_is_defined(value) or id(value) in self.homes)
        }  # fmt: skip
        lines = [text for space in spaces if space is not None for text in self._all(space, own)]
        lines += [self._member(module, name, value, types) for name, value in own.items()]
        return "".join([*(f"{x}\n" for x in sorted(types.imports)), *lines, _OPEN])


def _own(module: str) -> dict[str, Any]:
    """Return what a module of ours defines for a module of TensorFlow that it stands for."""
    found = _imported(module)
    return {
        name: value
        for name, value in ({} if found is None else _namespace.held(found)).items()
        if not name.startswith("_")
        and _is_defined(value)
        and is_our_module(str(getattr(value, "__module__", "")))
    }


def _imported(module: str) -> kinds.ModuleType | None:
    """Import a module of ours; None if it needs an optional package that is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


def _is_defined(value: Any) -> bool:
    """Return True for classes and functions, which have one home; values are declared anywhere."""
    if isinstance(value, kinds.ModuleType):
        return False
    if inspect.isclass(value) or inspect.isroutine(value):
        return True
    is_wrapper = "__wrapped__" in getattr(type(value), "__dict__", {}) or isinstance(value, partial)
    return callable(value) and (is_wrapper or type(value).__name__.endswith("Function"))


def _is_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _spaces() -> Iterator[str]:
    for space in _namespace.namespaces():
        if space not in _namespace._ALIASES:
            yield space


def _members(space: str) -> Iterator[tuple[str, Any]]:
    """Yield the public names of a namespace that are no namespaces, with their values."""
    module = importlib.import_module(f"stillflow.{space}".rstrip("."))
    special = [x for x in _namespace.public_names() if x.rpartition(".")[2].startswith("_")]
    own = [x.rpartition(".")[2] for x in special if x.rpartition(".")[0] == space]
    for name in (*dir(module), *own):
        path = names.join(space, name)
        if not _namespace.is_namespace(path) and _is_name(name):
            yield name, getattr(module, name)


def _inside(space: str, spaces: dict[str, Any]) -> set[str]:
    module = importlib.import_module(f"stillflow.{space}".rstrip("."))
    return {
        name
        for name in dir(module)
        if _namespace.is_namespace(names.join(space, name)) and name not in spaces[space]
    }


def _aliases(spaces: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the other names of namespaces, with those below them: "compat.v1.nn", "nn"."""
    for alias, meant in _namespace._ALIASES.items():
        meant = _namespace._canonical(meant)
        for space in spaces:
            if not meant and space.startswith("compat.v1"):
                continue
            if space == meant or not meant or space.startswith(f"{meant}."):
                rest = space[len(meant) :].lstrip(".")
                yield (names.join(alias, rest) if rest else alias), space
    for space in spaces:
        if _namespace.is_namespace(f"compat.v2.{space}") and not space.startswith("compat"):
            yield f"compat.v2.{space}", space


def _rank(space: str) -> tuple[bool, bool, int, str]:
    return space.startswith("compat"), space.startswith("contrib"), space.count("."), space


def _full(space: str) -> str:
    return f"{_ROOT}.{space}".rstrip(".")


def _path(module: str) -> str:
    return f"{module.replace('.', '/')}/__init__.pyi"
