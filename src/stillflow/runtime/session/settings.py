"""Settings of sessions without a `ConfigProto` of their own, which `tf.config` makes."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

from stillflow import protos
from stillflow.runtime.devices.devices import gpu_count

TOGGLES = (
    "layout_optimizer", "constant_folding", "shape_optimization", "remapping",
    "arithmetic_optimization", "dependency_optimization", "loop_optimization",
    "function_optimization", "debug_stripper", "scoped_allocator_optimization",
    "pin_to_host_optimization", "implementation_selector", "auto_mixed_precision",
)  # fmt: skip
_OFF, _ON = 2, 1


class PhysicalDevice(NamedTuple):
    """A device of this machine."""

    name: str
    device_type: str


class VirtualDevice(NamedTuple):
    """One of the devices that a physical device is divided into."""

    memory_limit: int | None = None


class Settings:
    """All that `tf.config` has been told."""

    def __init__(self) -> None:
        self.jit: bool | None = None
        self.soft_placement: bool | None = None
        self.threads: dict[str, int] = {}
        self.options: dict[str, Any] = {}
        self.memory_growth: dict[PhysicalDevice, bool] = {}
        self.virtual_devices: dict[PhysicalDevice, list[VirtualDevice]] = {}
        self.visible: list[PhysicalDevice] | None = None

    @cached_property
    def physical(self) -> list[PhysicalDevice]:
        kinds = [("CPU", 1), ("GPU", gpu_count())]
        return [
            PhysicalDevice(f"/physical_device:{kind}:{i}", kind)
            for kind, count in kinds
            for i in range(count)
        ]

    @property
    def visible_devices(self) -> list[PhysicalDevice]:
        return self.physical if self.visible is None else self.visible

    def proto(self) -> Any:
        """Return a `ConfigProto` that says the same."""
        config = protos.ConfigProto(**self.threads)
        if self.jit is not None:
            config.graph_options.optimizer_options.global_jit_level = 1 if self.jit else -1
        config.allow_soft_placement = bool(self.soft_placement)
        rewriting = config.graph_options.rewrite_options
        for name, value in self.options.items():
            setattr(rewriting, name, (_ON if value else _OFF) if name in TOGGLES else value)
        if self.visible is not None or self.virtual_devices:
            for device in self.visible_devices:
                count = len(self.virtual_devices.get(device, "1"))
                config.device_count[device.device_type] += count
            for kind in ("CPU", "GPU"):
                config.device_count[kind] += 0
        self._set_gpu_options(config.gpu_options)
        return config

    def _set_gpu_options(self, options: Any) -> None:
        gpus = [device for device in self.visible_devices if device.device_type == "GPU"]
        growths = {self.memory_growth.get(device) for device in gpus}
        if len(growths) > 1:
            raise ValueError("Memory growth cannot differ between GPU devices")
        if growths and growths != {None}:
            options.allow_growth = growths.pop()
        if self.visible is not None:
            all_gpus = [device for device in self.physical if device.device_type == "GPU"]
            options.visible_device_list = ",".join(str(all_gpus.index(gpu)) for gpu in gpus)

    def touched(self) -> bool:
        """Return True if anything was set."""
        return any(value not in (None, {}) for name, value in vars(self).items()
                   if name != "physical")  # fmt: skip


SETTINGS = Settings()


def session_config() -> Any:
    """Return the `ConfigProto` for a session that was given none; None if nothing was ever set."""
    return SETTINGS.proto() if SETTINGS.touched() else None
