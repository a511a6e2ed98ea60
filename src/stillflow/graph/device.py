"""Device strings: where an operation shall run, as far as it was said.

"/job:worker/replica:0/task:1/device:GPU:0", any part of which may be missing, and the short forms
"/gpu:0" and "/cpu:0".
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from stillflow.graph.export import export

# job, replica, task, device type, device index
_Parts = tuple[str | None, int | None, int | None, str | None, int | None]


@lru_cache(maxsize=4096)
def _parse(spec: str) -> _Parts:
    job = replica = task = device_type = index = None
    for field in spec.split("/"):
        name, *values = field.split(":")
        if name in ("job", "replica", "task") and len(values) == 1:
            if name == "job":
                job = values[0]
            elif name == "replica":
                replica = int(values[0])
            else:
                task = int(values[0])
            continue
        if name == "device" and len(values) == 2:
            name, *values = values
        elif name.upper() in ("CPU", "GPU") and len(values) <= 1:
            name = name.upper()
        elif not name:
            continue
        else:
            raise ValueError(f"Unknown attribute: '{name}' in '{spec}'")
        if device_type is not None:
            raise ValueError(f"Cannot specify multiple device types: {spec}")
        device_type = _device_type(name)
        if values and values[0] != "*":
            index = int(values[0])
    return job, replica, task, device_type, index


@lru_cache(maxsize=4096)
def _format(
    job: str | None,
    replica: int | None,
    task: int | None,
    device_type: str | None,
    index: int | None,
) -> str:
    return "".join(
        [
            "" if job is None else f"/job:{job}",
            "" if replica is None else f"/replica:{replica}",
            "" if task is None else f"/task:{task}",
            "" if device_type is None else f"/device:{device_type}:{_star(index)}",
        ]
    )


def _star(index: int | None) -> str:
    return "*" if index is None else str(index)


def _device_type(name: Any) -> str | None:
    if name is None:
        return None
    return name.upper() if name in ("cpu", "gpu") else str(name)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


class DeviceSpecV2:
    """A device, named in full or in part, that does not change.

    Attributes:
      job: Name of the job, or None.
      replica: Number of the replica, or None.
      task: Number of the task, or None.
      device_type: "CPU", "GPU" or another type, or None.
      device_index: Number of the device, or None for any.
    """

    __slots__ = ("_device_index", "_device_type", "_job", "_replica", "_task")

    def __init__(
        self,
        job: Any = None,
        replica: Any = None,
        task: Any = None,
        device_type: Any = None,
        device_index: Any = None,
    ) -> None:
        """Make a specification; parts that are None stay open.

        Raises:
          ValueError: If `replica`, `task` or `device_index` is no number.
        """
        self._set((job, replica, task, device_type, device_index))

    def _set(self, parts: tuple[Any, Any, Any, Any, Any]) -> None:
        self._job = _text(parts[0])
        self._replica = _number(parts[1])
        self._task = _number(parts[2])
        self._device_type = _device_type(parts[3])
        self._device_index = _number(parts[4])

    @property
    def _parts(self) -> _Parts:
        return self._job, self._replica, self._task, self._device_type, self._device_index

    @property
    def job(self) -> str | None:
        return self._job

    @property
    def replica(self) -> int | None:
        return self._replica

    @property
    def task(self) -> int | None:
        return self._task

    @property
    def device_type(self) -> str | None:
        return self._device_type

    @property
    def device_index(self) -> int | None:
        return self._device_index

    def to_string(self) -> str:
        """Return the string form, such as "/job:ps/task:0/device:CPU:0"."""
        return _format(*self._parts)

    @classmethod
    def from_string(cls, spec: str | None) -> Any:
        """Return the specification that a device string (or None: nothing said) stands for.

        Raises:
          ValueError: If the string is no device string.
        """
        return cls(*_parse_any(spec))

    def parse_from_string(self, spec: str | None) -> DeviceSpecV2:
        """Return the specification that a device string stands for."""
        return self.from_string(spec)

    def make_merged_spec(self, dev: DeviceSpecV2) -> DeviceSpecV2:
        """Return this specification with every part that `dev` states replaced by it."""
        return type(self)(*_merged(self._parts, dev._parts))

    def replace(self, **kwargs: Any) -> Any:
        """Return this specification with the given parts (by name) replaced."""
        names = ("job", "replica", "task", "device_type", "device_index")
        return type(self)(**{**dict(zip(names, self._parts)), **kwargs})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return f"<DeviceSpec {self.to_string()!r}>"


def _assignable(index: int) -> Any:
    """Return the property that reads and writes one of the parts."""

    def read(self: DeviceSpec) -> Any:
        return self._parts[index]

    def write(self: DeviceSpec, value: Any) -> None:
        parts: list[Any] = list(self._parts)
        parts[index] = value
        self._set(tuple(parts))

    return property(read, write)


@export("DeviceSpec")
class DeviceSpec(DeviceSpecV2):
    """A device, named in full or in part, whose parts can be assigned."""

    __slots__ = ()

    job = _assignable(0)
    replica = _assignable(1)
    task = _assignable(2)
    device_type = _assignable(3)
    device_index = _assignable(4)

    def parse_from_string(self, spec: str | None) -> DeviceSpec:
        """Set all parts from a device string and return this specification."""
        self._set(_parse_any(spec))
        return self

    def merge_from(self, dev: DeviceSpecV2) -> None:
        """Take over every part that `dev` states."""
        self._set(_merged(self._parts, dev._parts))


DeviceSpecV1 = DeviceSpec


def _parse_any(spec: Any) -> _Parts:
    if spec is not None and not isinstance(spec, str):
        raise TypeError(f"A device is named by a string, got {spec!r}")
    return _parse(spec or "")


def _merged(outer: _Parts, inner: _Parts) -> Any:
    return tuple([old if new is None else new for old, new in zip(outer, inner)])


def is_device_spec(obj: Any) -> bool:
    """Return True if `obj` is a device specification."""
    return isinstance(obj, DeviceSpecV2)


def check_valid(spec: str) -> None:
    """Raise ValueError unless `spec` is a device string."""
    _parse_any(spec)


def canonical_name(device: Any) -> str:
    """Return the full form of a device given as a string, a `DeviceSpec` or None."""
    if isinstance(device, DeviceSpecV2):
        return device.to_string()
    return _format(*_parse_any(device))


def canonical(device: Any) -> str:
    """Return the string to store for an operation: a string exactly as it was written."""
    if isinstance(device, str):
        return device
    if isinstance(device, DeviceSpecV2):
        return device.to_string()
    if isinstance(device, bytes):
        return device.decode()
    raise TypeError(f"Expected binary or unicode string, got {device!r}")


def merge_over(spec: Any, current: str | None) -> str:
    """Return an operation's device in full form, merged with an enclosing scope's, `spec`.

    The scope's device fills in what is still open in `current`. ValueError if either is no device
    string.
    """
    return _merge_strings(canonical_name(spec), current or "")


@lru_cache(maxsize=4096)
def _merge_strings(outer: str, inner: str) -> str:
    return _format(*_merged(_parse(outer), _parse(inner)))


class MergeDevice:
    """A device function that fills in the parts an operation's device leaves open."""

    def __init__(self, spec: Any) -> None:
        self._name = canonical_name(spec)

    @property
    def is_null_merge(self) -> bool:
        """True if it never changes a device."""
        return not self._name

    def __call__(self, node_def: Any) -> DeviceSpec:
        return DeviceSpec.from_string(merge_over(self._name, node_def.device))

    def shortcut_string_merge(self, node_def: Any) -> str:
        """Return the merged device as a string."""
        return merge_over(self._name, node_def.device)

    def __repr__(self) -> str:
        return f"{super().__repr__()} (spec: {self._name})"


@lru_cache(maxsize=1024)
def _merger(name: str) -> MergeDevice:
    return MergeDevice(name)


def merge_device(spec: Any) -> MergeDevice:
    """Return the device function that merges `spec` (string, `DeviceSpec`) into operations."""
    return spec if isinstance(spec, MergeDevice) else _merger(canonical_name(spec))
