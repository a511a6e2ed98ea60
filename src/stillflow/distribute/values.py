"""Values that have a part in each replica."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from stillflow import nest
from stillflow.distribute import context
from stillflow.distribute import devices as device_names
from stillflow.distribute.device_map import DeviceMap, of_arguments
from stillflow.graph import type_spec
from stillflow.graph.api import control_dependencies, device
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_like import is_tensor
from stillflow.ops.control_flow.identity_and_group import group as group_operations
from stillflow.ops.control_flow.identity_and_group import identity

Structure = TypeVar("Structure")


class DistributedValues:
    """A value with a part on each of several devices.

    Args:
      device_map: the devices.
      values: the parts, in the order of the devices.
      logical_device: which device of each replica holds its part.
    """

    def __init__(
        self, device_map: DeviceMap, values: Sequence[Any], logical_device: int | None = None
    ) -> None:
        assert isinstance(device_map, DeviceMap)
        self._device_map = device_map
        self._values = tuple(values)
        if logical_device is None:
            logical_device = device_map.logical_device_from_values(self._values)
        self._logical_device = logical_device

    def get(self, device: str | None = None) -> Any:
        """Return the part on a device.

        By default that of the replica being built, or of all together.

        Raises:
          ValueError: if there is none on the device.
        """
        if device is None:
            replica = context.get_replica_context()
            if replica:
                return self._device_map.select_for_current_replica(self._values, replica)
            device = context.update_device()
            if device is None:
                return self._get_cross_replica()
        return self._device_map.select_for_device(self._values, device_names.canonicalize(device))

    def _part_on(self, device: str) -> Any:
        """Return the part on a device, else the first one."""
        replica = self._device_map.replica_for_device(device)
        return self.primary if replica is None else self._values[replica]

    def _get_cross_replica(self) -> Any:
        raise NotImplementedError("This method should be overridden by sub-classes")

    @property
    def primary(self) -> Any:
        """The first part."""
        return self._values[0]

    @property
    def devices(self) -> tuple[str, ...]:
        return self._device_map.logical_to_actual_devices(self._logical_device)

    @property
    def logical_device(self) -> int:
        return self._logical_device

    @property
    def device_map(self) -> DeviceMap:
        return self._device_map

    @property
    def values(self) -> tuple[Any, ...]:
        """All parts."""
        return self._values

    @property
    def is_tensor_like(self) -> bool:
        return all(is_tensor(value) for value in self._values)

    def _listed(self, show: Callable[[Any], str]) -> str:
        pairs = enumerate(zip(self.devices, self._values, strict=True))
        lines = ",\n".join(f"  {index} {name}: {show(value)}" for index, (name, value) in pairs)
        return f"{type(self).__name__}:{{\n{lines}\n}}"

    def __str__(self) -> str:
        return self._listed(str)

    def __repr__(self) -> str:
        return self._listed(repr)


class Delegate:
    """Delegate of another value, which `get()` returns."""

    def get(self) -> Any:
        """Return the value that is meant."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_self_", "__")) or name in ("_use_resource_variables", "_values"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.get(), name)

    def _get_as_operand(self) -> Any:
        return self.get()

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        return pow(self._get_as_operand(), other, modulo)

    def __getitem__(self, key: Any) -> Tensor:
        return self._get_as_operand()[key]


def _before(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *others: function(self._get_as_operand(), *others)


def _behind(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: function(other, self._get_as_operand())


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor", "matmul"):
    _function = getattr(operator, f"__{_name}__")
    setattr(Delegate, f"__{_name}__", _before(_function))
    setattr(Delegate, f"__r{_name}__", _behind(_function))
for _name in ("lt", "le", "gt", "ge", "invert", "neg", "abs"):
    setattr(Delegate, f"__{_name}__", _before(getattr(operator, f"__{_name}__")))
setattr(Delegate, "__rpow__", _behind(pow))  # noqa: B010 - as the others


class DistributedDelegate(DistributedValues, Delegate):
    """A value that stands for whichever of its parts is meant where it is used."""


class PerReplica(DistributedValues, CompositeTensor):
    """A value of each replica, which may differ."""

    @property
    def _type_spec(self) -> PerReplicaSpec:
        specs = [type_spec.type_spec_from_value(value) for value in self._values]
        return PerReplicaSpec(specs, self._device_map, self._logical_device)


class PerReplicaSpec(type_spec.TypeSpec):
    """The type of a value of each replica: that of each part, and their devices.

    `device_map` may be the arguments of one; see `DeviceMap.as_arguments`.
    """

    __slots__ = ("_device_map", "_logical_device", "_value_specs")
    value_type = property(lambda self: PerReplica)

    def __init__(self, value_specs: Sequence[Any], device_map: Any, logical_device: int) -> None:
        if isinstance(device_map, tuple):
            device_map = of_arguments(*device_map)
        self._value_specs, self._device_map = tuple(value_specs), device_map
        self._logical_device = logical_device

    def _serialize(self) -> tuple[Any, ...]:
        return self._value_specs, self._device_map.as_arguments(), self._logical_device

    @property
    def _component_specs(self) -> tuple[Any, ...]:
        return self._value_specs

    def _to_components(self, value: Any) -> tuple[Any, ...]:
        replica = context.get_replica_context()
        if replica is not None and replica.num_replicas_in_sync > 1:
            raise ValueError(
                "Flattening a PerReplica to components is not supported in replica context."
            )
        return tuple(value.values)

    def _from_components(self, components: Any) -> PerReplica:
        return PerReplica(self._device_map, components, self._logical_device)


class Mirrored(DistributedDelegate):
    """A value that is the same in all replicas."""

    def _get_cross_replica(self) -> Any:
        return self._part_on(device_names.canonicalize(device_names.current()))

    def _as_graph_element(self) -> Tensor:
        value = self.get()
        convert = getattr(value, "_as_graph_element", None)
        return convert() if callable(convert) else value


def regroup(device_map: DeviceMap, values: Sequence[Any], wrap_class: Any = PerReplica) -> Any:
    """Return one structure of distributed values, of alike structures for each replica.

    `wrap_class` makes a distributed value, of the device map and its parts.
    """
    assert len(values) == device_map.num_replicas_in_graph
    first = values[0]
    if isinstance(first, (list, tuple)):
        kind = list if isinstance(first, list) else tuple
        for value in values[1:]:
            assert isinstance(value, kind), f"{first} is a {kind.__name__}, {value} is not"
            assert len(value) == len(first), f"{first} and {value} differ in length"
        parts = [regroup(device_map, items, wrap_class) for items in zip(*values, strict=True)]
        if isinstance(first, list):
            return parts
        return first._make(parts) if hasattr(first, "_make") else tuple(parts)
    if isinstance(first, dict):
        for value in values[1:]:
            assert isinstance(value, dict) and set(value) == set(first), f"{first} and {value}"
        return {
            key: regroup(device_map, tuple(value[key] for value in values), wrap_class)
            for key in first
        }
    return _regroup_leaf(device_map, values, wrap_class)


def _regroup_leaf(device_map: DeviceMap, values: Sequence[Any], wrap: Any) -> Any:
    first = values[0]
    is_part = not is_distributed_variable(first) and _has_container(first)
    if all(value is first for value in values[1:]) and not is_part:
        return first
    if is_part:
        container = first._distributed_container()
        assert container is not None
        for replica, value in enumerate(values):
            assert device_map.is_device_in_replica(value.device, replica), (value, device_map)
            assert container is value._distributed_container()
        return container
    return wrap(device_map, values)


def _has_container(value: Any) -> bool:
    return hasattr(value, "_distributed_container")


def is_distributed_variable(value: Any) -> bool:
    """Return True if a value is a variable with a part in each replica."""
    return getattr(type(value), "is_distributed", False)


def select_replica(replica: int, structure: Any) -> Any:
    """Return a structure in which each distributed value is replaced by a replica's part."""
    return nest.map_structure(
        lambda x: x.values[replica] if isinstance(x, DistributedValues) else x, structure
    )


def select_device_mirrored(name: str, structure: Structure) -> Structure:
    """Return a structure in which each mirrored value is replaced by its part on a device."""

    def part(value: Any) -> Any:
        if not isinstance(value, DistributedValues):
            return value
        if not isinstance(value, Mirrored):
            raise TypeError(
                f"Expected value to be mirrored across replicas: {value} in {structure}."
            )
        return value.get(name)

    selected: Structure = nest.map_structure(part, structure)
    return selected


def update_regroup(extended: Any, device_map: DeviceMap, updates: list[Any], group: bool) -> Any:
    """Return the result of all replicas' updates: one value, or the parts."""
    if not group:
        regrouped = regroup(device_map, updates, Mirrored)
        return nest.map_structure(extended._local_results, regrouped)
    return regroup(device_map, updates, _grouped_mirrored)


def _grouped_mirrored(device_map: DeviceMap, values: Sequence[Any]) -> Any:
    if len(values) == 1:
        return Mirrored(device_map, values)
    together = group_operations(*values)
    if not all(is_tensor(value) for value in values):
        return together
    names = device_map.logical_to_actual_devices(device_map.logical_device_from_values(values))
    after = []
    for value, name in zip(values, names, strict=True):
        with device(name), control_dependencies([together]):
            after.append(identity(value))
    return Mirrored(device_map, after)


def value_container(value: Any) -> Any:
    """Return the distributed variable that a variable is a part of; other values as they are."""
    if _has_container(value) and not isinstance(value, DistributedValues):
        container = value._distributed_container()
        if container is not None:
            return container
    return value
