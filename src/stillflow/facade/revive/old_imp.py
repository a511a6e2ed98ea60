"""The module ``imp``, on importlib."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.util import cache_from_source, source_from_cache
from types import ModuleType
from typing import IO, Any

__all__ = [
    "C_EXTENSION",
    "PKG_DIRECTORY",
    "PY_COMPILED",
    "PY_SOURCE",
    "acquire_lock",
    "cache_from_source",
    "find_module",
    "get_magic",
    "get_suffixes",
    "get_tag",
    "load_compiled",
    "load_dynamic",
    "load_module",
    "load_package",
    "load_source",
    "lock_held",
    "new_module",
    "release_lock",
    "reload",
    "source_from_cache",
]

PY_SOURCE, PY_COMPILED, C_EXTENSION, PKG_DIRECTORY = 1, 2, 3, 5
reload = importlib.reload


def new_module(name: str) -> ModuleType:
    """Return an empty module that is not registered anywhere."""
    return ModuleType(name)


def get_magic() -> bytes:
    """Return the magic number of compiled files."""
    return importlib.util.MAGIC_NUMBER


def get_tag() -> str | None:
    """Return the tag of compiled files."""
    return sys.implementation.cache_tag


def get_suffixes() -> list[tuple[str, str, int]]:
    """Return (suffix, mode to open the file, kind) of every kind of module."""
    machinery = importlib.machinery
    return [
        *((suffix, "rb", C_EXTENSION) for suffix in machinery.EXTENSION_SUFFIXES),
        *((suffix, "r", PY_SOURCE) for suffix in machinery.SOURCE_SUFFIXES),
        *((suffix, "rb", PY_COMPILED) for suffix in machinery.BYTECODE_SUFFIXES),
    ]


def lock_held() -> bool:
    """Return False: imports are locked module by module now."""
    return False


def acquire_lock() -> None:
    """Do nothing: imports are locked module by module now."""


def release_lock() -> None:
    """Do nothing: imports are locked module by module now."""


def find_module(
    name: str, path: Sequence[str] | None = None
) -> tuple[IO[Any] | None, str, tuple[str, str, int]]:
    """Return (open file, path, (suffix, mode, kind)) of a module."""
    for folder in sys.path if path is None else path:
        package = os.path.join(folder, name)
        if os.path.isfile(os.path.join(package, "__init__.py")):
            return None, package, ("", "", PKG_DIRECTORY)
        for suffix, mode, kind in get_suffixes():
            if os.path.isfile(package + suffix):
                return open(package + suffix, mode), package + suffix, (suffix, mode, kind)
    raise ImportError(f"No module named {name!r}", name=name)


def load_source(name: str, pathname: str, file: IO[Any] | None = None) -> ModuleType:
    """Load a module from a source file, once more if it is loaded already."""
    return _load(name, importlib.machinery.SourceFileLoader(name, pathname), pathname)


def load_compiled(name: str, pathname: str, file: IO[Any] | None = None) -> ModuleType:
    """Load a module from a compiled file."""
    return _load(name, importlib.machinery.SourcelessFileLoader(name, pathname), pathname)


def load_dynamic(name: str, path: str, file: IO[Any] | None = None) -> ModuleType:
    """Load an extension module."""
    return _load(name, importlib.machinery.ExtensionFileLoader(name, path), path)


def load_package(name: str, path: str) -> ModuleType:
    """Load a package from its folder."""
    source = os.path.join(path, "__init__.py")
    return _load(name, importlib.machinery.SourceFileLoader(name, source), source, [path])


def load_module(
    name: str, file: IO[Any] | None, filename: str, details: tuple[str, str, int]
) -> ModuleType:
    """Load the result of `find_module`."""
    loaders: dict[int, Any] = {
        PY_SOURCE: load_source,
        PY_COMPILED: load_compiled,
        C_EXTENSION: load_dynamic,
        PKG_DIRECTORY: load_package,
    }
    if details[2] not in loaders:
        raise ImportError(f"Don't know how to import {name} (type code {details[2]})", name=name)
    module: ModuleType = loaders[details[2]](name, filename)
    return module


def _load(name: str, loader: Any, path: str, search: list[str] | None = None) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        name, path, loader=loader, submodule_search_locations=search
    )
    assert spec is not None
    module = sys.modules.get(name) or importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return sys.modules[name]
