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
    """What a function gives that has not returned."""


def is_undefined(value: Any) -> bool:
    """Whether a variable has no value."""
    return isinstance(value, Undefined)


def is_undefined_return(value: Any) -> bool:
    """Whether a function has not returned."""
    return isinstance(value, UndefinedReturnValue)


def retval(value: Any) -> Any:
    """What a function returns: None where it has not said so."""
    return None if is_undefined_return(value) else value


def returned(do_return: Any, value: Any) -> Any:
    """What a function returns, and, read here since branches have to give it, whether it did."""
    del do_return
    return retval(value)
