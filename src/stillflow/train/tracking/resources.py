"""Objects that stand for a resource of the graph, such as tables."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from stillflow.graph.api import device as device_scope
from stillflow.graph.operation import Tensor
from stillflow.train.tracking.base import Trackable


class ResourceTracker:
    """The resources that were made while it was tracking, in the order they came."""

    def __init__(self) -> None:
        self.resources: list[Any] = []

    def add_resource(self, resource: Any) -> None:
        """Add one."""
        self.resources.append(resource)


_trackers: list[ResourceTracker] = []


@contextlib.contextmanager
def resource_tracker_scope(resource_tracker: ResourceTracker) -> Iterator[None]:
    """Return a context in which a tracker records every resource."""
    _trackers.append(resource_tracker)
    try:
        yield
    finally:
        _trackers.remove(resource_tracker)


class CapturableResource(Trackable):
    """An object with a handle of a resource, which is made when it is asked for.

    Args:
      device: where; anywhere if it is "".
    """

    _resource_handle: Any = None
    _resource_device: Any = ""

    def __init__(self, device: Any = "") -> None:
        self._resource_device = device

    def _create_resource(self) -> Any:
        raise NotImplementedError("TrackableResource._create_resource not implemented.")

    @property
    def resource_handle(self) -> Tensor:
        """The tensor that stands for the resource."""
        if self._resource_handle is None:
            with device_scope(self._resource_device):
                self._resource_handle = self._create_resource()
        return self._resource_handle


class TrackableResource(CapturableResource):
    """A resource that trackers are told of; see `CapturableResource`."""

    def __init__(self, device: Any = "") -> None:
        for tracker in _trackers:
            tracker.add_resource(self)
        super().__init__(device)
