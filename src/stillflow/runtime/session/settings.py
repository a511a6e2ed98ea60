"""`tf.config`: settings of sessions without a `ConfigProto` of their own."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

from stillflow import protos
from stillflow.graph.export import export
from stillflow.runtime.devices.devices import gpu_count, session_devices

_BOOLEANS = ("disable_model_pruning", "disable_meta_optimizer")
_TOGGLES = (
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


class LogicalDevice(NamedTuple):
    """A device that operations can be placed on."""

    name: str
    device_type: str


class _VirtualDevice(NamedTuple):
    memory_limit: int | None = None


@export("config.experimental.VirtualDeviceConfiguration")
class VirtualDeviceConfiguration(_VirtualDevice):
    """One of the devices that a physical device is divided into.

    Args:
      memory_limit: in megabytes.
    """

    __slots__ = ()


class _Settings:
    """All that `tf.config` has been told."""

    def __init__(self) -> None:
        self.jit: bool | None = None
        self.soft_placement: bool | None = None
        self.threads: dict[str, int] = {}
        self.options: dict[str, Any] = {}
        self.memory_growth: dict[PhysicalDevice, bool] = {}
        self.virtual_devices: dict[PhysicalDevice, list[_VirtualDevice]] = {}
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
            setattr(rewriting, name, (_ON if value else _OFF) if name in _TOGGLES else value)
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


_settings = _Settings()


def session_config() -> Any:
    """Return the `ConfigProto` for a session that was given none; None if nothing was ever set."""
    return _settings.proto() if _settings.touched() else None


# ---- placement, threads, optimization


@export("config.get_soft_device_placement")
def get_soft_device_placement() -> bool:
    """Return True if an operation may run elsewhere if its device cannot run it."""
    return bool(_settings.soft_placement)


@export("config.set_soft_device_placement")
def set_soft_device_placement(enabled: bool) -> None:
    """Allow operations to run elsewhere if their device cannot run them, or not."""
    _settings.soft_placement = enabled


@export("config.threading.get_intra_op_parallelism_threads")
def get_intra_op_parallelism_threads() -> int:
    """Return the number of threads of one operation; 0 if the system decides."""
    return _settings.threads.get("intra_op_parallelism_threads", 0)


@export("config.threading.set_intra_op_parallelism_threads")
def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Set how many threads one operation may use."""
    _settings.threads["intra_op_parallelism_threads"] = num_threads


@export("config.threading.get_inter_op_parallelism_threads")
def get_inter_op_parallelism_threads() -> int:
    """Return the number of concurrent operations; 0 if the system decides."""
    return _settings.threads.get("inter_op_parallelism_threads", 0)


@export("config.threading.set_inter_op_parallelism_threads")
def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Set how many operations may run at a time."""
    _settings.threads["inter_op_parallelism_threads"] = num_threads


@export("config.optimizer.get_jit")
def get_optimizer_jit() -> bool:
    """Return True if graphs are compiled."""
    return bool(_settings.jit)


@export("config.optimizer.set_jit")
def set_optimizer_jit(enabled: bool) -> None:
    """Turn the compilation of graphs on or off."""
    _settings.jit = enabled


@export("config.optimizer.get_experimental_options")
def get_optimizer_experimental_options() -> dict[str, Any]:
    """Return the options of graph rewriting that were set, and the two that always have a value."""
    return {**dict.fromkeys(_BOOLEANS, False), **_settings.options}


@export("config.optimizer.set_experimental_options")
def set_optimizer_experimental_options(options: dict[str, Any]) -> None:
    """Set options of graph rewriting.

    Args:
      options: {name: bool, or a number for "min_graph_nodes"}; unknown names are left out.
    """
    known = {*_BOOLEANS, *_TOGGLES, "min_graph_nodes"}
    _settings.options.update({key: value for key, value in options.items() if key in known})


# ---- devices


def _of_type(devices: list[Any], device_type: str | None) -> list[Any]:
    return [device for device in devices if device_type in (None, device.device_type)]


def _known(device: PhysicalDevice, device_type: str | None = None) -> PhysicalDevice:
    if device not in _settings.physical or device_type not in (None, device.device_type):
        raise ValueError(f"Unrecognized device: {device!r}")
    return device


@export("config.experimental.list_physical_devices")
def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the devices of this machine, of one type ("CPU", "GPU") or all."""
    return _of_type(_settings.physical, device_type)


@export("config.experimental.list_logical_devices")
def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Return the devices that operations can be placed on, of one type or all."""
    devices = [
        LogicalDevice(device.name, device.device_type)
        for device in session_devices(session_config())
    ]
    return _of_type(devices, device_type)


@export("config.experimental.get_visible_devices")
def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the devices of this machine that sessions use."""
    return _of_type(_settings.visible_devices, device_type)


@export("config.experimental.set_visible_devices")
def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Set which devices of this machine sessions use.

    Args:
      devices: a physical device or a list of them.
      device_type: leave devices of other types as they are.

    Raises:
      ValueError: a device is not one of this machine, or of another type.
    """
    chosen = devices if isinstance(devices, list) else [devices]
    for device in chosen:
        _known(device, device_type)
    before = _settings.visible_devices if device_type is not None else []
    others = [device for device in before if device.device_type != device_type]
    _settings.visible = others + chosen


@export("config.experimental.get_memory_growth")
def get_memory_growth(device: PhysicalDevice) -> bool | None:
    """Return True if GPU memory is allocated as needed; None if not set.

    Raises:
      ValueError: not a device of this machine.
    """
    return _settings.memory_growth.get(_known(device))


@export("config.experimental.set_memory_growth")
def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Has memory of a GPU taken as it is needed, or not.

    Raises:
      ValueError: not a GPU of this machine, or one that is divided into virtual devices.
    """
    if _known(device) in _settings.virtual_devices:
        raise ValueError("Cannot set memory growth on device when virtual devices configured")
    if device.device_type != "GPU":
        raise ValueError("Cannot set memory growth on non-GPU devices")
    _settings.memory_growth[device] = enable


@export("config.experimental.get_virtual_device_configuration")
def get_virtual_device_configuration(device: PhysicalDevice) -> list[_VirtualDevice] | None:
    """Return the virtual devices of a device, None if it was not divided.

    Raises:
      ValueError: not a device of this machine.
    """
    return _settings.virtual_devices.get(_known(device))


@export("config.experimental.set_virtual_device_configuration")
def set_virtual_device_configuration(
    device: PhysicalDevice, virtual_devices: list[_VirtualDevice]
) -> None:
    """Divides a device.

    Raises:
      ValueError: not a device of this machine; a memory limit for a CPU, or none for a GPU.
    """
    limits = [virtual.memory_limit for virtual in virtual_devices]
    if _known(device).device_type == "CPU" and any(limit is not None for limit in limits):
        raise ValueError("Setting memory limit on CPU virtual devices is currently not supported")
    if device.device_type == "GPU" and None in limits:
        raise ValueError("Setting memory limit is required for GPU virtual devices is")
    _settings.virtual_devices[device] = virtual_devices
