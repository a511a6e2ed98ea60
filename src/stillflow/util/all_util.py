"""``tensorflow.python.util.all_util``: a module shows the names that its docstring mentions."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from types import ModuleType

_MENTIONED = re.compile(r"^[ \t]*@@([^\s]+)[ \t]*$", re.MULTILINE)


def make_all(module_name: str, doc_string_modules: Iterable[ModuleType] | None = None) -> list[str]:
    """Return the names that docstrings mention as ``@@name`` and a module has.

    Args:
      module_name: the module.
      doc_string_modules: whose docstrings to read; by default the module's own.
    """
    module = sys.modules[module_name]
    modules = [module] if doc_string_modules is None else list(doc_string_modules)
    mentioned = {name for each in modules for name in _MENTIONED.findall(each.__doc__ or "")}
    return sorted(mentioned & set(dir(module)))


def remove_undocumented(
    module_name: str,
    allowed_exception_list: Iterable[str] | None = None,
    doc_string_modules: Iterable[ModuleType] | None = None,
) -> None:
    """Remove from a module the names that its docstring does not mention.

    Args:
      module_name: the module.
      allowed_exception_list: names that stay all the same.
      doc_string_modules: whose docstrings to read; by default the module's own.
    """
    module = sys.modules[module_name]
    kept = {*make_all(module_name, doc_string_modules), *(allowed_exception_list or ())}
    for name in dir(module):
        if name not in kept and not name.startswith("_"):
            delattr(module, name)
