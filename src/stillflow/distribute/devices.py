"""Full names of devices, and which one operations are made for now."""

from __future__ import annotations

from typing import Any

from stillflow.graph.device import DeviceSpecV2
from stillflow.graph.eager_mode import executing_eagerly_outside_functions
from stillflow.graph.graph import get_default_graph


def canonicalize(name: str | None, default: str | None = None) -> str:
    """Return a device's full name, its type in capitals; missing parts come from `default`."""
    job = "localhost" if executing_eagerly_outside_functions() else None
    spec = DeviceSpecV2(job=job, replica=0, task=0, device_type="CPU", device_index=0)
    if default:
        spec = spec.make_merged_spec(DeviceSpecV2.from_string(default))
    return str(spec.make_merged_spec(DeviceSpecV2.from_string(name)).to_string())


def resolve(name: str | None) -> str:
    """Return a device's full name; missing parts are those of the current device."""
    return canonicalize(name, default=current())


class _Probe:
    """Stand-in for an operation, used to find out its device."""

    op = type = name = ""

    def __init__(self) -> None:
        self.device = ""
        self.node_def = self
        self._device_scopes: Any = ()

    def _set_device_from_string(self, name: str) -> None:
        self.device = name


def current() -> str:
    """Return the device that scopes name for operations made now; empty if they name none."""
    probe = _Probe()
    get_default_graph()._apply_devices(probe)
    if probe.device and executing_eagerly_outside_functions():
        return canonicalize(probe.device)
    return probe.device


def local_devices(num_gpus: int | None = None) -> tuple[str, ...]:
    """Return the GPUs of this machine, or so many as asked for; the CPU if there are none."""
    if num_gpus is None:
        from stillflow.runtime.devices.devices import gpu_count

        num_gpus = gpu_count()
    return tuple(f"/device:GPU:{index}" for index in range(num_gpus)) or ("/device:CPU:0",)


def get_host_for_device(device: str) -> str:
    """Return the CPU of a device's task."""
    spec = DeviceSpecV2.from_string(device)
    return str(spec.replace(device_type="CPU", device_index=0).to_string())
