"""The arguments that a card's `torch_source` is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Argument:
    """An input of an operation as it appears in source.

    Attributes:
      known: its value as an array if it is constant, else None.
      number: a Python expression, if it is a scalar that the host knows.
      numbers: Python expressions, if it is a vector of integers that the host knows.
    """

    def __init__(
        self,
        tensor: Callable[[], str],
        known: Any = None,
        number: str | None = None,
        numbers: tuple[str, ...] | None = None,
        span: str | None = None,
    ) -> None:
        self._tensor = tensor
        self.known = known
        self.number = number
        self.numbers = numbers
        self._span = span

    def __str__(self) -> str:
        """Return the expression of a tensor."""
        return self._tensor()

    @property
    def operand(self) -> str:
        """A number where it is one, else the tensor: for arithmetic."""
        return str(self) if self.number is None else self.number

    @property
    def sizes(self) -> str:
        """The shape as an expression: a tuple of numbers, or of the tensor's value."""
        if self.numbers is None:
            return f"{self}.tolist()"
        inner = ", ".join(self.numbers)
        return f"({inner},)" if len(self.numbers) == 1 else f"({inner})"

    @property
    def listed(self) -> str:
        """A vector of integers as an expression of a sequence of Python's."""
        if self._span is not None:
            return self._span
        return self.sizes
