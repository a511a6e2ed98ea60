"""Functions that dataset ops call for elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class Function(Protocol):
    """Computation of a function of the graph."""

    @property
    def pure(self) -> bool:
        """True if it has no effects and equal arguments give equal results."""

    def __call__(self, *values: Any) -> Sequence[Any]: ...

    def on_rows(
        self, elements: Sequence[tuple[Any, ...]], captured: Sequence[Any] = ()
    ) -> Sequence[tuple[Any, ...]] | None:
        """Return the results for several elements at once, or None if each needs its own call."""


def function_of(node: Any, attribute: str) -> Function:
    """Return the function that an attribute names; it takes captured run-time values last."""
    found: Function = node.function(node.op.attrs[attribute], on_host=True)
    return found
