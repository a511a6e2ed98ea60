"""Weak collections that one thread may go through while others add to them.

Python's own are written in Python: a thread that adds while another iterates makes it end with
"Set changed size during iteration", also inside of `list`. A copy of a set or of a dictionary's
keys is one step of the interpreter.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class LiveSet(Generic[T]):
    """Set of hashable objects that does not keep them; iteration gives those of its beginning."""

    def __init__(self) -> None:
        self._references: set[weakref.ref[T]] = set()

    def add(self, each: T) -> None:
        """Add an object, until it is deleted."""
        self._references.add(weakref.ref(each, self._references.discard))

    def discard(self, each: T) -> None:
        """Remove an object if it is there."""
        self._references.discard(weakref.ref(each))

    def __iter__(self) -> Iterator[T]:
        for reference in tuple(self._references):
            each = reference()
            if each is not None:
                yield each


def live_items(dictionary: weakref.WeakKeyDictionary[K, V]) -> Iterator[tuple[K, V]]:
    """Yield the keys and values that a dictionary has at the beginning, and later still."""
    for reference in dictionary.keyrefs():
        key = reference()
        value = None if key is None else dictionary.get(key)
        if key is not None and value is not None:
            yield key, value
