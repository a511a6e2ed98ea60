"""Python objects in checkpoints: they are saved as strings, and restored without operations."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import device
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.ops.constants import constant
from stillflow.train.saveables import SaveableObject, SaveSpec
from stillflow.train.tracking.base import Trackable


class PythonStateSaveable(SaveableObject):
    """A string that is asked for when it is saved.

    Args:
      name: Its name in the checkpoint.
      state_callback: Gives the string.
      restore_callback: Takes the one that was saved.
    """

    def __init__(
        self, name: str, state_callback: Callable[[], Any], restore_callback: Callable[[Any], Any]
    ) -> None:
        self._state_callback = state_callback
        self._restore_callback = restore_callback
        with device("/cpu:0"):
            content = state_callback() if executing_eagerly() else ""
            self._tensor = constant(content, dtype=dtypes.string)
        super().__init__(self._tensor, [SaveSpec(self._tensor, "", name)], name)

    def feed_dict_additions(self) -> dict[Any, Any]:
        """Return the feeds of the save operation."""
        return {self._tensor: self._state_callback()}

    def python_restore(self, value: bytes) -> None:
        """Restore the object from the saved value."""
        self._restore_callback(value)


@export("train.experimental.PythonState", "contrib.checkpoint.PythonStateWrapper")
class PythonState(Trackable, metaclass=abc.ABCMeta):
    """A base class of objects whose state is a string in checkpoints of objects.

    It is saved by `tf.train.Checkpoint`, in graphs too, and restored as soon as `restore` is
    called.
    """

    @abc.abstractmethod
    def serialize(self) -> Any:
        """Return the state as a string."""

    @abc.abstractmethod
    def deserialize(self, string_value: bytes) -> None:
        """Set the state from a string of `serialize`."""

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {"py_state": self._saveable}

    def _saveable(self, name: str) -> PythonStateSaveable:
        if executing_eagerly():
            return PythonStateSaveable(name, self.serialize, self.deserialize)
        known = self.__dict__.setdefault("_state_saveables", {})
        key = get_default_graph(), name  # saving again adds nothing to the graph
        if key not in known:
            known[key] = PythonStateSaveable(name, self.serialize, self.deserialize)
        made: PythonStateSaveable = known[key]
        return made
