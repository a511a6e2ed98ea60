"""Devices of a distributed value's parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from stillflow.distribute import devices as device_names
from stillflow.graph.constant_value import constant_value


class DeviceMap:
    """The devices of the parts of distributed values.

    Args:
      devices: their names.

    Raises:
      ValueError: if one is named twice.
    """

    num_logical_devices = 1

    def __init__(self, devices: Sequence[str]) -> None:
        self._devices = tuple(device_names.canonicalize(name) for name in devices)
        if len(set(self._devices)) != len(self._devices):
            raise ValueError(
                f"Duplicate devices in {devices}, after canonicalization: {self._devices}"
            )

    @property
    def all_devices(self) -> tuple[str, ...]:
        return self._devices

    def as_arguments(self) -> tuple[Any, ...]:
        """Return the name of the class, and the arguments that make a map like this."""
        return type(self).__name__, self._devices

    @property
    def devices_by_replica(self) -> Iterator[tuple[str, ...]]:
        raise ValueError(f"`{type(self).__name__}` is not indexed by replicas")

    @property
    def num_replicas_in_graph(self) -> int:
        return len(self._devices)

    def logical_device_from_values(self, values: Any) -> int:
        del values
        return 0

    def logical_to_actual_devices(self, logical_device_id: int) -> tuple[str, ...]:
        """Return the devices that one device of each replica stands for."""
        assert logical_device_id == 0
        return self._devices

    def select_for_current_replica(self, values: Sequence[Any], replica_context: Any) -> Any:
        """Return the part that belongs to the replica being built."""
        raise NotImplementedError

    def replica_for_device(self, device: str) -> int | None:
        """Return the replica on a device; None if there is none."""
        raise ValueError(f"`{type(self).__name__}` not indexed by replicas")

    def select_for_device(self, values: Sequence[Any], device: str) -> Any:
        """Return the part on a device; ValueError if there is none."""
        raise NotImplementedError

    def is_device_in_replica(self, device: str, replica_id: int) -> bool:
        raise ValueError(f"{type(self).__name__} not indexed by replicas")

    def _not_found(self, device: str) -> ValueError:
        return ValueError(
            f"Device {device} not found in {self._devices} "
            f"(current device {device_names.current()})"
        )


class SingleDeviceMap(DeviceMap):
    """One device.

    Args:
      device: its name.
    """

    def __init__(self, device: str) -> None:
        super().__init__((device,))

    def as_arguments(self) -> tuple[Any, ...]:
        return type(self).__name__, self._devices[0]

    def select_for_current_replica(self, values: Sequence[Any], replica_context: Any) -> Any:
        del replica_context
        (value,) = values
        return value

    def select_for_device(self, values: Sequence[Any], device: str) -> Any:
        (value,) = values
        if device not in self._devices:
            raise self._not_found(device)
        return value

    def __repr__(self) -> str:
        return f"SingleDeviceMap({self._devices[0]!r})"


class ReplicaDeviceMap(DeviceMap):
    """One device for each replica."""

    @property
    def devices_by_replica(self) -> Iterator[tuple[str, ...]]:
        return ((name,) for name in self._devices)

    def select_for_current_replica(self, values: Sequence[Any], replica_context: Any) -> Any:
        assert len(values) == len(self._devices)
        replica = replica_context.replica_id_in_sync_group
        if not isinstance(replica, int):
            replica = constant_value(replica)
        return values[0 if replica is None else int(replica)]

    def replica_for_device(self, device: str) -> int | None:
        return self._devices.index(device) if device in self._devices else None

    def select_for_device(self, values: Sequence[Any], device: str) -> Any:
        assert len(values) == len(self._devices)
        replica = self.replica_for_device(device)
        if replica is None:
            raise self._not_found(device)
        return values[replica]

    def is_device_in_replica(self, device: str, replica_id: int) -> bool:
        return device_names.canonicalize(device) == self._devices[replica_id]

    def __str__(self) -> str:
        return f"[{', '.join(self._devices)}]"

    def __repr__(self) -> str:
        return f"ReplicaDeviceMap([{', '.join(map(repr, self._devices))}])"


class WorkerDeviceMap(DeviceMap):
    """Map with one device for each worker, whose replicas share its values.

    Args:
      devices: their names.
      num_replicas_per_worker: how many replicas a worker has.
    """

    def __init__(self, devices: Sequence[str], num_replicas_per_worker: int) -> None:
        super().__init__(devices)
        self._num_replicas_per_worker = num_replicas_per_worker

    def as_arguments(self) -> tuple[Any, ...]:
        return type(self).__name__, self._devices, self._num_replicas_per_worker

    def select_for_current_replica(self, values: Sequence[Any], replica_context: Any) -> Any:
        replica = replica_context.replica_id_in_sync_group
        replica = replica if isinstance(replica, int) else constant_value(replica)
        assert replica is not None
        return values[int(replica) // self._num_replicas_per_worker]

    def select_for_device(self, values: Sequence[Any], device: str) -> Any:
        return values[self._devices.index(device_names.canonicalize(device))]

    def __repr__(self) -> str:
        return (
            f"WorkerDeviceMap({self._devices!r}, "
            f"num_replicas_per_worker={self._num_replicas_per_worker})"
        )


def of_arguments(kind: str, *arguments: Any) -> DeviceMap:
    """Return the device map of which `as_arguments` gave the arguments."""
    return {made.__name__: made for made in DeviceMap.__subclasses__()}[kind](*arguments)


class LogicalDeviceSpec(NamedTuple):
    """One device of each replica, as a destination."""

    device_map: DeviceMap
    logical_device: int
