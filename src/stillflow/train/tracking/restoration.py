"""Objects that get back what a checkpoint holds for them, those that come later too."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from stillflow import errors
from stillflow.platform import tf_logging as logging
from stillflow.protos import TrackableObjectGraph
from stillflow.train.checkpoint_utils import CheckpointReader, new_checkpoint_reader
from stillflow.train.initial_checkpoint import set_checkpoint_initializer
from stillflow.train.saveables import SaveableObject
from stillflow.train.tracking.base import (
    OBJECT_GRAPH_PROTO_KEY,
    VARIABLE_VALUE_KEY,
    Trackable,
    is_trackable,
    parts_of,
    saveables_of,
)
from stillflow.train.tracking.object_graph import saveables_at
from stillflow.train.tracking.python_state import PythonState
from stillflow.train.tracking.sharded_saves import restore_from_shards
from stillflow.variables.module import Module, offer_later

# By keys in the checkpoint: an object, and the parts of it that are to be restored.
_Found = dict[str, tuple[Any, list[SaveableObject]]]


def read_object_graph(reader: CheckpointReader) -> Any:
    """The `TrackableObjectGraph` in a checkpoint; None in one of names.

    Raises:
      DataLossError: If it is damaged.
    """
    from google.protobuf.message import DecodeError

    if not reader.has_tensor(OBJECT_GRAPH_PROTO_KEY):
        return None
    try:
        return TrackableObjectGraph.FromString(reader.get_tensor(OBJECT_GRAPH_PROTO_KEY))
    except DecodeError:
        message = f"{OBJECT_GRAPH_PROTO_KEY} is not parseable."
        raise errors.data_loss(message) from None


_INCONSISTENT = (
    "Inconsistent references when loading the checkpoint into this object graph. Either the "
    "Trackable object references in the Python program have changed in an incompatible way, or the "
    "checkpoint was generated in an incompatible program.\n\nTwo checkpoint references resolved to "
    "different objects ({} and {})."
)


class Restoration:
    """One checkpoint, and which of its nodes are which objects.

    Attributes:
      graph: The `TrackableObjectGraph`.
      objects: The object of each node that has one.
      restore_ops: What reads the values.
      on_new_ops: Called with those of objects that come later, if it is not None.
    """

    def __init__(self, path: str, graph: Any, prefix: Any, cache: dict[Any, Any]) -> None:
        self.path = path
        self.graph = graph
        self.objects: dict[int, Any] = {}
        self.restore_ops: list[Any] = []
        self.unused: dict[int, list[str]] = {}
        self.on_new_ops: Callable[[list[Any]], Any] | None = None
        self._prefix = prefix
        self._cache = cache
        self._started = False
        self._slots = [
            (node, slot) for node, entry in enumerate(graph.nodes) for slot in entry.slot_variables
        ]
        self._optimizers = {node for node, _ in self._slots}
        self._slots_of: dict[int, list[tuple[int, Any]]] = {}  # by the variable's node
        for node, slot in self._slots:
            self._slots_of.setdefault(slot.original_variable_node_id, []).append((node, slot))
        self._waiting_slots: dict[int, list[tuple[int, Any]]] = {}  # by the optimizer's node

    def start(self, root: Any) -> None:
        """Finds the objects that the root leads to now."""
        self.bind(root, 0)
        self.bind_slots()
        self._started = True

    def bind(self, thing: Any, node: int) -> None:
        """Takes an object for a node, and its parts for that one's children."""
        waiting = deque([(thing, node)] if self._take(thing, node) else [])
        found: _Found = {}
        while waiting:
            thing, node = waiting.popleft()
            known, own = self._to_restore(thing, node)
            self._add_ops(known)
            found.update(own)
            parts = {part.name: part.ref for part in parts_of(thing)}
            for child in self.graph.nodes[node].children:
                part = parts.get(child.local_name)
                if part is None and isinstance(thing, Trackable):
                    part = thing._lookup_dependency(child.local_name)  # one may be made for it
                if part is None:
                    if hasattr(thing, "_deferred") or isinstance(thing, Trackable):
                        later = thing._deferred.setdefault(child.local_name, [])
                        later.append((self, child.node_id))
                    elif isinstance(thing, Module):
                        offer_later(thing, child.local_name, partial(self._offered, child.node_id))
                elif self._take(part, child.node_id):
                    waiting.append((part, child.node_id))
        self._add_ops(self._restore(found))
        if self._started:
            self.bind_slots()

    def _offered(self, node: int, thing: Any) -> bool:
        """Takes what a module was assigned later, if it can be a part of it."""
        if not is_trackable(thing):
            return False
        self.bind(thing, node)
        return True

    def _take(self, thing: Any, node: int) -> bool:
        """Notes the object of a node, and what is known of its slots; False if it has one."""
        if not node < len(self.graph.nodes):
            return False
        if node in self.objects:
            if self.objects[node] is not thing:
                logging.warning(_INCONSISTENT.format(self.objects[node], thing))
            return False
        self.objects[node] = thing
        if node in self._optimizers and hasattr(thing, "_slot_restorations"):
            thing._slot_restorations.append(self)
        for optimizer, slot in self._waiting_slots.pop(node, ()):
            self._bind_slot(optimizer, slot)
        for optimizer, slot in self._slots_of.get(node, ()):
            if optimizer in self.objects:
                self._bind_slot(optimizer, slot)
            else:
                self._waiting_slots.setdefault(optimizer, []).append((optimizer, slot))
        return True

    def bind_slots(self) -> None:
        """Takes variables in slots of optimizers for their nodes, where both are known."""
        for optimizer, slot in self._slots:
            self._bind_slot(optimizer, slot)

    def _bind_slot(self, node: int, slot: Any) -> None:
        optimizer = self.objects.get(node)
        variable = self.objects.get(slot.original_variable_node_id)
        place = slot.slot_variable_node_id
        if optimizer is None or variable is None or place in self.objects:
            return
        if not hasattr(optimizer, "get_slot"):
            return
        try:
            found = optimizer.get_slot(variable, slot.slot_name)
        except KeyError:  # one of Keras, before it has made the slot
            found = None
        if found is not None:
            self.objects[place] = found
            self._add_ops(self.ops_of(found, place))

    def ops_of(self, thing: Any, node: int) -> list[Any]:
        """What gives an object the values of a node."""
        known, found = self._to_restore(thing, node)
        return [*known, *self._restore(found)]

    def _to_restore(self, thing: Any, node: int) -> tuple[list[Any], _Found]:
        """What gives an object the values of a node already, and what of it is to be restored."""
        known: list[Any] = []
        found: _Found = {}
        factories = saveables_of(thing)
        for attribute in self.graph.nodes[node].attributes:
            factory = factories.get(attribute.name)
            key = attribute.checkpoint_key
            if factory is None:
                self.unused.setdefault(node, []).append(attribute.name)
            elif isinstance(thing, PythonState):
                self._restore_string(factory(key))
            elif (id(thing), key) in self._cache:
                known.extend(self._cache[id(thing), key][1])
            else:
                found[key] = thing, saveables_at(factory, key)
        return known, found

    def _restore(self, found: _Found) -> list[Any]:
        """Adds what gives objects their values; one read for all on a device."""
        made: list[Any] = []
        ordered = sorted(found.items(), key=lambda item: item[0])
        saveables = [saveable for _, (_, parts) in ordered for saveable in parts]
        ops = {id(one): op for one, op in restore_from_shards(self._prefix, saveables)}
        for key, (thing, parts) in ordered:
            own = [ops[id(one)] for one in parts]
            self._cache[id(thing), key] = thing, own  # the object too: its id stays its own
            made.extend(own)
        return made

    def _add_ops(self, ops: list[Any]) -> None:
        self.restore_ops.extend(ops)
        if self.on_new_ops is not None and ops:
            self.on_new_ops(ops)

    def _restore_string(self, saveable: Any) -> None:
        """Gives a Python object its state, which takes no operation."""
        reader = new_checkpoint_reader(self.path)
        saveable.python_restore(reader.get_tensor(saveable.name))

    def initialize(self, variable: Any, node: int) -> None:
        """Lets a variable that is made now start with what the checkpoint holds for it."""
        if variable.handle.holds_value:
            return  # it has its value as soon as it is known whose part it is
        for attribute in self.graph.nodes[node].attributes:
            if attribute.name == VARIABLE_VALUE_KEY:
                set_checkpoint_initializer(variable, self.path, attribute.checkpoint_key, "")


def open_checkpoint(path: str) -> tuple[CheckpointReader, Any]:
    """A checkpoint and its object graph, None if it is one of names."""
    reader = new_checkpoint_reader(path)
    return reader, read_object_graph(reader)
