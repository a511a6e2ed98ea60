"""Functions called without conversion: libraries that work on tensors, and Python's own modules."""

from __future__ import annotations

import functools
import inspect
import os
import unittest
from types import FrameType
from typing import Any

from stillflow.autograph.verbosity import log, warn

_LIBRARIES = (
    "collections", "copy", "cProfile", "inspect", "ipdb", "linecache", "mock", "numpy", "pathlib",
    "pdb", "posixpath", "pstats", "re", "stillflow", "stillflow_contrib", "tensorflow",
    "tensorflow_datasets.core", "tensorflow_probability", "threading", "torch",
)  # fmt: skip
_OF_PYTHON = os.path.dirname(os.__file__) + os.sep
_INSTALLED = tuple(_OF_PYTHON + name + os.sep for name in ("site-packages", "dist-packages"))


def is_allowed(entity: Any, may_be_instance: bool = True) -> bool:
    """Return True if an object or class is called as it is, without a conversion.

    `may_be_instance` has an object looked at by its method `__call__`.
    """
    if _of_library(entity):
        log(2, "Whitelisted: %s: by its module", entity)
        return True
    if inspect.isgeneratorfunction(entity):
        warn(
            "Entity %s appears to be a generator function. It will not be converted by AutoGraph.",
            entity,
        )
        return True
    if inspect.ismethod(entity):
        return _method_allowed(entity)
    called = getattr(entity, "__call__", None)  # noqa: B004
    if may_be_instance and inspect.ismethod(called) and not inspect.isclass(entity):
        return is_allowed(called) or is_named_tuple(type(entity))
    return inspect.isclass(entity) and is_named_tuple(entity)


def _of_library(entity: Any) -> bool:
    if isinstance(entity, functools.partial):
        return False
    names = [getattr(entity, "__module__", None)]
    code = getattr(entity, "__code__", None)
    if code is not None:
        if _is_python_s_own(code.co_filename):
            return True
        names.append(getattr(entity, "__globals__", {}).get("__name__"))
    return any(isinstance(name, str) and _is_library(name) for name in names)


def is_of_library(frame: FrameType) -> bool:
    """Return True if a frame is of a library that works on tensors, or of Python itself."""
    name = str(frame.f_globals.get("__name__"))
    return _is_python_s_own(frame.f_code.co_filename) or _is_library(name)


def _is_library(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in _LIBRARIES)


def _is_python_s_own(filename: str) -> bool:
    if filename.startswith("<frozen "):
        return True
    return filename.startswith(_OF_PYTHON) and not filename.startswith(_INSTALLED)


def _method_allowed(method: Any) -> bool:
    """Return a method that a class of a library defines is allowed, wherever it is bound."""
    owner = method.__self__ if inspect.isclass(method.__self__) else type(method.__self__)
    if issubclass(owner, unittest.TestCase):
        return True
    name = getattr(method.__func__, "__name__", None)
    for kind in owner.__mro__:
        if vars(kind).get(name) is not None:  # type: ignore[arg-type]
            return is_allowed(kind, may_be_instance=False)
    return False


def is_named_tuple(kind: type) -> bool:
    """Return True if a class is a named tuple, and not one that adds methods to it."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields") and tuple in kind.__bases__
