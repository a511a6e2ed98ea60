"""The modules that are served under the name ``tensorflow``."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from stillflow._api import TABLE
from stillflow._missing import missing
from stillflow.facade import names
from stillflow.facade.internal import OBJECTS
from stillflow.facade.lookup import MISSING, listing, lookup


class TensorFlow(ModuleType):
    """The module ``tensorflow`` itself: the public API, and the internal packages below it."""

    __stillflow__ = True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__" and name not in TABLE:
            raise AttributeError(f"module 'tensorflow' has no attribute {name!r}")
        try:
            value = getattr(importlib.import_module("stillflow"), name)
        except AttributeError as error:
            value = _internal(name)
            if value is MISSING:
                value = missing(str(error), self, name)
        if name != "__all__":
            self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *dir(importlib.import_module("stillflow"))})


class Internal(ModuleType):
    """An internal module; every attribute that is not yet set is looked up."""

    __stillflow__ = True

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return listing(self.__name__)
        if name.startswith("__") and name not in OBJECTS.get(self.__name__, ()):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = lookup(self.__name__, name)
        if value is MISSING:
            value = missing(
                f"module {self.__name__!r} has no attribute {name!r}: "
                f"{self.__name__}.{name} is not supported by Stillflow yet",
                self,
                name,
            )
        self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *listing(self.__name__)})


def _internal(name: str) -> Any:
    """Return an internal package that TensorFlow showed as an attribute, or MISSING."""
    if name == "pywrap_tensorflow":
        return importlib.import_module("tensorflow.python.pywrap_tensorflow")
    if names.internal_module(f"tensorflow.{name}") is not None:
        return importlib.import_module(f"tensorflow.{name}")
    return MISSING
