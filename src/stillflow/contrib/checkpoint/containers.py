"""Containers whose elements are parts of them in checkpoints of objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Mapping as MappingBase
from typing import Any

from stillflow.graph.export import export
from stillflow.layers.base_layer import Layer
from stillflow.train.tracking.base import Trackable, is_trackable


class _UntrackableError(ValueError):
    """An element that cannot be saved."""


class _Container(Trackable):
    """What is tracked under names, and the weights of all of it."""

    is_container = True

    def __init__(self) -> None:
        self.trainable = True
        self._maybe_initialize_trackable()

    def _elements(self) -> list[Any]:
        return list(self._tracked.values())

    def _track(self, value: Any, name: str) -> Any:
        if not is_trackable(value) and not isinstance(value, (list, dict)):
            raise _UntrackableError(
                "Only trackable objects (such as Layers or Optimizers) may be stored in a List "
                f"object. Got {value}, which does not inherit from Trackable."
            )
        if is_trackable(value):
            self._track_trackable(value, name)
        return value

    @property
    def layers(self) -> list[Any]:
        """The layers in it."""
        return [item for item in _flat(self._elements()) if isinstance(item, Layer)]

    @property
    def losses(self) -> list[Any]:
        """What the layers in it add to a loss."""
        return [loss for layer in self.layers for loss in layer.losses]

    @property
    def updates(self) -> list[Any]:
        """What the layers in it update in training."""
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
        if isinstance(value, _Container):
            yield from _flat(value._elements())
        elif isinstance(value, (list, tuple)):
            yield from _flat(value)
        elif isinstance(value, dict):
            yield from _flat(value.values())
        else:
            yield value


def _weights(values: Iterable[Any], trained: bool) -> list[Any]:
    """The variables of layers and containers, then those that are elements themselves."""
    kind = "trainable_weights" if trained else "non_trainable_weights"
    inner, own = [], []
    for value in values:
        if isinstance(value, (list, tuple)):
            inner += _weights(value, trained)
        elif isinstance(value, dict):
            inner += _weights(value.values(), trained)
        elif hasattr(value, kind):
            inner += getattr(value, kind)
        elif hasattr(value, "initializer") and getattr(value, "trainable", False) == trained:
            own.append(value)
    return inner + own


@export("contrib.checkpoint.List")
class List(_Container, Sequence[Any]):
    """A list that only grows; its elements are saved under their numbers.

    Args:
      *args: what `list` takes.

    Raises:
      ValueError: if an element cannot be saved.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        self._storage: list[Any] = []
        self.extend(list(*args))

    def _elements(self) -> list[Any]:
        return self._storage

    def append(self, value: Any) -> None:
        """Adds an element at the end."""
        self._storage.append(self._track(value, str(len(self._storage))))

    def extend(self, values: Iterable[Any]) -> None:
        """Adds elements at the end."""
        for value in values:
            self.append(value)

    def copy(self) -> List:
        """Another list of the same elements."""
        return List(self._storage)

    def __iadd__(self, values: Iterable[Any]) -> List:
        self.extend(values)
        return self

    def __add__(self, other: Iterable[Any]) -> List:
        return List(self._storage + list(other))

    def __radd__(self, other: Iterable[Any]) -> List:
        return List(list(other) + self._storage)

    def __mul__(self, times: int) -> List:
        return List(self._storage * times)

    def __getitem__(self, key: Any) -> Any:
        return self._storage[key]

    def __len__(self) -> int:
        return len(self._storage)

    def __repr__(self) -> str:
        return f"List({self._storage!r})"


@export("contrib.checkpoint.Mapping")
class Mapping(_Container, MappingBase[str, Any]):
    """A dictionary that only grows; its elements are saved under their keys, which are strings.

    Args:
      *args, **kwargs: what `dict` takes.

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
        known = self._storage.setdefault(key, value)
        if known is not value:
            raise ValueError(
                "Mappings are an append-only data structure. Tried to overwrite the key "
                f"'{key}' with value {value}, but it already contains {known}"
            )
        try:
            self._track(value, key)
        except _UntrackableError:
            del self._storage[key]
            raise

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Adds elements."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __getitem__(self, key: str) -> Any:
        return self._storage[key]

    def __len__(self) -> int:
        return len(self._storage)

    def __iter__(self) -> Iterator[str]:
        return iter(self._storage)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: Any) -> bool:
        return self is other

    def __repr__(self) -> str:
        return f"Mapping({self._storage!r})"


@export("contrib.checkpoint.UniqueNameTracker")
class UniqueNameTracker(_Container):
    """Saves objects under names that it makes unique: `x`, `x_1`, `x_2`."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, int] = {}

    def track(self, trackable: Any, base_name: str) -> Any:
        """Makes an object a part.

        Args:
          trackable: the object.
          base_name: its name, or how it begins.

        Returns:
          The object.

        Raises:
          ValueError: if it cannot be saved.
        """
        if not is_trackable(trackable):
            raise ValueError(
                f"Expected a trackable value, got {trackable} which does not inherit from "
                "tf.track.Trackable."
            )
        count = self._counts.get(base_name, 0)
        while self._lookup_dependency(_numbered(base_name, count)) is not None:
            count += 1
        self._counts[base_name] = count + 1
        return self._track_trackable(trackable, _numbered(base_name, count))


def _numbered(name: str, number: int) -> str:
    return f"{name}_{number}" if number else name
