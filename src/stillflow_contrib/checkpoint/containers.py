"""A container that makes the names of its parts unique."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.train.tracking.base import is_trackable
from stillflow.train.tracking.data_structures import TrackableDataStructure


@export("contrib.checkpoint.UniqueNameTracker")
class UniqueNameTracker(TrackableDataStructure):
    """Saves objects under names that it makes unique: `x`, `x_1`, `x_2`."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, int] = {}

    def track(self, trackable: Any, base_name: str) -> Any:
        """Make an object a part.

        Args:
          trackable: the object.
          base_name: its name, or how it begins.

        Returns:
          The object.

        Raises:
          ValueError: if it cannot be saved.
        """
        if not is_trackable(trackable):
            raise ValueError(
                f"Expected a trackable value, got {trackable} which does not inherit from "
                "tf.track.Trackable."
            )
        count = self._counts.get(base_name, 0)
        while self._lookup_dependency(_numbered(base_name, count)) is not None:
            count += 1
        self._counts[base_name] = count + 1
        return self._track_trackable(trackable, _numbered(base_name, count))


def _numbered(name: str, number: int) -> str:
    return f"{name}_{number}" if number else name
