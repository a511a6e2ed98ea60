"""The devices that a session can place operations on."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from stillflow import errors
from stillflow.graph.device import canonical_name
from stillflow.graph.lazy import torch
from stillflow.util.machine_gpus import may_have_gpus


class Gpu(NamedTuple):
    """A GPU that torch can compute on.

    Attributes:
      torch_name: what torch calls it, "cuda:0" or "mps:0".
      memory: its size in bytes.
      description: name and compute capability, as TensorFlow's log gives them.
    """

    torch_name: str
    memory: int
    description: str


_pretended: list[tuple[Gpu, ...]] = []


@contextlib.contextmanager
def pretend_gpus(count: int, torch_name: str = "cpu") -> Iterator[None]:
    """Simulate GPUs that compute on the CPU, for tests: sessions made inside have this many.

    `torch_name` computes instead of them, with "{}" for the number.
    """
    _pretended.append(
        tuple(
            Gpu(torch_name.format(i), 1 << 30, f"device: {i}, name: pretended")
            for i in range(count)
        )
    )
    try:
        yield
    finally:
        _pretended.pop()


def gpus() -> tuple[Gpu, ...]:
    """Return the GPUs that there are."""
    return _pretended[-1] if _pretended else _found_gpus()


def are_of_apple() -> bool:
    """Return True where GPUs are Apple's, which have fewer types of numbers."""
    there = gpus()
    return bool(there) and there[0].torch_name.startswith("mps")


def wait_for_gpus() -> None:
    """Wait until GPUs have computed all that they were given."""
    import torch

    if are_of_apple():
        torch.mps.synchronize()
    elif torch.cuda.is_initialized():
        torch.cuda.synchronize()


@cache
def _found_gpus() -> tuple[Gpu, ...]:
    """Return the CUDA devices.

    Apple's GPU where there is none, unless CUDA_VISIBLE_DEVICES hides all.
    """
    if "torch" not in sys.modules and not may_have_gpus():  # importing it takes a second
        return ()
    import torch

    if torch.cuda.is_available():
        return _cuda_gpus()
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1", "none")
    if hidden or not torch.backends.mps.is_available():
        return ()
    return (Gpu("mps:0", torch.mps.recommended_max_memory(), "device: 0, name: Apple GPU, Metal"),)


def _cuda_gpus() -> tuple[Gpu, ...]:
    import torch

    # Convolutions with 10 bits of mantissa would not give TensorFlow's numbers.
    torch.backends.cudnn.allow_tf32 = False
    found = []
    for index in range(torch.cuda.device_count()):
        known = torch.cuda.get_device_properties(index)
        text = f"name: {known.name}, compute capability: {known.major}.{known.minor}"
        found.append(Gpu(f"cuda:{index}", known.total_memory, f"device: {index}, {text}"))
    return tuple(found)


def gpu_count() -> int:
    """Return the number of GPUs."""
    return len(gpus())


@dataclass(frozen=True, eq=False)
class DeviceAttributes:
    """Attributes of a device in `Session.list_devices`.

    Attributes:
      incarnation: the number of the device's initialization, new at each one.
    """

    name: str
    device_type: str
    memory_limit_bytes: int
    incarnation: int
    torch_name: str = "cpu"
    description: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", canonical_name(self.name))

    @property
    def torch_device(self) -> torch.device:
        """The torch device."""
        return torch.device(self.torch_name)

    def __repr__(self) -> str:
        return (
            f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes:d}, "
            f"{self.incarnation:d})"
        )


LOCAL = "/job:localhost/replica:0/task:0/device:"


def session_devices(config: Any, prefix: str = LOCAL) -> list[DeviceAttributes]:
    """Return the devices of a session with this `ConfigProto` (or None), named below `prefix`.

    InvalidArgumentError if `visible_device_list` names a GPU that is not there, NotFoundError if
    there are to be no CPUs.
    """
    counts = dict(config.device_count) if config is not None else {}
    cpus = counts.get("CPU", 1)
    if cpus < 1:
        raise errors.not_found("No CPU devices are available in this process")
    wanted = config.gpu_options.visible_device_list if config is not None else ""
    # A session that has no use for GPUs does not look at the list.
    visible = _visible(wanted) if counts.get("GPU", 1) else []
    devices = [DeviceAttributes(f"{prefix}CPU:{i}", "CPU", 256 << 20, i + 1) for i in range(cpus)]
    for i, gpu in enumerate(visible[: max(0, counts.get("GPU", len(visible)))]):
        there = (f"{prefix}GPU:{i}", "GPU", _limited(gpu, config), cpus + i + 1)
        devices.append(DeviceAttributes(*there, gpu.torch_name, gpu.description))
    return devices


def _visible(wanted: str) -> list[Gpu]:
    """Return the GPUs that `visible_device_list` names, in its order; all if it is empty."""
    there = gpus()
    if not wanted or not there:
        return list(there)
    found = []
    for word in wanted.split(","):
        if not word.strip().isdigit():
            raise errors.invalid_argument(
                f"Could not parse entry in 'visible_device_list': '{word}'. "
                f"visible_device_list = {wanted}"
            )
        if int(word) >= len(there):
            raise errors.invalid_argument(
                f"'visible_device_list' listed an invalid GPU id '{int(word)}' but "
                f"visible device count is {len(there)}"
            )
        found.append(there[int(word)])
    return found


def _limited(gpu: Gpu, config: Any) -> int:
    """Return the memory limit of a session on a GPU; set torch's limit if it is a part."""
    fraction = 0.0 if config is None else config.gpu_options.per_process_gpu_memory_fraction
    if not fraction:
        return gpu.memory
    if gpu.torch_name != "cpu":
        import torch

        if gpu.torch_name.startswith("mps"):
            torch.mps.set_per_process_memory_fraction(min(fraction, 1.0))
        else:
            torch.cuda.set_per_process_memory_fraction(min(fraction, 1.0), gpu.torch_name)
    return int(gpu.memory * fraction)
