"""Writes and reads checkpoints of the objects that one object leads to."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import device
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.ops.constants import constant, placeholder_with_default
from stillflow.ops.control import with_dependencies
from stillflow.platform import compat
from stillflow.train import saver_builder
from stillflow.train.immediate_saves import save_now
from stillflow.train.saveables import SaveableObject, SaveSpec
from stillflow.train.tracking import status as status_lib
from stillflow.train.tracking.base import OBJECT_GRAPH_PROTO_KEY, TrackableReference
from stillflow.train.tracking.object_graph import ObjectGraph
from stillflow.train.tracking.python_state import PythonStateSaveable
from stillflow.train.tracking.restoration import Restoration, open_checkpoint


class SavedGraph(SaveableObject):
    """The description of the objects, which is saved and not restored."""

    def __init__(self, content: bytes) -> None:
        with device("/cpu:0"):
            tensor = constant(content, dtype=dtypes.string)
        spec = SaveSpec(tensor, "", OBJECT_GRAPH_PROTO_KEY)
        super().__init__(tensor, [spec], OBJECT_GRAPH_PROTO_KEY)


class TrackableSaver:
    """Writes and reads checkpoints of an object and what it leads to; keeps the operations.

    Args:
      root: The object.
      more: Parts that are saved with it besides its own.
    """

    def __init__(self, root: Any, more: Sequence[TrackableReference] = ()) -> None:
        self._root = root
        self._more = more
        self._prefix: Any = None
        self._restore_cache: dict[Any, Any] = {}
        self._save_cache: tuple[bytes, Any] | None = None

    def _file_prefix(self) -> Any:
        if self._prefix is None:
            with device("/cpu:0"):
                self._prefix = placeholder_with_default("model", shape=(), name="checkpoint_prefix")
        return self._prefix

    def save(self, file_prefix: Any, session: Any) -> str:
        """Writes a checkpoint under exactly this prefix; gives it as a string."""
        if session is None:
            saveables, message = ObjectGraph(self._root, self._more).serialize()
            content = message.SerializeToString(deterministic=True)
            return save_now([*saveables, SavedGraph(content)], os.fspath(file_prefix))
        prefix = self._file_prefix()
        saveables, message = ObjectGraph(self._root, self._more).serialize()
        content = message.SerializeToString(deterministic=True)
        feeds = {prefix: os.fspath(file_prefix)}
        for saveable in saveables:
            if isinstance(saveable, PythonStateSaveable):
                feeds.update(saveable.feed_dict_additions())
        if self._save_cache is None or self._save_cache[0] != content:
            with device("/cpu:0"):
                saveables = [*saveables, SavedGraph(content)]
                save = saver_builder.BaseSaverBuilder().save_op(prefix, saveables)
                self._save_cache = content, with_dependencies([save], prefix)
        path = session.run(self._save_cache[1], feeds)
        return compat.as_str(path)

    def restore(self, save_path: Any, prepare: Callable[[], Any] | None = None) -> Any:
        """Prepares reading a checkpoint.

        Args:
          save_path: The checkpoint, of objects or one that a `Saver` wrote.
          prepare: What is called before the objects are looked at.

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
        if executing_eagerly():  # what is read is read at once, and anew
            prefix: Any = constant(save_path)
            restoration, feeds = Restoration(save_path, graph, prefix, {}), {}
        else:
            prefix = self._file_prefix()
            restoration = Restoration(save_path, graph, prefix, self._restore_cache)
            feeds = {prefix: save_path}
        if prepare is not None:
            prepare()
        restoration.start(self._root)
        return status_lib.CheckpointLoadStatus(self._root, restoration, feeds)
