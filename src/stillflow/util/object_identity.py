"""Sets and dictionaries that compare their keys by identity, not by equality."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, MutableMapping, MutableSet
from typing import Any


class ObjectIdentityDictionary(MutableMapping[Any, Any]):
    """A dictionary whose keys are objects as such."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._pairs: dict[int, tuple[Any, Any]] = {}
        self.update(*args, **kwargs)

    def _held(self, key: Any) -> Any:
        """Return the stored form of a key: itself."""
        return key

    def _key(self, held: Any) -> Any:
        return held

    def __getitem__(self, key: Any) -> Any:
        if id(key) not in self._pairs:
            raise KeyError(key)
        return self._pairs[id(key)][1]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._pairs[id(key)] = self._held(key), value

    def __delitem__(self, key: Any) -> None:
        if self._pairs.pop(id(key), None) is None:
            raise KeyError(key)

    def __len__(self) -> int:
        return len(self._pairs)

    def __iter__(self) -> Iterator[Any]:
        keys = (self._key(held) for held, _ in list(self._pairs.values()))
        return (key for key in keys if key is not None)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.items())!r})"


class ObjectIdentityWeakKeyDictionary(ObjectIdentityDictionary):
    """Identity dictionary with weak keys: an entry goes with its key."""

    def _held(self, key: Any) -> Any:
        number, pairs = id(key), self._pairs
        return weakref.ref(key, lambda _: pairs.pop(number, None))

    def _key(self, held: Any) -> Any:
        return held()


class ObjectIdentitySet(MutableSet[Any]):
    """A set of objects as such."""

    _kind: type[ObjectIdentityDictionary] = ObjectIdentityDictionary

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self._values = self._kind()
        self.update(values)

    def update(self, values: Iterable[Any]) -> None:
        """Add objects."""
        for value in values:
            self.add(value)

    def add(self, value: Any) -> None:
        """Add an object."""
        self._values[value] = None

    def discard(self, value: Any) -> None:
        """Remove an object, if present."""
        self._values.pop(value, None)

    def __contains__(self, value: object) -> bool:
        return value in self._values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)!r})"


class ObjectIdentityWeakSet(ObjectIdentitySet):
    """Identity set with weak references."""

    _kind = ObjectIdentityWeakKeyDictionary
