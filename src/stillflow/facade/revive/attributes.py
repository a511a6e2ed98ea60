"""Names that Python and other libraries have removed, where programs look for them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from stillflow._home import is_our_module
from stillflow.facade.revive.after import after_import
from stillflow.facade.revive.tables import METHODS, TABLES
from stillflow.facade.say import say_to_program

_IMMUTABLE = 1 << 8  # the flag of types that take no attributes


def activate() -> None:
    """Let every module of the tables answer for its old names."""
    for module, table in TABLES.items():
        after_import(module, _patcher(table))
    for module, classes in METHODS.items():
        after_import(module, _renamer(classes))


def _renamer(classes: dict[str, dict[str, str]]) -> Callable[[ModuleType], None]:
    def rename(module: ModuleType) -> None:
        for name, pairs in classes.items():
            kind = getattr(module, name)
            for old, new in pairs.items():
                if not hasattr(kind, old) and not kind.__flags__ & _IMMUTABLE:
                    setattr(kind, old, getattr(kind, new))

    return rename


def _patcher(table: dict[str, Any]) -> Callable[[ModuleType], None]:
    def patch(module: ModuleType) -> None:
        before = module.__dict__.get("__getattr__")

        def __getattr__(name: str) -> Any:
            if name in table:
                value = resolve(table[name])
                note = f"{module.__name__}.{name} was removed; it is {describe(table[name])} here"
                if say_to_program(note):
                    module.__dict__[name] = value
                return value
            if before is not None:
                return before(name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        module.__dict__["__getattr__"] = __getattr__

    return patch


def resolve(entry: Any) -> Any:
    """Return the value of a table's entry."""
    if not isinstance(entry, str):
        return entry
    path, _, name = entry.partition(":")
    value = importlib.import_module(path)
    for part in name.split(".") if name else ():
        value = getattr(value, part)
    return value


def describe(entry: Any) -> str:
    """Return an entry of a table as the notes on stderr spell it."""
    if not isinstance(entry, str):
        return repr(entry)
    if is_our_module(entry):
        return "Stillflow's"
    return entry.replace("builtins:", "").replace(":", ".")
