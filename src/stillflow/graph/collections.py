"""Named collections of a graph: where a program keeps its variables, losses, summaries."""

from __future__ import annotations

import re
from typing import Any


class Collections:
    """The part of `Graph` that keeps collections."""

    def __init__(self) -> None:
        self._collections: dict[Any, list[Any]] = {}

    def _check_not_finalized(self) -> None:
        raise NotImplementedError  # Graph knows

    @property
    def collections(self) -> list[Any]:
        """The names of all collections."""
        return list(self._collections)

    def get_all_collection_keys(self) -> list[str]:
        return [key for key in self._collections if isinstance(key, str)]

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Append `value` to the collection `name`; duplicates are kept."""
        self._check_not_finalized()
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Append `value` to each of `names` (a string is one name)."""
        names = (names,) if isinstance(names, str) else set(names)
        for name in names:
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """Return the collection itself: changing the list changes the collection."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """Return a copy of the collection; with `scope`, the items whose names match this regex."""
        items = self._collections.get(name)
        if items is None:
            return []
        if scope is None:
            return list(items)
        matches = re.compile(scope).match
        return [item for item in items if hasattr(item, "name") and matches(item.name)]

    def clear_collection(self, name: Any) -> None:
        self._check_not_finalized()
        self._collections.pop(name, None)
