"""The modules below ``tensorflow`` that answer with names of 0.x before those of 1.15."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from stillflow._renamed import SUCCESSORS
from stillflow.facade import names
from stillflow.facade import served as today
from stillflow.facade.lookup import MISSING, resolve
from stillflow.facade.tf0.reordered import reordered
from stillflow.facade.tf0.tables import MODULES, OWN, PACKAGES, REORDERED, SPACES

_ROOT = "tensorflow"
_OPS = "tensorflow.python.ops."


def kind(name: str) -> type[ModuleType] | str | None:
    """Return how a module is served: a class of modules, or the name of one of ours.

    None where 0.x does not differ.
    """
    if name in MODULES:
        return MODULES[name]
    if name in PACKAGES:
        return ModuleType
    if name == _ROOT:
        return _TensorFlow
    space = name[len(_ROOT) + 1 :]
    if space in SPACES:
        return _Namespace
    if name == "tensorflow.python" or name.startswith(_OPS):
        return _Internal
    return None


def old(public: str) -> Any:
    """Return the object that a public name meant in 0.x, MISSING where it means the same today."""
    if public in OWN:
        path, _, attribute = OWN[public].partition(":")
        module = importlib.import_module(path)
        return getattr(module, attribute) if attribute else module
    if public in REORDERED:
        return reordered(public, resolve(REORDERED[public][0]))
    if public in SUCCESSORS:
        return resolve(SUCCESSORS[public])
    return MISSING


class _TensorFlow(today.TensorFlow):
    """The module ``tensorflow``."""

    def __getattr__(self, name: str) -> Any:
        value = old(name)
        if value is MISSING and name in SPACES:
            value = importlib.import_module(f"{_ROOT}.{name}")
        if value is MISSING:
            return super().__getattr__(name)
        self.__dict__[name] = value
        return value


class _Namespace(ModuleType):
    """A public namespace such as ``tensorflow.nn``."""

    __stillflow__ = True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        space = self.__name__[len(_ROOT) + 1 :]
        value = old(f"{space}.{name}")
        if value is MISSING:
            value = getattr(importlib.import_module(f"stillflow.{space}"), name)
        self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        space = self.__name__[len(_ROOT) + 1 :]
        return sorted({*self.__dict__, *dir(importlib.import_module(f"stillflow.{space}"))})


class _Internal(today.Internal):
    """``tensorflow.python`` and the modules of its operations."""

    def __getattr__(self, name: str) -> Any:
        value: Any = MISSING
        if self.__name__ == "tensorflow.python":
            inside = _OPS + name  # `from tensorflow.python import control_flow_ops`
            if names.internal_module(inside) is not None:
                value = importlib.import_module(inside)
        for space in ("", "nn.", "image.") if value is MISSING else ():
            value = old(space + name)
            if value is not MISSING:
                break
        if value is MISSING:
            return super().__getattr__(name)
        self.__dict__[name] = value
        return value
