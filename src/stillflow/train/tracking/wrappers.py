"""Lists and dictionaries that were assigned to attributes, as parts of objects in checkpoints.

A wrapper does all that a plain list or dictionary does, but cannot be saved after a change that
would leave the names in a checkpoint to other elements.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, MutableSequence
from collections.abc import Mapping as MappingBase
from typing import Any

from stillflow.train.tracking.base import is_trackable
from stillflow.train.tracking.data_structures import (
    List,
    TrackableDataStructure,
    _UntrackableError,
    wrap_or_unwrap,
)
from stillflow.variables.no_dependency import NoDependency

_NOT_NEEDED = (
    "\n\nIf you don't need this {} checkpointed, wrap it in a tf.contrib.checkpoint.NoDependency "
    "object; it will be automatically un-wrapped and subsequently ignored."
)
_CHANGED_OUTSIDE = (
    "Unable to save the object {} (a {} wrapper constructed {}). The wrapped {} was modified "
    "outside the wrapper (its final value was {}, its value when a checkpoint dependency was added "
    "was {}), which breaks restoration on object creation."
)


class ListWrapper(List, MutableSequence[Any], list[Any]):  # type: ignore[metaclass, misc]
    """A list as an attribute of an object that can be saved.

    It shares its elements with the list that was assigned; changes are visible in both. As a plain
    `list`, which code in C reads, it has the elements of its last change through the wrapper.

    Args:
      wrapped_list: the list; lists and dictionaries in it become wrappers, too.
    """

    _storage: list[Any]
    _hold: Any  # of List

    def __init__(self, wrapped_list: list[Any] | None = None) -> None:
        TrackableDataStructure.__init__(self)  # type: ignore[arg-type]
        self._non_append_mutation = False
        self._external_modification = False
        self._hold([] if wrapped_list is None else wrapped_list)
        self._update_snapshot()

    def _track_value(self, value: Any, name: str) -> Any:
        try:
            return super()._track_value(value, name)  # type: ignore[misc]
        except _UntrackableError:
            return wrap_or_unwrap(value)

    def _update_snapshot(self) -> None:
        list.__setitem__(self, slice(None), self._storage)  # type: ignore[call-overload]

    def _check_external_modification(self) -> None:
        if list.__ne__(self, self._storage):
            self._external_modification = True

    @property
    def _checkpoint_dependencies(self) -> list[Any]:
        self._check_external_modification()
        if self._non_append_mutation:
            raise ValueError(
                f"Unable to save the object {self} (a list wrapper constructed to track trackable "
                "TensorFlow objects). A list element was replaced (__setitem__, __setslice__), "
                "deleted (__delitem__, __delslice__), or moved (sort). In order to support "
                "restoration on object creation, tracking is exclusively for append-only data "
                "structures." + _NOT_NEEDED.format("list")
            )
        if self._external_modification:
            how = "to track trackable TensorFlow objects"
            changed = _CHANGED_OUTSIDE.format(self, "list", how, "list", self._storage, None)
            raise ValueError(changed + _NOT_NEEDED.format("list"))
        return super()._checkpoint_dependencies  # type: ignore[misc]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check_external_modification()
        before = list(self._storage)
        self._storage[key] = value
        replaced = before if isinstance(key, slice) else [before[key]]
        self._non_append_mutation |= any(map(is_trackable, replaced))
        for place, now in enumerate(self._storage):
            if place >= len(before) or now is not before[place]:
                self._storage[place] = self._track_value(now, str(place))
        self._update_snapshot()

    def __delitem__(self, key: Any) -> None:
        self._non_append_mutation = True
        del self._storage[key]
        self._update_snapshot()

    def append(self, value: Any) -> None:
        """Add an element at the end."""
        self._check_external_modification()
        super().append(value)  # type: ignore[misc]
        self._update_snapshot()

    def extend(self, values: Iterable[Any]) -> None:
        """Add elements at the end."""
        for value in list(values):
            self.append(value)

    def insert(self, index: Any, value: Any) -> None:
        """Add an element before another one; the list can be saved no longer."""
        self._non_append_mutation = True
        self._storage.insert(index, wrap_or_unwrap(value))
        self._update_snapshot()

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        """Sorts the elements; the list can be saved no longer."""
        self._non_append_mutation = True
        self._storage.sort(key=key, reverse=reverse)
        self._update_snapshot()

    def __imul__(self, times: int) -> ListWrapper:
        if times > 0:
            return super().__imul__(times)  # type: ignore[misc]
        self._non_append_mutation = True
        self._storage *= times
        self._update_snapshot()
        return self

    def _copied(self, storage: list[Any]) -> ListWrapper:
        copied = type(self)(storage)
        self._check_external_modification()
        copied._non_append_mutation = self._non_append_mutation
        copied._external_modification = self._external_modification
        return copied

    def copy(self) -> ListWrapper:
        """Another list of the same elements."""
        return self._copied(list(self._storage))

    def __deepcopy__(self, memo: dict[int, Any]) -> ListWrapper:
        return self._copied(copy.deepcopy(self._storage, memo))

    def __reduce_ex__(self, protocol: Any) -> tuple[type[Any], tuple[list[Any]]]:
        return type(self), (self._storage,)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._storage)

    def __contains__(self, value: object) -> bool:
        return value in self._storage

    def __eq__(self, other: object) -> bool:
        return self._storage == getattr(other, "_storage", other)

    def __ne__(self, other: object) -> bool:
        return self._storage != getattr(other, "_storage", other)

    def __lt__(self, other: Any) -> bool:
        return self._storage < getattr(other, "_storage", other)

    def __le__(self, other: Any) -> Any:
        return self._storage <= getattr(other, "_storage", other)

    def __gt__(self, other: Any) -> Any:
        return self._storage > getattr(other, "_storage", other)

    def __ge__(self, other: Any) -> Any:
        return self._storage >= getattr(other, "_storage", other)

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'ListWrapper'")

    def __sizeof__(self) -> int:
        return list.__sizeof__(self) + self._storage.__sizeof__()

    def __repr__(self) -> str:
        return f"ListWrapper({self._storage!r})"


class DictWrapper(TrackableDataStructure, dict[Any, Any]):
    """A dictionary as an attribute of an object that can be saved.

    It shares its elements with the dictionary that was assigned; see `ListWrapper`.

    Args:
      wrapped_dict: the dictionary, or an argument of `dict`; lists and dictionaries in it become
        wrappers, too.
    """

    def __init__(self, wrapped_dict: Any = None) -> None:
        super().__init__()
        if not isinstance(wrapped_dict, MappingBase):
            wrapped_dict = dict(wrapped_dict or ())
        self.__wrapped__: Any = wrapped_dict
        self._non_string_key = False
        self._external_modification = False
        for key, value in list(wrapped_dict.items()):
            wrapped_dict[key] = self._tracked_at(key, value)
        self._update_snapshot()

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # an ordered one is ordered
        return type(self.__wrapped__)

    def __getattr__(self, name: str) -> Any:
        if "__wrapped__" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def _elements(self) -> list[Any]:
        wrapped = self.__wrapped__
        try:
            return [wrapped[key] for key in sorted(wrapped)]
        except TypeError:  # keys of several classes
            return list(wrapped.values())

    def _tracked_at(self, key: Any, value: Any) -> Any:
        """Make an element a part if it can be one and has a string for a key."""
        if isinstance(key, str):
            return self._track_if_possible(value, key)
        held = wrap_or_unwrap(value)
        if is_trackable(held) and not isinstance(value, NoDependency):
            self._non_string_key = True
        return held

    def _update_snapshot(self) -> None:
        dict.clear(self)
        dict.update(self, self.__wrapped__)

    def _check_external_modification(self) -> None:
        if dict.__ne__(self, self.__wrapped__):
            self._external_modification = True

    @property
    def _checkpoint_dependencies(self) -> list[Any]:
        self._check_external_modification()
        how = "automatically on attribute assignment"
        if self._non_string_key:
            raise ValueError(
                f"Unable to save the object {self} (a dictionary wrapper constructed {how}). The "
                "wrapped dictionary contains a non-string key which maps to a trackable object or "
                "mutable data structure." + _NOT_NEEDED.format("dictionary")
            )
        if self._external_modification:
            kind = "dictionary"
            changed = _CHANGED_OUTSIDE.format(self, kind, how, kind, self, None)
            raise ValueError(changed + _NOT_NEEDED.format(kind))
        return super()._checkpoint_dependencies

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check_external_modification()
        self.__wrapped__[key] = self._tracked_at(key, value)
        self._update_snapshot()

    def __delitem__(self, key: Any) -> None:
        self._check_external_modification()
        del self.__wrapped__[key]
        self._update_snapshot()

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Add or replace elements."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def _changed(self, method: str, *args: Any) -> Any:
        """Call a method of the wrapped object. If it changes it, saving is no longer possible."""
        result = getattr(self.__wrapped__, method)(*args)
        self._check_external_modification()
        self._update_snapshot()
        return result

    def pop(self, *args: Any) -> Any:
        """Remove and return an element; the dictionary can no longer be saved."""
        return self._changed("pop", *args)

    def popitem(self) -> tuple[Any, Any]:
        """Remove and return the last element; the dictionary can no longer be saved."""
        key, value = self._changed("popitem")
        return key, value

    def clear(self) -> None:
        """Remove all elements; the dictionary can no longer be saved."""
        self._changed("clear")

    def setdefault(self, key: Any, default: Any = None) -> int:
        """Return the element of a key.

        A new one makes that the dictionary can be saved no longer.
        """
        return self._changed("setdefault", key, default)

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the element of a key, or a default."""
        return self.__wrapped__.get(key, default)

    def keys(self) -> Any:
        """Return the keys."""
        return self.__wrapped__.keys()

    def values(self) -> Any:
        """Return the elements."""
        return self.__wrapped__.values()

    def items(self) -> Any:
        """Return the keys with their elements."""
        return self.__wrapped__.items()

    def _copied(self, wrapped: Any) -> DictWrapper:
        copied = DictWrapper(wrapped)
        self._check_external_modification()
        copied._external_modification = self._external_modification
        copied._non_string_key = self._non_string_key
        return copied

    def copy(self) -> DictWrapper:
        """Another dictionary of the same elements."""
        return self._copied(copy.copy(self.__wrapped__))

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> DictWrapper:
        return self._copied(copy.deepcopy(self.__wrapped__, memo))

    def __reduce_ex__(self, protocol: Any) -> tuple[type[Any], tuple[dict[Any, Any]]]:
        return type(self), (self.__wrapped__,)

    def __getitem__(self, key: Any) -> Any:
        return self.__wrapped__[key]

    def __len__(self) -> int:
        return len(self.__wrapped__)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.__wrapped__)

    def __reversed__(self) -> Iterator[Any]:
        return reversed(self.__wrapped__)

    def __contains__(self, key: object) -> bool:
        return key in self.__wrapped__

    def __eq__(self, other: object) -> bool:
        return self.__wrapped__ == other

    def __ne__(self, other: object) -> bool:
        return self.__wrapped__ != other

    def __or__(self, other: Any) -> Any:
        return self.__wrapped__ | other

    def __ror__(self, other: Any) -> Any:
        return other | self.__wrapped__

    def __ior__(self, other: Any) -> DictWrapper:
        self.update(other)
        return self

    def __hash__(self) -> int:  # type: ignore[override]
        raise TypeError("unhashable type: 'DictWrapper'")

    def __repr__(self) -> str:
        return f"DictWrapper({self.__wrapped__!r})"

    def __str__(self) -> str:
        return str(self.__wrapped__)
