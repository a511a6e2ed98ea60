"""What is called as it is: libraries that work on tensors already, and Python's own modules."""

from __future__ import annotations

import functools
import inspect
import sys
import unittest
from typing import Any

from stillflow.autograph.verbosity import log, warn

_LIBRARIES = frozenset({
    "collections", "copy", "cProfile", "inspect", "ipdb", "linecache", "mock", "numpy", "pathlib",
    "pdb", "posixpath", "pstats", "re", "stillflow", "tensorflow", "tensorflow_probability",
    "threading", "torch",
}) | sys.stdlib_module_names  # fmt: skip
_PREFIXES = ("tensorflow_datasets.core",)


def is_allowed(entity: Any, may_be_instance: bool = True) -> bool:
    """Whether something is called as it is, without a conversion.

    Args:
      entity: what is called, or a class.
      may_be_instance: whether an object may be looked at by its method `__call__`.
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
    code_globals = getattr(entity, "__globals__", None)
    if code_globals is not None:
        names.append(code_globals.get("__name__"))
    return any(isinstance(name, str) and _is_library(name) for name in names)


def _is_library(module: str) -> bool:
    if module == "__main__":
        return False
    return module.split(".")[0] in _LIBRARIES or module.startswith(_PREFIXES)


def _method_allowed(method: Any) -> bool:
    """A method that a class of a library defines is allowed, wherever it is bound."""
    owner = method.__self__ if inspect.isclass(method.__self__) else type(method.__self__)
    if issubclass(owner, unittest.TestCase):
        return True
    name = method.__func__.__name__
    for kind in owner.__mro__:
        if vars(kind).get(name) is not None:
            return is_allowed(kind, may_be_instance=False)
    return False


def is_named_tuple(kind: type) -> bool:
    """Whether a class is a named tuple, and not one that adds methods to it."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields") and tuple in kind.__bases__
