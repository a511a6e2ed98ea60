"""Writing and reading of checkpoints of all objects reachable from one."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from stillflow.files import gfile
from stillflow.graph import dtypes
from stillflow.graph.api import device
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import no_op
from stillflow.platform import compat
from stillflow.train.immediate_saves import save_now
from stillflow.train.saveables import SaveableObject, SaveSpec
from stillflow.train.tracking import status as status_lib
from stillflow.train.tracking.base import OBJECT_GRAPH_PROTO_KEY, TrackableReference
from stillflow.train.tracking.object_graph import ObjectGraph, ObjectGraphView
from stillflow.train.tracking.python_state import PythonStateSaveable
from stillflow.train.tracking.restoration import Restoration, open_checkpoint
from stillflow.train.tracking.sharded_saves import save_in_shards


class SavedGraph(SaveableObject):
    """The description of the objects, which is saved and not restored.

    Args:
      content: The description, or the tensor that is fed with it.
    """

    def __init__(self, content: Any) -> None:
        with device("/cpu:0"):
            tensor = constant(content, dtype=dtypes.string) if type(content) is bytes else content
        spec = SaveSpec(tensor, "", OBJECT_GRAPH_PROTO_KEY)
        super().__init__(tensor, [spec], OBJECT_GRAPH_PROTO_KEY)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Operation:
        """Do nothing: the objects exist."""
        del restored_tensors, restored_shapes
        return no_op()


class TrackableSaver:
    """Saver of an object and all objects reachable from it; keeps the operations.

    Args:
      root: The object, or a view of what it leads to. It may have this as an attribute, and is
        not kept alive by it.
      more: Parts that are saved with it besides its own.
    """

    def __init__(self, root: Any, more: Sequence[TrackableReference] = ()) -> None:
        if isinstance(root, ObjectGraphView):
            root = root.root
        self._root_ref = weakref.ref(root)
        self._more = more
        self._fed: tuple[Any, Any] | None = None  # the description and the prefix of a save
        self._prefix: Any = None  # that of the restored checkpoint
        self._restore_cache: dict[Any, Any] = {}
        self._save_cache: tuple[bytes, Any] | None = None

    @property
    def _root(self) -> Any:
        root = self._root_ref()
        assert root is not None, "the object to save or restore no longer exists"
        return root

    def save(self, file_prefix: Any, session: Any = None) -> Any:
        """Write a checkpoint under exactly this prefix; give it as a string.

        In a function, the result is the tensor of the written path.
        """
        folder = os.path.dirname(os.fspath(file_prefix))
        if folder:
            gfile.recursive_create_dir(folder)
        if get_default_graph().building_function:
            saveables, message = ObjectGraph(self._root, self._more).serialize()
            content = message.SerializeToString(deterministic=True)
            with device("/cpu:0"):
                prefix = constant(file_prefix, dtypes.string)
            return save_in_shards(prefix, [*saveables, SavedGraph(content)])
        if session is None:
            saveables, message = ObjectGraph(self._root, self._more).serialize()
            content = message.SerializeToString(deterministic=True)
            return save_now([*saveables, SavedGraph(content)], os.fspath(file_prefix))
        if self._fed is None:
            with device("/cpu:0"):
                self._fed = constant("", dtypes.string), constant("", dtypes.string)
        description, prefix = self._fed
        saveables, message = ObjectGraph(self._root, self._more).serialize()
        content = message.SerializeToString(deterministic=True)
        feeds = {prefix: os.fspath(file_prefix), description: content}
        for saveable in saveables:
            if isinstance(saveable, PythonStateSaveable):
                feeds.update(saveable.feed_dict_additions())
        if self._save_cache is None or self._save_cache[0] != content:
            saved = save_in_shards(prefix, [*saveables, SavedGraph(description)])
            self._save_cache = content, saved
        path = session.run(self._save_cache[1], feeds)
        return compat.as_str(path)

    def _prefix_to_restore(self) -> Tensor:
        if self._prefix is None:
            with device("/cpu:0"):
                self._prefix = constant("model")
        return self._prefix

    def restore(self, save_path: Any, prepare: Callable[[], Any] | None = None) -> Any:
        """Prepare reading a checkpoint.

        Args:
          save_path: The checkpoint, of objects or one that a `Saver` wrote.
          prepare: Called before the objects are collected.

        Returns:
          A status.
        """
        save_path = os.fspath(save_path)
        reader, graph = open_checkpoint(save_path)
        if graph is None:
            names = set(reader.get_variable_to_shape_map())
            status = status_lib.NameBasedSaverStatus(self._root, save_path, names)
            if executing_eagerly():
                status.run_restore_ops()
            return status
        if executing_eagerly():  # a read happens at once, and again each time
            prefix: Any = constant(save_path)
            restoration, feeds = Restoration(save_path, graph, prefix, {}), {}
        else:
            prefix = self._prefix_to_restore()
            restoration = Restoration(save_path, graph, prefix, self._restore_cache)
            feeds = {prefix: save_path}
        if prepare is not None:
            prepare()
        restoration.start(self._root)
        return status_lib.CheckpointLoadStatus(self._root, restoration, feeds)
