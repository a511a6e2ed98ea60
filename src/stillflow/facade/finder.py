"""The import hook that serves ``tensorflow`` and every module below it."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any

from stillflow._namespace import is_namespace
from stillflow.facade import callers, internal, names, served
from stillflow.facade.revive.after import after_import

ROOT = "tensorflow"
# Other names under which programs, or editors that complete imports, reach the same modules.
_SYNONYMS = {
    "tensorflow_core": ROOT,
    "tensorflow_estimator.python": "tensorflow.python",
    "tensorflow_estimator": "tensorflow.estimator",
    "tensorflow._api.v1": ROOT,
    "tensorflow._api": ROOT,
}
_FILE = served.__file__
_V1 = "compat.v1"
# Modules that are also run, by `-m`.
_TOOLS = (ROOT + ".python.tools.", ROOT + ".python.debug.cli.")
_LOGGING = "stillflow.platform.tf_logging"
# TensorBoard imports its own stub instead of tensorflow where it finds this module of its own.
_NO_TENSORFLOW = "tensorboard.compat.notf"
# Asked first how a module is served: by a class of modules, or by the module of ours of a name.
overlay: Callable[[str], type[ModuleType] | str | None] | None = None


class Finder:
    """Finder of ``tensorflow`` and its submodules.

    Args:
      shadow: whether to hide a real TensorFlow that is installed, rather than give way to it.
    """

    is_fallback = True  # a program's own files of such a name go first

    def __init__(self, shadow: bool = True) -> None:
        self.shadow = shadow

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of TensorFlow; None for others, and for those who probe."""
        if name == _NO_TENSORFLOW:
            return None if callers.allowed("tensorboard") else _spec(name, _Loader())
        if not name.startswith(ROOT) or name.partition(".")[0] not in (ROOT, *_SYNONYMS):
            return None
        if callers.denied() or (not self.shadow and real_spec() is not None):
            return None
        meant = canonical(name)
        loader = _loader(meant)
        if loader is None:
            return None
        if meant != name:
            loader = _Loader(target=meant)
        is_tool = meant.startswith(_TOOLS) and meant in internal.MODULES
        return _spec(name, loader, is_package=not is_tool)


class InsideFinder:
    """Finder of TensorFlow's internal modules below a public namespace of ours.

    `from tensorflow.contrib.summary import summary` asks the module it got, which is
    stillflow.contrib.summary, for a submodule. The last finder asked.
    """

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of ``stillflow.X`` where only ``tensorflow.X`` was a module."""
        root, _, rest = name.partition(".")
        inside = f"{ROOT}.{rest}"
        if root != "stillflow" or names.internal_module(inside) is None:
            return None
        return _spec(name, _Loader(target=inside))


def _spec(name: str, loader: Any, is_package: bool = True) -> ModuleSpec:
    spec = ModuleSpec(name, loader, origin=_FILE, is_package=is_package)
    spec.has_location = True
    return spec


def canonical(name: str) -> str:
    """Return the name below ``tensorflow`` that a synonym stands for."""
    for synonym, meant in _SYNONYMS.items():
        if name == synonym or name.startswith(synonym + "."):
            return canonical(meant + name[len(synonym) :])
    return name


@functools.cache
def real_spec() -> ModuleSpec | None:
    """Return the spec of a real TensorFlow that is installed here, or None.

    A folder of the program's own may be called tensorflow, too; it is none.
    """
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec(ROOT)
    if spec is None or spec.origin is None:  # a folder that is no package
        return None
    return None if _is_of_program(os.path.dirname(spec.origin)) else spec


def _is_of_program(folder: str) -> bool:
    """Return whether a package lies where the program runs, and does not look like TensorFlow."""
    parent = os.path.dirname(os.path.abspath(folder))
    if parent not in (os.getcwd(), os.path.abspath(sys.path[0] or os.curdir)):
        return False
    inside = (os.path.join(folder, part) for part in ("python", "_api"))
    core = os.path.join(parent, "tensorflow_core")  # of 1.15, next to it
    return not any(map(os.path.isdir, (*inside, core)))


class _Loader:
    """Loader that makes a module of a kind, or substitutes the module named `target`."""

    # Not derived from importlib.abc.Loader: that import alone would take 20 ms.

    def __init__(self, kind: type[ModuleType] = ModuleType, target: str = "") -> None:
        self.kind = kind
        self.target = target

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.kind(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == ROOT:
            module.__doc__ = "TensorFlow 1.15's API, served by Stillflow."
            module.__dict__["__version__"] = importlib.import_module("stillflow").__version__
            after_import(_LOGGING, _make_logger)
            after_import("logging", _load_logging)
        elif self.target:
            meant = importlib.import_module(self.target)
            if not hasattr(meant, "__path__"):
                meant.__path__ = []  # internal modules hang below it
            sys.modules[module.__name__] = meant

    def get_code(self, name: str) -> CodeType | None:
        """Return the code that `python -m` runs, that of our own module."""
        from importlib.util import find_spec

        spec = find_spec(self.target) if self.target else None
        code: CodeType | None = spec.loader.get_code(self.target) if spec else None  # type: ignore[union-attr]
        return code


def _make_logger(logging: ModuleType) -> None:
    # TensorFlow installs its handler at import. Handlers that a program, or absl, configures later
    # are additional, and do not replace the lines that begin with INFO:tensorflow.
    logging.get_logger()


def _load_logging(_: ModuleType) -> None:
    importlib.import_module(_LOGGING)  # it may be what imports `logging` just now


def _loader(name: str) -> _Loader | None:
    """Return the loader of a module below ``tensorflow``; None if TensorFlow had no such module."""
    first = overlay(name) if overlay is not None else None
    if first is not None:
        return _Loader(target=first) if isinstance(first, str) else _Loader(first)
    if name == ROOT:
        return _Loader(served.TensorFlow)
    if name in internal.MODULES:
        return _Loader(target=internal.MODULES[name])
    entry = names.internal_module(name)
    spaces = [_public(name)]
    if entry is not None and entry.alias and name not in internal.OBJECTS:
        spaces.append(entry.alias)
    for space in spaces:
        if _exists(space):
            return _Loader(target=f"stillflow.{space}")
    if entry is not None or _known(spaces[0]) or name in _packages():
        return _Loader(served.Internal)
    return None


@functools.cache
def _packages() -> frozenset[str]:
    """Return the packages of internal modules that are ours."""
    return frozenset(name.rpartition(".")[0] for name in internal.MODULES)


def _public(name: str) -> str:
    """Return the public namespace that a module below ``tensorflow`` would be."""
    for package, space in internal.PACKAGES.items():
        if name == package or name.startswith(package + "."):
            return space + name[len(package) :]
    return name[len(ROOT) + 1 :]


def _known(space: str) -> bool:
    """Return whether TensorFlow or Stillflow has such a public namespace."""
    return is_namespace(space) or space.removeprefix(_V1 + ".") in names.known_spaces()


def _exists(space: str) -> bool:
    """Return whether Stillflow has a module for a public namespace."""
    if not _known(space):
        return False
    from importlib.util import find_spec

    try:
        spec = find_spec(f"stillflow.{space}")
    except ModuleNotFoundError:  # not even a package above it
        return False
    return spec is not None and not isinstance(spec.loader, _Loader)  # not InsideFinder's
