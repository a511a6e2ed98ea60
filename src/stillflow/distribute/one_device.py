"""Strategies whose one replica is on a device by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.distribute.strategy import Strategy, StrategyExtended, unsupported
from stillflow.graph.api import device
from stillflow.graph.device import DeviceSpecV2
from stillflow.graph.export import export


def full_name(name: str) -> str:
    """A device's name with the job, replica and task of this process where it says none."""
    here = DeviceSpecV2(job="localhost", replica=0, task=0, device_type="CPU", device_index=0)
    given = DeviceSpecV2.from_string(name)
    return str(here.make_merged_spec(given).to_string())


class OneDeviceExtended(StrategyExtended):
    """What libraries use of a strategy on one device."""

    def __init__(self, container_strategy: Strategy, name: str) -> None:
        super().__init__(container_strategy)
        self._name = full_name(name)

    def _default_device(self) -> str | None:
        return self._name

    def _device_scope(self) -> Any:
        return device(self._name)

    def _create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        with device(self._name):
            return next_creator(**kwargs)

    def non_slot_devices(self, var_list: Sequence[Any]) -> Any:
        del var_list
        return (self._name,)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        return (self._name,)

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        return (self._name,)


@export("distribute.OneDeviceStrategy", "contrib.distribute.OneDeviceStrategy")
class OneDeviceStrategy(Strategy):
    """Makes variables and operations of its one replica on a device.

    Args:
      device: the device's name.
    """

    def __init__(self, device: str) -> None:
        super().__init__(OneDeviceExtended(self, device))


@export("distribute.MirroredStrategy")
class MirroredStrategy(Strategy):
    """Keeps copies of variables on each of its devices; only one device is supported yet.

    Args:
      devices: names of devices; all GPUs, or else the CPU, if None.
      cross_device_ops: how values of devices become one, which with one they are.

    Raises:
      UnimplementedError: if there are several devices.
    """

    def __init__(self, devices: Sequence[str] | None = None, cross_device_ops: Any = None) -> None:
        del cross_device_ops
        names = local_devices() if devices is None else list(devices)
        if not names:
            raise ValueError("Got an empty list of devices")
        if len(set(map(full_name, names))) != len(names):
            raise ValueError("Got duplicate devices: " + ", ".join(names))
        if len(names) > 1:
            raise unsupported(f"tf.distribute.MirroredStrategy on {len(names)} devices")
        super().__init__(OneDeviceExtended(self, names[0]))


def local_devices(num_gpus: int | None = None) -> list[str]:
    """The GPUs of this machine, at most so many of them; the CPU if there are none."""
    from stillflow.runtime.devices import gpu_count

    return [f"/gpu:{index}" for index in range(gpu_count())][:num_gpus] or ["/cpu:0"]
