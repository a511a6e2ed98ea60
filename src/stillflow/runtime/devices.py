"""The devices that a session can place operations on."""

from __future__ import annotations

from functools import cache
from typing import Any

from stillflow.graph.device import canonical_name
from stillflow.graph.export import export


@cache
def gpu_count() -> int:
    """How many CUDA devices torch sees."""
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


class DeviceAttributes:
    """What `Session.list_devices` tells of a device."""

    def __init__(
        self, name: str, device_type: str, memory_limit_bytes: int, incarnation: int
    ) -> None:
        self._name = canonical_name(name)
        self._device_type = device_type
        self._memory_limit_bytes = memory_limit_bytes
        self._incarnation = incarnation

    @property
    def name(self) -> str:
        return self._name

    @property
    def device_type(self) -> str:
        return self._device_type

    @property
    def memory_limit_bytes(self) -> int:
        return self._memory_limit_bytes

    @property
    def incarnation(self) -> int:
        """A number that is new whenever the device was initialized anew."""
        return self._incarnation

    def __repr__(self) -> str:
        return (
            f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes:d}, "
            f"{self.incarnation:d})"
        )


LOCAL = "/job:localhost/replica:0/task:0/device:"


def session_devices(config: Any, prefix: str = LOCAL) -> list[DeviceAttributes]:
    """The devices of a session with this `ConfigProto` (or None), named below `prefix`."""
    counts = dict(config.device_count) if config is not None else {}
    cpus = counts.get("CPU", 1) or 1
    gpus = min(gpu_count(), counts.get("GPU", gpu_count()))
    devices = [DeviceAttributes(f"{prefix}CPU:{i}", "CPU", 256 << 20, i + 1) for i in range(cpus)]
    for i in range(gpus):
        import torch

        memory = torch.cuda.get_device_properties(i).total_memory
        devices.append(DeviceAttributes(f"{prefix}GPU:{i}", "GPU", memory, cpus + i + 1))
    return devices


@export("config.experimental_list_devices")
def list_devices() -> list[str]:
    """The names of the devices that a session without a `ConfigProto` has."""
    from stillflow.runtime.settings import session_config

    return [device.name for device in session_devices(session_config())]


def list_local_devices(session_config: Any = None) -> list[Any]:
    """The devices of this process as `DeviceAttributes` messages.

    Args:
      session_config: the `ConfigProto` of the session that would have them, or None.
    """
    from stillflow.protos import DeviceAttributes as Message

    found = []
    for device in session_devices(session_config, "/device:"):
        found.append(
            Message(
                name=device.name,
                device_type=device.device_type,
                memory_limit=device.memory_limit_bytes,
                incarnation=device.incarnation,
                physical_device_desc=_description(device),
            )
        )
    return found


def _description(device: DeviceAttributes) -> str:
    if device.device_type != "GPU":
        return ""
    import torch

    index = int(device.name.rpartition(":")[2])
    known = torch.cuda.get_device_properties(index)
    return (
        f"device: {index}, name: {known.name}, compute capability: {known.major}.{known.minor}"
    )
