"""The part of a layer that finds layers and variables among its attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from stillflow import nest
from stillflow.keras.backend.initialization import track_variable
from stillflow.train.tracking.base import Trackable
from stillflow.train.tracking.data_structures import sticky_attribute_assignment
from stillflow.variables.base import VariableV2
from stillflow.variables.no_dependency import NoDependency
from stillflow.variables.resource_variable import UnreadVariable


def has_weights(thing: Any) -> bool:
    """Return True if something has variables as layers have them."""
    kind = type(thing)
    return hasattr(kind, "trainable_weights") and hasattr(kind, "non_trainable_weights")


def layers_in(things: Iterable[Any], with_containers: bool = False) -> Iterator[Any]:
    """Yield the layers among things and inside lists and dictionaries of things, each once.

    `with_containers` gives all objects with weights: lists of `tf.contrib.checkpoint` themselves,
    rather than the layers in them, and templates.
    """
    seen: set[int] = set()
    waiting = list(things)[::-1]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, dict):
            waiting.extend(list(thing.values())[::-1])
        elif isinstance(thing, (list, tuple)):
            waiting.extend(list(thing)[::-1])
        elif getattr(thing, "is_container", False) and not with_containers:
            waiting.extend(thing.layers[::-1])
        elif has_weights(thing) and (with_containers or hasattr(thing, "_is_layer")):
            yield thing


def all_layers(layer: Any) -> list[Any]:
    """Return a layer and the layers inside of it, at any depth."""
    found = [layer]
    for inner in layers_in(getattr(layer, "_layers", ())):
        found += all_layers(inner)
    return found


class Attributes(Trackable):
    """Mixin: layers in attributes belong to a layer, with their variables; so do variables."""

    _layers: list[Any]
    _trainable_weights: list[Any]
    _non_trainable_weights: list[Any]

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, NoDependency):
            if self._tracks(name):
                self._adopt(value.value)  # a layer of this one, but no part of checkpoints
            object.__setattr__(self, name, value.value)
            return
        if not self._tracks(name):
            try:
                object.__setattr__(self, name, value)
            except AttributeError:
                raise AttributeError(
                    f'Can\'t set the attribute "{name}", likely because it conflicts with an '
                    "existing read-only @property of the object. Please choose a different name."
                ) from None
            return
        self._maybe_initialize_trackable()
        before = self.__dict__.get(name)
        value = sticky_attribute_assignment(self, name, value)
        if before is not None and before is not value:
            self._disown(name, before)  # it stays a part of checkpoints, as TensorFlow has it
        self._adopt(value)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        value = self.__dict__.get(name)
        object.__delattr__(self, name)
        self._disown(name, value)

    def _disown(self, name: str, value: Any) -> None:
        """Remove an attribute's content from the layer's own, unless another attribute has it."""
        others = (other for key, other in self.__dict__.items() if key != name)
        if not _is_part(value) or any(value is other for other in others):
            return
        for owned in ("_layers", "_trainable_weights", "_non_trainable_weights"):
            kept = [item for item in self.__dict__.get(owned, ()) if item is not value]
            object.__setattr__(self, owned, kept)

    def _tracks(self, name: str) -> bool:
        own = self.__dict__
        return not (
            not own.get("_self_setattr_tracking", True)
            or own.get("_is_graph_network", False)
            or name in ("_self_setattr_tracking", "_is_graph_network")
            or hasattr(type(self), name)
        )

    def _adopt(self, value: Any) -> None:
        """Add layers and variables in an attribute to the layer's own."""
        if has_weights(value) or isinstance(value, (list, dict)):
            layers = self._own_list("_layers")
            if type(self).__name__ != "Sequential" and not any(value is x for x in layers):
                layers.append(value)
                if hasattr(value, "_use_resource_variables"):
                    value._use_resource_variables = True
        for part in _flat(value):
            if isinstance(part, VariableV2) and not isinstance(part, UnreadVariable):
                trained = getattr(part, "trainable", False)
                own = self._own_list("_trainable_weights" if trained else "_non_trainable_weights")
                if not any(part is variable for variable in own):
                    own.append(part)
                    track_variable(part)

    def _own_list(self, name: str) -> list[Any]:
        if name not in self.__dict__:
            object.__setattr__(self, name, [])
        found: list[Any] = self.__dict__[name]
        return found


def _is_part(value: Any) -> bool:
    return has_weights(value) or isinstance(value, (VariableV2, list, dict))


def _flat(value: Any) -> list[Any]:
    try:
        return nest.flatten(value)
    except (TypeError, ValueError):  # dictionaries whose keys cannot be sorted
        return []
