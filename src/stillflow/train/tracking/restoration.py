"""Objects restored from a checkpoint, including those created later."""

from __future__ import annotations

import functools
import itertools
import sys
from collections import deque
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from stillflow import errors
from stillflow.graph.api import init_scope
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.graph import get_default_graph
from stillflow.ops.io.bundles import restore_v2_op
from stillflow.platform import tf_logging as logging
from stillflow.protos import TrackableObjectGraph
from stillflow.train.checkpoint_utils import CheckpointReader, new_checkpoint_reader
from stillflow.train.initial_checkpoint import set_checkpoint_initializer
from stillflow.train.saveables import SaveableObject
from stillflow.train.tracking.base import (
    OBJECT_GRAPH_PROTO_KEY,
    VARIABLE_VALUE_KEY,
    Trackable,
    parts_of,
    saveables_of,
)
from stillflow.train.tracking.object_graph import saveables_at
from stillflow.train.tracking.python_state import PythonStateSaveable
from stillflow.train.tracking.sharded_saves import restore_from_shards

# By keys in the checkpoint: an object, and the parts of it that are to be restored.
_Found = dict[str, tuple[Any, list[SaveableObject]]]


def read_object_graph(reader: CheckpointReader) -> Any:
    """Return the `TrackableObjectGraph` in a checkpoint; None in one of names.

    DataLossError if it is damaged.
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


_UNUSED = (
    "A checkpoint was restored (e.g. tf.train.Checkpoint.restore or tf.keras.Model.load_weights) "
    "but not all checkpointed values were used. See above for specific issues. Use "
    "expect_partial() on the load status object, e.g. "
    "tf.train.Checkpoint.restore(...).expect_partial(), to silence these warnings, or use "
    "assert_consumed() to make the check explicit. See "
    "https://www.tensorflow.org/alpha/guide/checkpoints#loading_mechanics for details."
)


def node_names(graph: Any) -> dict[int, str]:
    """Return the paths of the nodes of an object graph, as a Python program would write them."""
    names = {0: "(root)"}
    waiting = deque([0])
    while waiting:
        node = waiting.popleft()
        for child in graph.nodes[node].children:
            if child.node_id not in names:
                names[child.node_id] = f"{names[node]}.{child.local_name}"
                waiting.append(child.node_id)
    for node, entry in enumerate(graph.nodes):
        for slot in entry.slot_variables:
            of = names.get(slot.original_variable_node_id, "")
            state = f"{names.get(node, '')}'s state '{slot.slot_name}' for {of}"
            names[slot.slot_variable_node_id] = state
    return names


class _Leftovers:
    """Warning about unused parts of a checkpoint, given when nothing can use them any more.

    It references no object, so it is deleted with the last restoration that waits for some.
    """

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.matched: set[int] = set()
        self.unused: dict[int, list[str]] = {}
        self.expected = False

    def __del__(self) -> None:
        missing = [node for node in range(len(self.graph.nodes)) if node not in self.matched]
        if self.expected or not (missing or self.unused) or sys.is_finalizing():
            return
        names = node_names(self.graph)
        for node in missing:
            logging.warning(f"Unresolved object in checkpoint: {names.get(node, node)}")
        for node, attributes in self.unused.items():
            logging.warning(f"Unused attribute in object {names.get(node, node)}: {attributes}")
        logging.warning(_UNUSED)


_numbers = itertools.count()


def next_number() -> int:
    """Return the number of a restoration: higher than those of all before it."""
    return next(_numbers)


def restored_since(thing: Any, number: int) -> bool:
    """Return True if an object has values from the restoration of a number, or a later one."""
    return bool(getattr(thing, "_restored_by", -1) >= number)


class Restoration:
    """One checkpoint, and which of its nodes are which objects.

    Attributes:
      graph: The `TrackableObjectGraph`.
      objects: The object of each node that has one, while something else keeps it.
      restore_ops: The operations that read the values.
      unused: By node, the attributes that objects do not have.
      on_new_ops: Called with those of objects that come later, if it is not None.
    """

    def __init__(self, path: str, graph: Any, prefix: Any, cache: dict[Any, Any]) -> None:
        self.path = path
        self.graph = graph
        self.objects: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self.restore_ops: list[Any] = []
        self._leftovers = _Leftovers(graph)
        self.unused = self._leftovers.unused
        self.number = next_number()  # the last restoration counts
        self.on_new_ops: Callable[[list[Any]], Any] | None = None
        self._prefix = prefix
        self._cache = cache
        self._started = False
        self._binds_slot = False
        self._slots = [
            (node, slot) for node, entry in enumerate(graph.nodes) for slot in entry.slot_variables
        ]
        self._optimizers = {node for node, _ in self._slots}
        self._slots_of: dict[int, list[tuple[int, Any]]] = {}  # by the variable's node
        for node, slot in self._slots:
            self._slots_of.setdefault(slot.original_variable_node_id, []).append((node, slot))
        self._waiting_slots: dict[int, list[tuple[int, Any]]] = {}  # by the optimizer's node

    def expect_partial(self) -> None:
        """Allow a part of the checkpoint to stay unused."""
        self._leftovers.expected = True

    def start(self, root: Any) -> None:
        """Find the objects that the root leads to now."""
        self.bind(root, 0)
        self.bind_slots()
        self._started = True

    def bind(self, thing: Any, node: int) -> None:
        """Assign an object to a node, and its parts to that one's children."""
        with init_scope():  # objects created while a function is traced are restored outside of it
            self._bind(thing, node)

    def _bind(self, thing: Any, node: int) -> None:
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
                elif self._take(part, child.node_id):
                    waiting.append((part, child.node_id))
        self._add_ops(self._restore(found))
        if self._started:
            self.bind_slots()

    def _take(self, thing: Any, node: int) -> bool:
        """Record the object of a node, and its known slots; return False if it has one."""
        if not node < len(self.graph.nodes):
            return False
        if node in self.objects:
            if self.objects[node] is not thing:
                logging.warning(_INCONSISTENT.format(self.objects[node], thing))
            return False
        self.objects[node] = thing
        self._leftovers.matched.add(node)
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
        """Assign variables in slots of optimizers to their nodes, where both are known."""
        if not self._binds_slot:
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
        if found is None and executing_eagerly():
            found = self._made_slot(optimizer, variable, slot)
        if found is not None:
            self.objects[place] = found
            self._leftovers.matched.add(place)
            self._add_ops(self.ops_of(found, place))

    def _made_slot(self, optimizer: Any, variable: Any, slot: Any) -> Any:
        """Return a slot that starts with its value in the checkpoint; None if it cannot be made."""
        entry = self.graph.nodes[slot.slot_variable_node_id]
        keys = [one.checkpoint_key for one in entry.attributes if one.name == VARIABLE_VALUE_KEY]
        if not keys or not hasattr(optimizer, "make_restored_slot"):
            return None
        if get_default_graph()._variable_creator_stack:  # it is not to become a template's
            return None
        dtype = self._reader.get_variable_to_dtype_map()[keys[0]]
        (value,) = restore_v2_op(self._prefix, keys, [""], dtypes=[dtype])
        self._binds_slot = True  # the optimizer tells of every new slot
        try:
            return optimizer.make_restored_slot(variable, slot.slot_name, value)
        finally:
            self._binds_slot = False

    @functools.cached_property
    def _reader(self) -> CheckpointReader:
        return new_checkpoint_reader(self.path)

    def ops_of(self, thing: Any, node: int) -> list[Any]:
        """Return the operations that give an object the values of a node."""
        known, found = self._to_restore(thing, node)
        return [*known, *self._restore(found)]

    def _to_restore(self, thing: Any, node: int) -> tuple[list[Any], _Found]:
        """Return the existing restore operations of an object, and its parts to restore."""
        known: list[Any] = []
        found: _Found = {}
        if not self._is_newest(thing):
            return known, found
        factories = saveables_of(thing)
        for attribute in self.graph.nodes[node].attributes:
            factory = factories.get(attribute.name)
            key = attribute.checkpoint_key
            if factory is None:
                if not attribute.optional_restore:
                    self.unused.setdefault(node, []).append(attribute.name)
            elif (id(thing), key) in self._cache:
                known.extend(self._cache[id(thing), key][1])
            else:
                made = saveables_at(factory, key)
                if isinstance(made[0], PythonStateSaveable):
                    self._restore_string(made[0])
                else:
                    found[key] = thing, made
        return known, found

    def _is_newest(self, thing: Any) -> bool:
        """Return True unless a checkpoint restored later has given the object its values."""
        if restored_since(thing, self.number + 1):
            return False
        object.__setattr__(thing, "_restored_by", self.number)
        return True

    def _restore(self, found: _Found) -> list[Any]:
        """Add the operations that restore objects; one read for all on a device."""
        made: list[Any] = []
        ordered = sorted(found.items(), key=lambda item: item[0])
        saveables = [saveable for _, (_, parts) in ordered for saveable in parts]
        ops = {id(one): op for one, op in restore_from_shards(self._prefix, saveables)}
        for key, (thing, parts) in ordered:
            own = [ops[id(one)] for one in parts]
            if not executing_eagerly():  # there, they ran
                self._cache[id(thing), key] = thing, own  # the object too: its id stays its own
                made.extend(own)
        return made

    def _add_ops(self, ops: list[Any]) -> None:
        self.restore_ops.extend(ops)
        if self.on_new_ops is not None and ops:
            self.on_new_ops(ops)

    def _restore_string(self, saveable: Any) -> None:
        """Set the state of a Python object, which takes no operation."""
        saveable.python_restore(self._reader.get_tensor(saveable.name))

    def initialize(self, variable: Any, node: int) -> None:
        """Make a new variable start with its value in the checkpoint."""
        if variable.handle.holds_value:
            return  # it has its value as soon as it is known whose part it is
        for attribute in self.graph.nodes[node].attributes:
            if attribute.name == VARIABLE_VALUE_KEY:
                set_checkpoint_initializer(variable, self.path, attribute.checkpoint_key, "")


def open_checkpoint(path: str) -> tuple[CheckpointReader, Any]:
    """Return a checkpoint and its object graph, None if it is one of names."""
    reader = new_checkpoint_reader(path)
    return reader, read_object_graph(reader)
