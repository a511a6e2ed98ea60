"""tf.contrib.tpu.Topology: the devices of a TPU system and their places in its mesh."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.graph.export import export
from stillflow.protos import TopologyProto

_RANK = 3


@export("contrib.tpu.Topology")
class Topology:
    """TPU devices by task and number, and their coordinates in a mesh of three dimensions.

    Args:
      serialized: a serialized `TopologyProto`, which `ConfigureDistributedTPU` returns; the other
        arguments count only without it.
      mesh_shape: three positive sizes.
      device_coordinates: an array `[tasks, devices of a task, 3]`.

    Raises:
      ValueError: the shapes do not fit, or the message holds a negative number.
    """

    def __init__(
        self, serialized: Any = None, mesh_shape: Any = None, device_coordinates: Any = None
    ) -> None:
        self._serialized = serialized
        if serialized:
            self._read(serialized)
        else:
            self._mesh_shape = np.asarray(mesh_shape, dtype=np.int32)
            self._device_coordinates = np.asarray(device_coordinates, dtype=np.int32)
            if self._mesh_shape.shape != (_RANK,) or np.any(self._mesh_shape < 1):
                raise ValueError(
                    f"`mesh_shape` must be a sequence of 3 positive entries; got {self._mesh_shape}"
                )
            shape = self._device_coordinates.shape
            if len(shape) != 3 or shape[2] != _RANK:
                raise ValueError(
                    "`device_coordinates` must be a rank 3 int32 array with minor dimension equal "
                    "to the mesh shape rank"
                )
        self._topology_tasks, self._topology_devices = self._by_place()

    def _read(self, serialized: bytes) -> None:
        message = TopologyProto.FromString(serialized)
        self._mesh_shape = np.array(message.mesh_shape, dtype=np.int32)
        if len(self._mesh_shape) != _RANK or np.any(self._mesh_shape < 1):
            raise ValueError(
                "`mesh_shape` must be a vector of size 3 with positive entries; got "
                f"{self._mesh_shape}"
            )
        for field in ("num_tasks", "num_tpu_devices_per_task"):
            if getattr(message, field) < 0:
                raise ValueError(f"`{field}` must be >= 0; got {getattr(message, field)}")
        coordinates = np.array(message.device_coordinates, dtype=np.int32)
        shape = (message.num_tasks, message.num_tpu_devices_per_task, _RANK)
        if coordinates.size != np.prod(shape, dtype=np.int64):
            raise ValueError(
                f"`device_coordinates` must have shape num_tasks ({shape[0]}) * "
                f"num_tpu_devices_per_task ({shape[1]}) * len(mesh_shape) "
                f"({list(message.mesh_shape)}); got shape {coordinates.size}"
            )
        if np.any(coordinates < 0):
            raise ValueError("`device_coordinates` must be >= 0")
        self._device_coordinates = coordinates.reshape(shape)

    def _by_place(self) -> tuple[Any, Any]:
        """Return arrays of the mesh's shape with the task, and the device, in each place."""
        tasks = np.full(self._mesh_shape, -1, dtype=np.int32)
        devices = np.full(self._mesh_shape, -1, dtype=np.int32)
        for task, device in np.ndindex(self._device_coordinates.shape[:2]):
            place = tuple(self._device_coordinates[task, device])
            tasks[place], devices[place] = task, device
        return tasks, devices

    @property
    def mesh_shape(self) -> Array:
        """The three sizes of the mesh, an int32 array."""
        return self._mesh_shape

    @property
    def mesh_rank(self) -> int:
        """The number of dimensions of the mesh."""
        return len(self._mesh_shape)

    @property
    def device_coordinates(self) -> Array:
        """An int32 array `[tasks, devices of a task, dimension]`."""
        return self._device_coordinates

    @property
    def num_tasks(self) -> int:
        """The number of tasks."""
        return int(self._device_coordinates.shape[0])

    @property
    def num_tpus_per_task(self) -> int:
        """The number of TPU devices of each task."""
        return int(self._device_coordinates.shape[1])

    def task_ordinal_at_coordinates(self, device_coordinates: Any) -> np.int32:
        """Return the number of the task at coordinates of the mesh."""
        return self._topology_tasks[tuple(device_coordinates)]

    def tpu_device_ordinal_at_coordinates(self, device_coordinates: Any) -> np.int32:
        """Return the device's number, within its task, at coordinates of the mesh."""
        return self._topology_devices[tuple(device_coordinates)]

    def cpu_device_name_at_coordinates(self, device_coordinates: Any, job: Any = None) -> str:
        """Return the name of the host's CPU device at coordinates of the mesh."""
        task = self.task_ordinal_at_coordinates(device_coordinates)
        return f"{_job(job)}/task:{task}/device:CPU:0"

    def tpu_device_name_at_coordinates(self, device_coordinates: Any, job: Any = None) -> str:
        """Return the name of the TPU device at coordinates of the mesh."""
        task = self.task_ordinal_at_coordinates(device_coordinates)
        device = self.tpu_device_ordinal_at_coordinates(device_coordinates)
        return f"{_job(job)}/task:{task}/device:TPU:{device}"

    def serialized(self) -> bytes:
        """Return the serialized `TopologyProto`."""
        if self._serialized is None:
            self._serialized = TopologyProto(
                mesh_shape=self._mesh_shape.tolist(),
                num_tasks=self.num_tasks,
                num_tpu_devices_per_task=self.num_tpus_per_task,
                device_coordinates=self._device_coordinates.ravel().tolist(),
            ).SerializeToString()
        found: bytes = self._serialized
        return found


def _job(job: str | None) -> str:
    return "" if job is None else f"/job:{job}"
