"""Do something to a module as soon as it has been imported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Action = Callable[[ModuleType], None]
_actions: dict[str, list[Action]] = {}
_looking: set[str] = set()


def after_import(name: str, action: Action) -> None:
    """Call `action` with the module `name`: now, if it is imported, otherwise when it has been."""
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    if module is not None and not getattr(spec, "_initializing", False):
        action(module)
        return
    _actions.setdefault(name, []).append(action)
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


class _Finder:
    """Finder that finds awaited modules as usual, and has their loader call us when it is done."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _actions or name in _looking:
            return None
        _looking.add(name)
        try:
            spec = _find_elsewhere(name, path, target)
        finally:
            _looking.discard(name)
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Then(spec.loader)  # type: ignore[assignment]
        return spec


def _find_elsewhere(
    name: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    for finder in sys.meta_path:
        find_spec = getattr(finder, "find_spec", None)
        spec: ModuleSpec | None = find_spec(name, path, target) if find_spec is not None else None
        if spec is not None:
            return spec
    return None


class _Then:
    """Loader that does as another one does, and then calls the functions that await the module."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        for action in _actions.pop(module.__name__, ()):
            action(module)
