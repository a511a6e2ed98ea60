"""Objects that get back what a checkpoint holds for them, those that come later too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import errors
from stillflow.graph.api import device
from stillflow.ops.io.bundles import restore_v2_op
from stillflow.protos import TrackableObjectGraph
from stillflow.train.checkpoint_utils import CheckpointReader, new_checkpoint_reader
from stillflow.train.initial_checkpoint import set_checkpoint_initializer
from stillflow.train.tracking.base import (
    OBJECT_GRAPH_PROTO_KEY,
    VARIABLE_VALUE_KEY,
    Trackable,
    parts_of,
    saveables_of,
)
from stillflow.train.tracking.object_graph import saveables_at
from stillflow.train.tracking.python_state import PythonState


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
        raise errors.DataLossError(None, None, message) from None


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

    def start(self, root: Any) -> None:
        """Finds the objects that the root leads to now."""
        self.bind(root, 0)
        self.bind_slots()
        self._started = True

    def bind(self, thing: Any, node: int) -> None:
        """Takes an object for a node, and its parts for that one's children."""
        waiting = [(thing, node)]
        while waiting:
            thing, node = waiting.pop()
            if node in self.objects or not node < len(self.graph.nodes):
                continue
            self.objects[node] = thing
            self._restore(thing, node)
            if node in self._optimizers and hasattr(thing, "_slot_restorations"):
                thing._slot_restorations.append(self)
            parts = {part.name: part.ref for part in parts_of(thing)}
            for child in self.graph.nodes[node].children:
                part = parts.get(child.local_name)
                if part is None and isinstance(thing, Trackable):
                    part = thing._lookup_dependency(child.local_name)  # one may be made for it
                if part is not None:
                    waiting.append((part, child.node_id))
                elif hasattr(thing, "_deferred") or isinstance(thing, Trackable):
                    later = thing._deferred.setdefault(child.local_name, [])
                    later.append((self, child.node_id))
        if self._started:
            self.bind_slots()

    def bind_slots(self) -> None:
        """Takes variables in slots of optimizers for their nodes, where both are known."""
        for node, slot in self._slots:
            optimizer = self.objects.get(node)
            variable = self.objects.get(slot.original_variable_node_id)
            if optimizer is None or variable is None or slot.slot_variable_node_id in self.objects:
                continue
            if not hasattr(optimizer, "get_slot"):
                continue
            try:
                found = optimizer.get_slot(variable, slot.slot_name)
            except KeyError:  # one of Keras, before it has made the slot
                found = None
            if found is not None:
                self.objects[slot.slot_variable_node_id] = found
                self._restore(found, slot.slot_variable_node_id)

    def _restore(self, thing: Any, node: int) -> None:
        """Adds what gives an object its values."""
        ops = self.ops_of(thing, node)
        self.restore_ops.extend(ops)
        if self.on_new_ops is not None and ops:
            self.on_new_ops(ops)

    def ops_of(self, thing: Any, node: int) -> list[Any]:
        """What gives an object the values of a node."""
        found: list[Any] = []
        factories = saveables_of(thing)
        for attribute in self.graph.nodes[node].attributes:
            factory = factories.get(attribute.name)
            if factory is None:
                self.unused.setdefault(node, []).append(attribute.name)
                continue
            if isinstance(thing, PythonState):
                self._restore_string(factory(attribute.checkpoint_key))
                continue
            key = (id(thing), attribute.checkpoint_key)
            if key not in self._cache:
                ops = [
                    restore_op(saveable, self._prefix)
                    for saveable in saveables_at(factory, attribute.checkpoint_key)
                ]
                self._cache[key] = thing, ops  # the object too: its id stays its own
            found.extend(self._cache[key][1])
        return found

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


def restore_op(saveable: Any, prefix: Any) -> Any:
    """What gives a saveable the value that the checkpoint `prefix` holds for it."""
    specs = saveable.specs
    with device("/cpu:0"):
        tensors = restore_v2_op(
            prefix,
            [spec.name for spec in specs],
            [spec.slice_spec for spec in specs],
            dtypes=[spec.dtype.base_dtype for spec in specs],
        )
    return saveable.restore(tensors, restored_shapes=None)


def open_checkpoint(path: str) -> tuple[CheckpointReader, Any]:
    """A checkpoint and its object graph, None if it is one of names."""
    reader = new_checkpoint_reader(path)
    return reader, read_object_graph(reader)
