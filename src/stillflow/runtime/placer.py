"""Which of several devices each operation runs on.

As in TensorFlow 1.15: what is colocated, or connected by a reference or resource, is one group;
a group goes to the first device, GPUs before CPUs, that its operations can run on and that all its
device strings allow. What has no inputs goes where all that take its value are.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from stillflow import errors
from stillflow.graph.device import DeviceSpecV2, canonical_name
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation
from stillflow.runtime.device_kinds import kinds_of, prefers_cpu
from stillflow.runtime.failures import kernels_elsewhere
from stillflow.runtime.inline import is_call, is_handle

_Name = tuple[Graph, str]
# Devices of XLA stand beside those they compute on.
_OF_XLA = {"XLA_CPU": "CPU", "XLA_GPU": "GPU"}
_PREFERRED = ("GPU", "CPU")
# What only looks at a tensor's shape, and so goes where the tensor is.
_METADATA = ("Shape", "Size", "Rank")
_PARTS = ("job", "replica", "task", "device_type", "device_index")
# How errors call these parts.
_CALLED = {"device_type": "type", "device_index": "id"}


@dataclass
class _Group:
    """Operations that have to be on one device.

    Attributes:
      spec: what their device strings say together.
      kinds: types of devices that all of them can run on.
      cpu_first: whether they run on a GPU only where a device string says so.
      named: the operation whose string said so first, for errors.
      device: the number of the device, once it is chosen.
      count: how many operations.
    """

    spec: DeviceSpecV2 = field(default_factory=DeviceSpecV2)
    kinds: frozenset[str] = frozenset(_PREFERRED)
    cpu_first: bool = False
    named: Operation | None = None
    device: int | None = None
    count: int = 0


class Placer:
    """Places operations on devices; what is placed stays there.

    Args:
      devices: full names of the devices.
      soft: whether a device that is not there, or cannot run an operation, may be another one.
    """

    def __init__(self, devices: Sequence[str], soft: bool) -> None:
        self._names = list(devices)
        self._specs = [DeviceSpecV2.from_string(name) for name in devices]
        kinds = [spec.device_type for spec in self._specs]
        # Where nothing is said, the first by name: in a cluster `/job:ps`, not the task asked.
        self._order = sorted(range(len(kinds)), key=lambda i: (kinds[i] != "GPU", devices[i]))
        self._soft = soft
        # Names are those of a graph; functions have graphs of their own.
        self._parents: dict[_Name, _Name] = {}
        self._groups: dict[_Name, _Group] = {}
        self._assigned: dict[Operation, int] = {}
        self._lock = threading.RLock()  # threads of a session make plans at the same time

    def device_of(self, op: Operation) -> str:
        """The full name of an operation's device.

        Raises:
          tf.errors.InvalidArgumentError: if it can be on none.
        """
        return self._names[self.number_of(op)]

    def number_of(self, op: Operation) -> int:
        """The number of an operation's device among those that were given."""
        number = self._assigned.get(op)
        if number is None:  # made for a plan, in place of one of the graph
            self.place(self._with_makers(op))
            number = self._assigned[op]
        return number

    def _with_makers(self, op: Operation) -> list[Operation]:
        """An operation and those not placed yet that make its handles, which it has to be with."""
        found = {op: None}
        waiting = [op]
        while waiting:
            for tensor in waiting.pop()._inputs:
                if is_handle(tensor) and tensor.op not in found and tensor.op not in self._assigned:
                    found[tensor.op] = None
                    waiting.append(tensor.op)
        return list(found)

    def place(self, ops: Iterable[Operation]) -> None:
        """Places operations, in the order they were made.

        Raises:
          tf.errors.InvalidArgumentError: if one can be on none, or colocated ones disagree.
        """
        with self._lock:
            self._place([op for op in ops if op not in self._assigned])

    def _place(self, new: list[Operation]) -> None:
        left = dict.fromkeys(new)
        while left:
            self._enter_with_handles(next(iter(left)), left)
        waiting = []
        for op in new:
            group = self._group((op.graph, op.name))
            if group.device is None and is_generator(op):
                waiting.append(op)
                continue
            if op.type in _METADATA:
                self._prefer(group, {self._assigned.get(op._inputs[0].op)})
            self._settle(op, group)
        for op in waiting:
            group = self._group((op.graph, op.name))
            self._prefer(group, {self._assigned.get(taker) for taker in op._outputs[0].consumers()})
            self._settle(op, group)

    def _prefer(self, group: _Group, numbers: set[int | None]) -> None:
        """Chooses a device if all the operations around are on this one, and it will do."""
        if group.device is None and len(numbers) == 1:
            (near,) = numbers
            if near in self._possible(group, exact=True):
                group.device = near

    def _settle(self, op: Operation, group: _Group) -> None:
        if group.device is None:
            possible = self._possible(group, exact=True)
            if not possible and self._soft:
                possible = self._possible(group, exact=False)
            if not possible:
                raise self._nowhere(op, group)
            group.device = possible[0]
        self._assigned[op] = group.device

    def _possible(self, group: _Group, exact: bool) -> list[int]:
        found = [
            number for number in self._order
            if self._specs[number].device_type in group.kinds
            and fits(group.spec, self._specs[number], exact)
        ]  # fmt: skip
        if group.cpu_first:
            found.sort(key=lambda number: self._specs[number].device_type != "CPU")
        return found

    # ---- groups

    def _root(self, name: _Name) -> _Name:
        root = name
        while root in self._parents:
            root = self._parents[root]
        while name != root:  # the way is short next time
            self._parents[name], name = root, self._parents[name]
        return root

    def _group(self, name: _Name) -> _Group:
        root = self._root(name)
        if root not in self._groups:
            self._groups[root] = _Group()
        return self._groups[root]

    def _enter_with_handles(self, op: Operation, left: dict[Operation, None]) -> None:
        """Enters an operation after those that make its handles: inside `tf.cond` they may be
        younger than it is."""
        del left[op]
        for tensor in op._inputs:
            if is_handle(tensor) and tensor.op in left:
                self._enter_with_handles(tensor.op, left)
        self._enter(op)

    def _enter(self, op: Operation) -> None:
        """Adds an operation to its group, and joins groups that it brings together."""
        if op.card.elsewhere and self._has_job(op._device):
            raise kernels_elsewhere(op)
        group = self._group((op.graph, op.name))
        group.count += 1
        group.kinds &= kinds_of(op)
        group.cpu_first |= prefers_cpu(op)
        if op._device:
            wanted = DeviceSpecV2.from_string(op._device)
            group.spec = self._merged(group.spec, wanted, op, group, self._soft)
            group.named = group.named or op
        # What a function does with the handles that it is given is done where they are.
        is_apart = len(self._names) > 1 and is_call(op)
        for tensor in op._inputs:
            if is_handle(tensor) and not is_apart:
                self._join((tensor.op.graph, tensor.op.name), op, forced=True)
        for name in op.attrs.get("_class", ()):
            if name.startswith(b"loc:@"):
                self._join((op.graph, name[5:].decode()), op, forced=False)

    def _join(self, leader: _Name, op: Operation, forced: bool) -> None:
        """Makes one group of an operation's and another; if `forced`, the other's device wins."""
        first, second = self._root(leader), self._root((op.graph, op.name))
        if first == second:
            return
        a, b = self._group(first), self._group(second)
        try:
            spec = self._merged(b.spec, a.spec, op, a, self._soft and not forced)
        except errors.InvalidArgumentError:
            if not forced:
                raise
            spec = a.spec
        a.spec, a.named = spec, a.named or b.named
        a.kinds &= b.kinds
        a.cpu_first |= b.cpu_first
        a.count += b.count
        if a.device is None:
            a.device = b.device
        del self._groups[second]
        self._parents[second] = first

    def _merged(
        self, old: DeviceSpecV2, new: DeviceSpecV2, op: Operation, group: _Group, soft: bool
    ) -> DeviceSpecV2:
        """What two device strings say together; if `soft`, what they disagree on stays open."""
        merged: dict[str, Any] = {}
        for part in _PARTS:
            a, b = getattr(old, part), getattr(new, part)
            merged[part] = a if b is None else b
            if a is None or b is None or a == b:
                continue
            if not soft or part not in _CALLED:
                raise self._disagree(op, group, _CALLED.get(part, part), old, new)
            merged[part] = None
            if part == "device_type":
                merged["device_index"] = None
                break
        return DeviceSpecV2(**merged)

    # ---- errors

    @staticmethod
    def _disagree(
        op: Operation, group: _Group, part: str, old: DeviceSpecV2, new: DeviceSpecV2
    ) -> errors.OpError:
        other = group.named or op
        return errors.InvalidArgumentError(
            op.node_def,
            op,
            f"Cannot colocate nodes {{{{colocation_node {op.name}}}}} and "
            f"{{{{colocation_node {other.name}}}}}: Cannot merge devices with incompatible "
            f"{part}s: '{old.to_string()}' and '{new.to_string()}'\n\t [[{{{{node {op.name}}}}}]]",
        )

    def _has_job(self, device: str) -> bool:
        job = DeviceSpecV2.from_string(device).job
        return job is None or any(spec.job == job for spec in self._specs)

    def _nowhere(self, op: Operation, group: _Group) -> errors.OpError:
        wanted = op._device or group.spec.to_string()
        there = [spec for spec in self._specs if fits(group.spec, spec, exact=True)]
        if there:
            text = (
                f"Could not satisfy explicit device specification '{wanted}' because no supported "
                f"kernel for {there[0].device_type} devices is available.\n"
                f"Registered kernels:\n  {', '.join(sorted(group.kinds)) or '<none>'}"
            )
        else:
            text = _not_there(op, wanted, self._names)
        return errors.InvalidArgumentError(
            op.node_def,
            op,
            f"Cannot assign a device for operation {op.name}: {text}\n"
            f"\t [[{{{{node {op.name}}}}}]]",
        )


def _not_there(op: Operation, wanted: str, names: Sequence[str]) -> str:
    advice = ""
    if DeviceSpecV2.from_string(wanted).device_type == "GPU" and not any(
        ":GPU:" in name for name in names
    ):
        advice = " The requested device appears to be a GPU, but CUDA is not enabled."
    return (
        f"{{{{node {op.name}}}}} was explicitly assigned to {canonical_name(wanted)} but available "
        f"devices are [ {', '.join(names)} ]. Make sure the device specification refers to a "
        f"valid device.{advice}"
    )


def fits(wanted: DeviceSpecV2, device: DeviceSpecV2, exact: bool) -> bool:
    """Whether `device` is what was wanted; if not `exact`, in its job and task only."""
    parts = [
        (wanted.job, device.job),
        (wanted.replica, device.replica),
        (wanted.task, device.task),
    ]
    if exact:
        kind = wanted.device_type
        parts.append((_OF_XLA.get(kind, kind) if kind else None, device.device_type))
        parts.append((wanted.device_index, device.device_index))
    return all(asked is None or asked == there for asked, there in parts)


def is_generator(op: Operation) -> bool:
    """Whether it makes one value of nothing; such an operation goes where the value is taken."""
    return not op._inputs and len(op._outputs) == 1 and not op._outputs[0].dtype._is_ref_dtype
