"""`tf.contrib.checkpoint.NumpyState`: arrays in checkpoints of objects."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from stillflow.graph.export import export
from stillflow.train.tracking.base import Trackable
from stillflow.train.tracking.python_state import PythonState


class _SavedArray(PythonState):
    """One array."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def serialize(self) -> bytes:
        file = io.BytesIO()
        np.save(file, self.array, allow_pickle=False)
        return file.getvalue()

    def deserialize(self, string_value: bytes) -> None:
        self.array = np.load(io.BytesIO(string_value), allow_pickle=False)


@export("contrib.checkpoint.NumpyState")
class NumpyState(Trackable):
    """An object whose attributes are NumPy arrays, which are saved and restored with it.

    Restoring makes the attributes that were there when it was saved. It needs no session.
    """

    def _lookup_dependency(self, name: str) -> Any:
        found = super()._lookup_dependency(name)
        if found is None:  # a checkpoint has it: it becomes an attribute
            found = _SavedArray(np.array([]))
            self._track_trackable(found, name)
            object.__setattr__(self, name, found)
        return found

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        return value.array if isinstance(value, _SavedArray) else value

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an array as an attribute.

        Raises:
          NotImplementedError: if it is something else.
        """
        if not isinstance(value, (np.ndarray, np.generic)):
            raise NotImplementedError(
                f"Assigned {value} to the {name} property of {self}, which is not a NumPy array. "
                "Currently mixing NumPy arrays and other trackable objects is not supported. File "
                "a feature request if this limitation bothers you."
            )
        known = self.__dict__.get(name)
        if isinstance(known, _SavedArray):
            known.array = value
            return
        saved = _SavedArray(value)
        self._track_trackable(saved, name, overwrite=True)
        object.__setattr__(self, name, saved)
