"""Stand-ins for variables without a value and for a function that has not returned."""

from __future__ import annotations

from typing import Any


class Undefined:
    """The value of a variable that has none yet.

    Attributes:
      symbol_name: the variable's name.
    """

    def __init__(self, symbol_name: str) -> None:
        self.symbol_name = symbol_name


class UndefinedReturnValue:
    """Result of a function that has not returned."""


def is_undefined(value: Any) -> bool:
    """Return True if a variable has no value."""
    return isinstance(value, Undefined)


def is_undefined_return(value: Any) -> bool:
    """Return True if a function has not returned."""
    return isinstance(value, UndefinedReturnValue)


def retval(value: Any) -> Any:
    """Return a function's result: None if it has not returned."""
    return None if is_undefined_return(value) else value


def returned(do_return: Any, value: Any) -> Any:
    """Return a function's result, and the flag of its return, which branches have to output."""
    del do_return
    return retval(value)
