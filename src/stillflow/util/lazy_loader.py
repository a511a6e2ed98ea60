"""Modules imported when they are first used: ``tensorflow.python.util.lazy_loader``."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from stillflow.platform import tf_logging


class LazyLoader(ModuleType):
    """Stands for a module until something is asked of it; then the module takes its place.

    Args:
      local_name: the name under which its user knows the module.
      parent_module_globals: the names of its user, where the module takes that place.
      name: the full name of the module.
      warning: what to log when it is imported.
    """

    def __init__(
        self,
        local_name: str,
        parent_module_globals: dict[str, Any],
        name: str,
        warning: str | None = None,
    ) -> None:
        super().__init__(name)
        self._local_name = local_name
        self._parent_module_globals = parent_module_globals
        self._warning = warning

    def _load(self) -> ModuleType:
        module = importlib.import_module(self.__name__)
        if self._warning:
            tf_logging.warning(self._warning)
            self._warning = None
        self._parent_module_globals[self._local_name] = module
        self.__dict__.update(module.__dict__)  # for those who hold this object
        return module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)

    def __dir__(self) -> list[str]:
        return dir(self._load())
