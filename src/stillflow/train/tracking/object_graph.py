"""Objects reachable from a root, and their names in checkpoints."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from stillflow.graph.eager_mode import executing_eagerly
from stillflow.protos import TrackableObjectGraph
from stillflow.train import saveables as saveables_lib
from stillflow.train.tracking.base import TrackableReference, parts_of, saveables_of

_SLOTS = ".OPTIMIZER_SLOT"
_ATTRIBUTES = ".ATTRIBUTES"


def escape(name: str) -> str:
    """Return a local name as part of a path."""
    return name.replace(".", "..").replace("/", ".S")


class ObjectGraph:
    """The objects that a root leads to, the nearest first, and the variables in optimizers' slots.

    Args:
      root: The object.
      more: Additional parts of the root, given by the caller of the save.

    Attributes:
      objects: The objects; a node's number is its place here.
      names: The path to each of them.
    """

    def __init__(self, root: Any, more: Sequence[TrackableReference] = ()) -> None:
        self.objects: list[Any] = []
        self.names: list[str] = []
        self._more = more
        self._ids: dict[int, int] = {}
        self._parts: list[list[TrackableReference]] = []
        self._slots: dict[int, list[tuple[int, str, int]]] = {}
        self._walk(root)
        for node in range(len(self._parts)):
            self._add_slots(node)

    def _walk(self, root: Any) -> None:
        waiting = deque([(root, "")])
        self._ids[id(root)] = 0
        while waiting:
            thing, name = waiting.popleft()
            self.objects.append(thing)
            self.names.append(name)
            parts = [*parts_of(thing), *(self._more if thing is root else ())]
            self._parts.append(parts)
            for part in parts:
                if id(part.ref) not in self._ids:
                    self._ids[id(part.ref)] = len(self.objects) + len(waiting)
                    prefix = f"{name}/" if name else ""
                    waiting.append((part.ref, prefix + escape(part.name)))

    def _add_slots(self, node: int) -> None:
        optimizer = self.objects[node]
        if not hasattr(optimizer, "get_slot_names"):
            return
        for slot_name in optimizer.get_slot_names():
            for place, variable in enumerate(self.objects[: len(self._parts)]):
                try:
                    slot = optimizer.get_slot(variable, slot_name)
                except (AttributeError, KeyError, TypeError):
                    continue
                if slot is None or id(slot) in self._ids:
                    continue
                self._ids[id(slot)] = len(self.objects)
                self._slots.setdefault(node, []).append((place, slot_name, len(self.objects)))
                path = f"{self.names[place]}/{_SLOTS}/{self.names[node]}/{escape(slot_name)}"
                self.objects.append(slot)
                self.names.append(path)

    def write_nodes(self, message: Any) -> None:
        """Add a node for each object to a message that has such, with its parts and slots."""
        for node in range(len(self.objects)):
            entry = message.nodes.add()
            for part in self._parts[node] if node < len(self._parts) else ():
                entry.children.add(node_id=self._ids[id(part.ref)], local_name=part.name)
            for original, slot_name, slot in self._slots.get(node, ()):
                entry.slot_variables.add(
                    original_variable_node_id=original,
                    slot_name=slot_name,
                    slot_variable_node_id=slot,
                )

    def serialize(
        self, replaced: Mapping[int, Any] | None = None
    ) -> tuple[list[saveables_lib.SaveableObject], Any]:
        """Return the saveables, and the `TrackableObjectGraph` that describes them.

        Args:
          replaced: The stand-in of an object in another graph, by the `id` of the object.
        """
        message = TrackableObjectGraph()
        self.write_nodes(message)
        saveables: list[saveables_lib.SaveableObject] = []
        for thing, path, entry in zip(self.objects, self.names, message.nodes, strict=True):
            in_graph = saveables_of((replaced or {}).get(id(thing), thing))
            for name, factory in saveables_of(thing).items():
                key = f"{path}/{_ATTRIBUTES}/{escape(name)}"
                made = saveables_at(in_graph[name], key)
                attribute = entry.attributes.add(name=name, checkpoint_key=key)
                attribute.full_name = full_name_of(factory)
                attribute.optional_restore = all(one.optional_restore for one in made)
                for one in made:
                    one.full_name = attribute.full_name
                saveables.extend(made)
        return saveables, message


class ObjectGraphView:
    """The objects that a root leads to, whenever they are asked for.

    Args:
      root: The object; it is not kept alive.
    """

    def __init__(self, root: Any) -> None:
        self._root_ref = root if isinstance(root, weakref.ref) else weakref.ref(root)

    @property
    def root(self) -> Any:
        """The object; None if it no longer exists."""
        return self._root_ref()

    def list_objects(self) -> list[Any]:
        """Return the objects, the nearest first."""
        return ObjectGraph(self.root).objects

    def serialize_object_graph(self) -> tuple[list[Any], Any, dict[Any, Any]]:
        """Return the saveables, the `TrackableObjectGraph` that describes them, and the feeds."""
        saveables, message = ObjectGraph(self.root).serialize()
        feeds: dict[Any, Any] = {}
        if not executing_eagerly():
            for saveable in saveables:
                if hasattr(saveable, "feed_dict_additions"):
                    feeds.update(saveable.feed_dict_additions())
        return saveables, message, feeds


def saveables_at(factory: Any, key: str) -> list[saveables_lib.SaveableObject]:
    """Return the saveables of one attribute, under the key that a checkpoint has for it."""
    made = factory(key) if callable(factory) else factory
    if isinstance(made, saveables_lib.SaveableObject):
        return [made]
    return list(saveables_lib.saveable_objects_for_op(made, key))


def full_name_of(factory: Any) -> str:
    """Return the name under which a `Saver` would save a variable; "" for anything else."""
    if callable(factory):
        return ""
    names = saveables_lib.op_list_to_dict([factory], convert_variable_to_tensor=False)
    return next(iter(names), "")
