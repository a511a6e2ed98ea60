"""Keys of sets and dicts that compare objects by identity."""

from __future__ import annotations

from typing import Any


class Reference:
    """A hashable reference to an object, equal to other references to the same object."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def deref(self) -> Any:
        """Return the object."""
        return self._wrapped

    def __hash__(self) -> int:
        return id(self._wrapped)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and other._wrapped is self._wrapped

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._wrapped!r}>"
