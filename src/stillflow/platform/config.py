"""`tf.config`: settings of sessions that are given no `ConfigProto`, and the devices there are."""

from __future__ import annotations

from typing import Any, NamedTuple

from stillflow.graph.export import export
from stillflow.protos import DeviceAttributes
from stillflow.runtime.devices.devices import session_devices
from stillflow.runtime.session.settings import (
    SETTINGS,
    TOGGLES,
    PhysicalDevice,
    VirtualDevice,
    session_config,
)

_BOOLEANS = ("disable_model_pruning", "disable_meta_optimizer")


class LogicalDevice(NamedTuple):
    """A device that operations can be placed on."""

    name: str
    device_type: str


@export("config.experimental.VirtualDeviceConfiguration")
class VirtualDeviceConfiguration(VirtualDevice):
    """One of the devices that a physical device is divided into.

    Args:
      memory_limit: in megabytes.
    """

    __slots__ = ()


# ---- placement, threads, optimization


@export("config.get_soft_device_placement")
def get_soft_device_placement() -> bool:
    """Return True if an operation may run elsewhere if its device cannot run it."""
    return bool(SETTINGS.soft_placement)


@export("config.set_soft_device_placement")
def set_soft_device_placement(enabled: bool) -> None:
    """Allow operations to run elsewhere if their device cannot run them, or not."""
    SETTINGS.soft_placement = enabled


@export("config.threading.get_intra_op_parallelism_threads")
def get_intra_op_parallelism_threads() -> int:
    """Return the number of threads of one operation; 0 if the system decides."""
    return SETTINGS.threads.get("intra_op_parallelism_threads", 0)


@export("config.threading.set_intra_op_parallelism_threads")
def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Set how many threads one operation may use."""
    SETTINGS.threads["intra_op_parallelism_threads"] = num_threads


@export("config.threading.get_inter_op_parallelism_threads")
def get_inter_op_parallelism_threads() -> int:
    """Return the number of concurrent operations; 0 if the system decides."""
    return SETTINGS.threads.get("inter_op_parallelism_threads", 0)


@export("config.threading.set_inter_op_parallelism_threads")
def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Set how many operations may run at a time."""
    SETTINGS.threads["inter_op_parallelism_threads"] = num_threads


@export("config.optimizer.get_jit")
def get_optimizer_jit() -> bool:
    """Return True if graphs are compiled."""
    return bool(SETTINGS.jit)


@export("config.optimizer.set_jit")
def set_optimizer_jit(enabled: bool) -> None:
    """Turn the compilation of graphs on or off."""
    SETTINGS.jit = enabled


@export("config.optimizer.get_experimental_options")
def get_optimizer_experimental_options() -> dict[str, Any]:
    """Return the options of graph rewriting that were set, and the two that always have a value."""
    return {**dict.fromkeys(_BOOLEANS, False), **SETTINGS.options}


@export("config.optimizer.set_experimental_options")
def set_optimizer_experimental_options(options: dict[str, Any]) -> None:
    """Set options of graph rewriting.

    Args:
      options: {name: bool, or a number for "min_graph_nodes"}; unknown names are left out.
    """
    known = {*_BOOLEANS, *TOGGLES, "min_graph_nodes"}
    SETTINGS.options.update({key: value for key, value in options.items() if key in known})


# ---- devices


def _of_type(devices: list[Any], device_type: str | None) -> list[Any]:
    return [device for device in devices if device_type in (None, device.device_type)]


def _known(device: PhysicalDevice, device_type: str | None = None) -> PhysicalDevice:
    if device not in SETTINGS.physical or device_type not in (None, device.device_type):
        raise ValueError(f"Unrecognized device: {device!r}")
    return device


@export("config.experimental.list_physical_devices")
def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the devices of this machine, of one type ("CPU", "GPU") or all."""
    return _of_type(SETTINGS.physical, device_type)


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
    return _of_type(SETTINGS.visible_devices, device_type)


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
    before = SETTINGS.visible_devices if device_type is not None else []
    others = [device for device in before if device.device_type != device_type]
    SETTINGS.visible = others + chosen


@export("config.experimental.get_memory_growth")
def get_memory_growth(device: PhysicalDevice) -> bool | None:
    """Return True if GPU memory is allocated as needed; None if not set.

    Raises:
      ValueError: not a device of this machine.
    """
    return SETTINGS.memory_growth.get(_known(device))


@export("config.experimental.set_memory_growth")
def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Has memory of a GPU taken as it is needed, or not.

    Raises:
      ValueError: not a GPU of this machine, or one that is divided into virtual devices.
    """
    if _known(device) in SETTINGS.virtual_devices:
        raise ValueError("Cannot set memory growth on device when virtual devices configured")
    if device.device_type != "GPU":
        raise ValueError("Cannot set memory growth on non-GPU devices")
    SETTINGS.memory_growth[device] = enable


@export("config.experimental.get_virtual_device_configuration")
def get_virtual_device_configuration(device: PhysicalDevice) -> list[VirtualDevice] | None:
    """Return the virtual devices of a device, None if it was not divided.

    Raises:
      ValueError: not a device of this machine.
    """
    return SETTINGS.virtual_devices.get(_known(device))


@export("config.experimental.set_virtual_device_configuration")
def set_virtual_device_configuration(
    device: PhysicalDevice, virtual_devices: list[VirtualDevice]
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
    SETTINGS.virtual_devices[device] = virtual_devices


@export("config.experimental_list_devices", "contrib.eager.list_devices")
def list_devices() -> list[str]:
    """Return the names of the devices that a session without a `ConfigProto` has."""
    return [device.name for device in session_devices(session_config())]


def list_local_devices(session_config: Any = None) -> list[Any]:
    """Return this process's devices, for a `ConfigProto` if any, as `DeviceAttributes` messages."""
    return [
        DeviceAttributes(
            name=device.name,
            device_type=device.device_type,
            memory_limit=device.memory_limit_bytes,
            incarnation=device.incarnation,
            physical_device_desc=device.description,
        )
        for device in session_devices(session_config, "/device:")
    ]
