"""One dumped tensor: a file that holds an `Event`."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.ops.debug.dumps import DEVICE

_NAME = re.compile(r"(.+)_(\d+)_([A-Za-z]+)_(\d+)((?:-\d+)?)")


class InconvertibleTensorProto:
    """Stands for a dumped value that is no array, or that was not there yet.

    Args:
      tensor_proto: the `TensorProto`.
      initialized: whether there was a value.
    """

    def __init__(self, tensor_proto: Any, initialized: bool = True) -> None:
        self._tensor_proto = tensor_proto
        self._initialized = initialized

    def __str__(self) -> str:
        return str(self._tensor_proto) if self._initialized else "Uninitialized tensor:\n"

    @property
    def initialized(self) -> bool:
        return self._initialized


def load_tensor_from_event_file(event_file_path: str) -> Array:
    """Return the value in a dump file; see `load_tensor_from_event`."""
    from stillflow.protos import Event

    with open(event_file_path, "rb") as file:
        return load_tensor_from_event(Event.FromString(file.read()))


def load_tensor_from_event(event: Any) -> Any:
    """Return the array in an `Event` of the debugger, or an `InconvertibleTensorProto`."""
    from stillflow.graph.tensor_proto import make_ndarray

    proto = event.summary.value[0].tensor
    if not proto.dtype:
        return InconvertibleTensorProto(proto, initialized=False)
    try:
        return make_ndarray(proto)
    except (TypeError, ValueError):
        return InconvertibleTensorProto(proto)


def has_inf_or_nan(datum: Any, tensor: Any) -> bool:
    """Return True if floats have an infinite or undefined element; the usual tensor filter."""
    del datum
    if not isinstance(tensor, np.ndarray) or tensor.dtype.kind not in "fc":
        return False
    return bool(np.any(np.isnan(tensor)) or np.any(np.isinf(tensor)))


class DebugTensorDatum:
    """Names a dumped tensor, tells when it was dumped, and loads it.

    Args:
      dump_root: the folder of the dump.
      debug_dump_rel_path: the file, relative to it, device folder first.

    Raises:
      ValueError: if no dump is named so.
    """

    def __init__(self, dump_root: str, debug_dump_rel_path: str) -> None:
        self._path = os.path.join(dump_root, debug_dump_rel_path)
        device, *parts = os.path.normpath(debug_dump_rel_path).split(os.sep)
        match = _NAME.fullmatch("/".join(parts))
        if match is None:
            raise ValueError(
                f"The debug dump file path ({debug_dump_rel_path}) does not conform to the naming "
                "convention <node>_<slot>_<debug op>_<timestamp>"
            )
        self._device_name = device_name(device) if device.startswith(DEVICE) else None
        self._node_name, slot, self._debug_op, time, again = match.groups()
        self._output_slot = int(slot)
        self._timestamp = int(time)
        self._extended_timestamp = time + again
        self._size: int | None = None

    def __repr__(self) -> str:
        return f"{{DebugTensorDatum ({self.device_name}) {self}}}"

    def __str__(self) -> str:
        return f"{self.tensor_name} @ {self.debug_op} @ {self.timestamp}"

    def get_tensor(self) -> Any:
        """Return the value: a numpy array, or an `InconvertibleTensorProto`."""
        return load_tensor_from_event_file(self._path)

    @property
    def timestamp(self) -> int:
        """When it was dumped, in microseconds since 1970."""
        return self._timestamp

    @property
    def extended_timestamp(self) -> str:
        """The timestamp, with a number where several dumps have the same."""
        return self._extended_timestamp

    @property
    def device_name(self) -> str | None:
        return self._device_name

    @property
    def node_name(self) -> str:
        return self._node_name

    @property
    def output_slot(self) -> int:
        return self._output_slot

    @property
    def tensor_name(self) -> str:
        """Operation and slot, as "a:0"."""
        return f"{self._node_name}:{self._output_slot}"

    @property
    def debug_op(self) -> str:
        """The debug op, as "DebugIdentity"."""
        return self._debug_op

    @property
    def watch_key(self) -> str:
        """Tensor and debug op, as "a:0:DebugIdentity"."""
        return f"{self.tensor_name}:{self._debug_op}"

    @property
    def file_path(self) -> str:
        return self._path

    @property
    def dump_size_bytes(self) -> int:
        """The size of the file."""
        if self._size is None:
            self._size = os.path.getsize(self._path)
        return self._size


def device_name(folder: str) -> str:
    """Return the device that a folder of dumps is named after."""
    parts = folder.removeprefix(DEVICE).split(",")
    return "/".join(":".join(_device_part(part)) for part in parts)


def _device_part(part: str) -> list[str]:
    if part.startswith("device_"):
        return part.rsplit("_", 2)
    return part.rsplit("_", 1)
