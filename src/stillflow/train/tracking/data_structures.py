"""Lists and dictionaries that only grow, whose elements are parts of them in checkpoints."""

from __future__ import annotations

import collections
import copy
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Mapping as MappingBase
from typing import TYPE_CHECKING, Any

from stillflow.graph.export import export
from stillflow.train.tracking.base import Trackable, is_trackable
from stillflow.variables.base import VariableV2
from stillflow.variables.no_dependency import NoDependency

if TYPE_CHECKING:
    from stillflow.train.tracking.wrappers import ListWrapper


def wrap_or_unwrap(value: Any) -> Any:
    """Return the value to store in an attribute: lists and dictionaries as wrappers.

    Only the plain classes, whose methods are known, are wrapped.
    """
    if isinstance(value, NoDependency):
        return value.value
    if type(value) not in (list, dict, collections.OrderedDict):
        return value
    from stillflow.train.tracking.wrappers import DictWrapper, ListWrapper

    return ListWrapper(value) if type(value) is list else DictWrapper(value)


def sticky_attribute_assignment(trackable: Any, name: str, value: Any) -> Any:
    """Make an attribute's value a part of its object, if it can be one; return what it holds."""
    held = wrap_or_unwrap(value)
    if not isinstance(value, NoDependency) and is_trackable(held):
        trackable._track_trackable(held, name=name, overwrite=True)
    return held


class _UntrackableError(ValueError):
    """An element that cannot be saved."""


class TrackableDataStructure(Trackable):
    """Container of tracked values under names, and of all their weights."""

    is_container = True

    def __init__(self) -> None:
        self.trainable = True
        self._maybe_initialize_trackable()

    def _elements(self) -> list[Any]:
        return list(self._tracked.values())

    def _track_value(self, value: Any, name: str) -> Any:
        """Make an element a part; return its stored form, or raise ValueError if it has none."""
        held = sticky_attribute_assignment(self, name, value)
        if not is_trackable(held):
            raise _UntrackableError(
                "Only trackable objects (such as Layers or Optimizers) may be stored in a List "
                f"object. Got {held}, which does not inherit from Trackable."
            )
        if hasattr(held, "_use_resource_variables"):
            held._use_resource_variables = True  # as in models whose attributes are layers
        return held

    def _track_if_possible(self, value: Any, name: str) -> Any:
        try:
            return self._track_value(value, name)
        except _UntrackableError:
            return wrap_or_unwrap(value)

    @property
    def layers(self) -> list[Any]:
        """The layers in it."""
        return [item for item in _flat(self._elements()) if hasattr(item, "_is_layer")]

    @property
    def losses(self) -> list[Any]:
        """The losses of the layers in it."""
        return [loss for layer in self.layers for loss in layer.losses]

    @property
    def updates(self) -> list[Any]:
        """The updates of the layers in it."""
        return [update for layer in self.layers for update in layer.updates]

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that are trained; none if `trainable` is False."""
        return _weights(self._elements(), True) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The other variables."""
        others = _weights(self._elements(), False)
        return others if self.trainable else _weights(self._elements(), True) + others

    @property
    def weights(self) -> list[Any]:
        """All variables."""
        return self.trainable_weights + self.non_trainable_weights

    variables = weights
    trainable_variables = trainable_weights
    non_trainable_variables = non_trainable_weights


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, TrackableDataStructure):
            yield from _flat(value._elements())
        else:
            yield value


def _weights(values: Iterable[Any], trained: bool) -> list[Any]:
    """Return the variables of layers and containers, then those that are elements themselves."""
    kind = "trainable_weights" if trained else "non_trainable_weights"
    inner, own = [], []
    for value in values:
        if hasattr(value, kind):
            inner += getattr(value, kind)
        elif isinstance(value, VariableV2) and getattr(value, "trainable", False) == trained:
            own.append(value)
    return inner + own


@export("contrib.checkpoint.List")
class List(TrackableDataStructure, Sequence[Any]):
    """A list that only grows; its elements are saved under their numbers.

    Args:
      *args: the arguments of `list`.

    Raises:
      ValueError: if an element cannot be saved.
    """

    _storage: list[Any]

    def __init__(self, *args: Any) -> None:
        super().__init__()
        self._hold(list(*args))

    def _hold(self, storage: list[Any]) -> None:
        self._storage = storage
        for place, value in enumerate(storage):
            storage[place] = self._track_value(value, str(place))

    def _elements(self) -> list[Any]:
        return self._storage

    def append(self, value: Any) -> None:
        """Add an element at the end."""
        self._storage.append(self._track_value(value, str(len(self._storage))))

    def extend(self, values: Iterable[Any]) -> None:
        """Add elements at the end."""
        for value in values:
            self.append(value)

    def copy(self) -> Any:
        """Another list of the same elements."""
        return type(self)(list(self._storage))

    def __copy__(self) -> ListWrapper:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> List:
        return type(self)(copy.deepcopy(self._storage, memo))

    def __iadd__(self, values: Iterable[Any]) -> Any:
        self.extend(values)
        return self

    def __add__(self, other: Iterable[Any]) -> List:
        return type(self)([*self._storage, *other])

    def __radd__(self, other: Iterable[Any]) -> Any:
        return type(self)([*other, *self._storage])

    def __mul__(self, times: int) -> List:
        return type(self)(self._storage * times)

    __rmul__ = __mul__

    def __imul__(self, times: int) -> List:
        if times <= 0:
            raise ValueError(
                f"List only supports append, multiplying in place by {times} removes elements."
            )
        self.extend(self._storage * (times - 1))
        return self

    def __getitem__(self, key: Any) -> Any:
        return self._storage[key]

    def __len__(self) -> int:
        return len(self._storage)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"List({self._storage!r})"


@export("contrib.checkpoint.Mapping")
class Mapping(TrackableDataStructure, MappingBase[str, Any]):
    """A dictionary that only grows; its elements are saved under their keys, which are strings.

    Args:
      *args, **kwargs: the arguments of `dict`.

    Raises:
      TypeError: if a key is no string.
      ValueError: if an element cannot be saved, or there is another one under its key.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self._storage: dict[str, Any] = {}
        self.update(*args, **kwargs)

    def _elements(self) -> list[Any]:
        return [self._storage[key] for key in sorted(self._storage)]

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"Mapping accepts only string keys, but got a key {key!r}.")
        held = self._track_value(value, key)
        known = self._storage.setdefault(key, held)
        if known is not held:
            self._tracked[key] = known
            raise ValueError(
                "Mappings are an append-only data structure. Tried to overwrite the key "
                f"'{key}' with value {held}, but it already contains {known}"
            )

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Add elements."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __copy__(self) -> Mapping:
        return type(self)(self._storage)

    def __deepcopy__(self, memo: dict[int, Any]) -> Mapping:
        return type(self)(copy.deepcopy(self._storage, memo))

    def __getitem__(self, key: str) -> Any:
        return self._storage[key]

    def __len__(self) -> int:
        return len(self._storage)

    def __iter__(self) -> Iterator[str]:
        return iter(self._storage)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"Mapping({self._storage!r})"
