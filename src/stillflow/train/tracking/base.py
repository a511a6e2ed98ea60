"""Objects whose parts are found again in a checkpoint by the names that lead to them."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, MutableSequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from stillflow.graph.export import export
from stillflow.variables.base import VariableV2
from stillflow.variables.no_dependency import NoDependency
from stillflow.variables.partitioned import PartitionedVariable
from stillflow.variables.resource_variable import is_resource_variable

VARIABLE_VALUE_KEY = "VARIABLE_VALUE"
OBJECT_CONFIG_JSON_KEY = "OBJECT_CONFIG_JSON"
OBJECT_GRAPH_PROTO_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"


class TrackableReference(NamedTuple):
    """A part of an object."""

    name: str
    ref: Any


class References(MutableSequence[TrackableReference]):
    """List of the parts in a dictionary, which changes with it."""

    def __init__(self, tracked: dict[str, Any]) -> None:
        self._tracked = tracked

    def __len__(self) -> int:
        return len(self._tracked)

    def __getitem__(self, index: Any) -> Any:
        return [TrackableReference(*item) for item in self._tracked.items()][index]

    def __setitem__(self, index: Any, value: Any) -> None:
        parts = self[:]
        parts[index] = value
        self._replace(parts)

    def __delitem__(self, index: Any) -> None:
        parts = self[:]
        del parts[index]
        self._replace(parts)

    def insert(self, index: int, value: Any) -> None:
        """Put a part before another one."""
        parts = self[:]
        parts.insert(index, value)
        self._replace(parts)

    def __repr__(self) -> str:
        return repr(self[:])

    def _replace(self, parts: list[Any]) -> None:
        found = dict(parts)
        self._tracked.clear()
        self._tracked.update(found)


@export("contrib.checkpoint.CheckpointableBase")
class Trackable:
    """An object with parts. Each has a name, by which it is found in a checkpoint."""

    _tracked: dict[str, Any]
    _deferred: dict[str, list[tuple[Any, int]]]  # restorations that wait for a part

    def _maybe_initialize_trackable(self) -> None:
        if "_tracked" not in self.__dict__:
            object.__setattr__(self, "_tracked", {})
            object.__setattr__(self, "_deferred", {})

    @property
    def _setattr_tracking(self) -> bool:
        """True if a value assigned to an attribute becomes a part."""
        return bool(self.__dict__.get("_self_setattr_tracking", True))

    @_setattr_tracking.setter
    def _setattr_tracking(self, value: bool) -> None:
        object.__setattr__(self, "_self_setattr_tracking", value)

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """The parts."""
        self._maybe_initialize_trackable()
        return [TrackableReference(name, ref) for name, ref in self._tracked.items()]

    @property
    def _unconditional_checkpoint_dependencies(self) -> References:
        """The parts as a list: parts put into it are tracked."""
        self._maybe_initialize_trackable()
        return References(self._tracked)

    @property
    def _unconditional_dependency_names(self) -> dict[str, Any]:
        """The parts by name: parts put into it are tracked."""
        self._maybe_initialize_trackable()
        return self._tracked

    def _lookup_dependency(self, name: str) -> Any:
        """Return the part of a name, or None."""
        self._maybe_initialize_trackable()
        return self._tracked.get(name)

    def _track_trackable(self, trackable: Any, name: str, overwrite: bool = False) -> Any:
        """Make an object a part of this one, restore it from checkpoints, and return it.

        TypeError if it cannot be saved, ValueError if there is another part of this name, unless to
        `overwrite`.
        """
        self._maybe_initialize_trackable()
        if not is_trackable(trackable):
            raise TypeError(
                f"Trackable._track_trackable() passed type {type(trackable)}, not a Trackable."
            )
        known = self._tracked.get(name)
        if known is not None and known is not trackable and not overwrite:
            raise ValueError(
                "Called Trackable._track_trackable() with name="
                f"'{name}', but a Trackable with this name is already declared as a dependency. "
                "Names must be unique (or overwrite=True)."
            )
        self._tracked[name] = trackable
        if known is not trackable:
            self._handle_deferred_dependencies(name, trackable)
        return trackable

    def _add_variable_with_custom_getter(
        self, name: str, shape: Any = None, getter: Any = None, overwrite: bool = False, **kw: Any
    ) -> Any:
        """Make a variable by `getter(name=, shape=, ...)` that is a part of the object."""
        return self._track_trackable(getter(name=name, shape=shape, **kw), name, overwrite)

    def _handle_deferred_dependencies(self, name: str, trackable: Any) -> None:
        """Restore a new part from checkpoints that were restored before."""
        self._maybe_initialize_trackable()
        for restoration, node in self._deferred.pop(name, ()):
            restoration.bind(trackable, node)

    def _no_dependency(self, value: Any) -> Any:
        """Return the value to assign to an attribute to exclude it from the object's parts."""
        assigns_parts = type(self).__setattr__ is not object.__setattr__
        return NoDependency(value) if assigns_parts else value

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        """Return the object's own saveables, or functions of a name that make them."""
        return {}


@export("contrib.checkpoint.Checkpointable", "contrib.eager.Checkpointable")
class AutoTrackable(Trackable):
    """An object whose attributes are its parts, as far as they can be saved."""

    def __setattr__(self, name: str, value: Any) -> None:
        tracking = self.__dict__.get("_self_setattr_tracking", True)
        if tracking and name not in ("_tracked", "_deferred"):
            from stillflow.train.tracking.data_structures import sticky_attribute_assignment

            value = sticky_attribute_assignment(self, name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._maybe_initialize_trackable()
        self._tracked.pop(name, None)


class NotTrackable:
    """A base class of objects that look as if they could be saved, and cannot."""


def cached_per_instance(method: Any) -> Any:
    """Return a decorator: a method without arguments is called once for each object."""
    results: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
    lock = threading.RLock()

    @functools.wraps(method)
    def cached(self: Any) -> Any:
        with lock:
            if self not in results:
                results[self] = method(self)
            return results[self]

    return cached


def no_automatic_dependency_tracking(method: Any) -> Callable[..., Any]:
    """Return a decorator: a method's assignments to attributes add no parts to the object."""

    @functools.wraps(method)
    def untracked(self: Any, *args: Any, **kwargs: Any) -> Any:
        with no_automatic_dependency_tracking_scope(self):
            return method(self, *args, **kwargs)

    return untracked


@contextlib.contextmanager
def no_automatic_dependency_tracking_scope(obj: Any) -> Iterator[None]:
    """Assign attributes of an object inside without making the values its parts."""
    before = obj.__dict__.get("_self_setattr_tracking", True)
    object.__setattr__(obj, "_self_setattr_tracking", False)
    try:
        yield
    finally:
        object.__setattr__(obj, "_self_setattr_tracking", before)


def _is_variable(thing: Any) -> bool:
    return isinstance(thing, (VariableV2, PartitionedVariable)) or is_resource_variable(thing)


def is_trackable(thing: Any) -> bool:
    """Return True if an object can be a part of others, and saved with them."""
    from stillflow.train.optimizer import Optimizer

    if isinstance(thing, (Trackable, Optimizer)) or _is_variable(thing):
        return True
    return hasattr(thing, "_gather_saveables_for_checkpoint")


def parts_of(thing: Any) -> Iterator[TrackableReference]:
    """Yield the parts of an object, by name; NotImplementedError for a `NotTrackable`."""
    if isinstance(thing, NotTrackable):
        raise NotImplementedError(
            f"The object {thing} does not support object-based saving. File a feature request if "
            "this limitation bothers you. In the meantime, you can remove the dependency on this "
            "object and save everything else."
        )
    from stillflow.train.optimizer import Optimizer

    if isinstance(thing, Trackable):
        yield from thing._checkpoint_dependencies
    elif isinstance(thing, Optimizer):
        yield from _parts_of_optimizer(thing)


def _parts_of_optimizer(optimizer: Any) -> Iterator[TrackableReference]:
    from stillflow.graph.graph import get_default_graph

    graph = get_default_graph()
    variables = getattr(optimizer, "_non_slot_dict", {})
    for key, variable in sorted(variables.items(), key=lambda item: str(item[0][0])):
        if getattr(variable, "graph", graph) is graph:
            yield TrackableReference(key[0], variable)


def saveables_of(thing: Any) -> dict[str, Any]:
    """Return an object's own saveables; see `Trackable._gather_saveables_for_checkpoint`."""
    gather = getattr(thing, "_gather_saveables_for_checkpoint", None)
    if gather is not None:
        found: dict[str, Any] = gather()
        return found
    return {VARIABLE_VALUE_KEY: thing} if _is_variable(thing) else {}
