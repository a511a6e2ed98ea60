"""Submodules that were loaded as soon as TensorFlow was, and are used without being imported."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from stillflow.facade.revive.after import after_import

# {package: submodules that `import tensorflow` imported, and Python alone does not}
SUBMODULES = {
    "multiprocessing": {"pool"}, "xml": {"dom", "sax"}, "xml.dom": {"minidom"},
    "xml.sax": {"handler", "saxutils", "xmlreader"},
}  # fmt: skip


def activate() -> None:
    """Load each when a program first asks its package for it."""
    for package in SUBMODULES:
        after_import(package, _answer)


def _answer(package: ModuleType) -> None:
    names = SUBMODULES[package.__name__]
    before = package.__dict__.get("__getattr__")

    def __getattr__(name: str) -> Any:
        if name in names:
            return importlib.import_module(f"{package.__name__}.{name}")
        if before is not None:
            return before(name)
        raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}")

    package.__dict__["__getattr__"] = __getattr__
