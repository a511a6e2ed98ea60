"""Placement of operations on several devices.

As in TensorFlow 1.15: operations that are colocated, or connected by a reference or resource, are
one group; a group goes to the first device, GPUs before CPUs, that its operations can run on and
that all its device strings allow. Operations without inputs are placed with their consumers, if
these agree.
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
from stillflow.runtime.devices.devices import are_of_apple
from stillflow.runtime.devices.kinds import kinds_of, limit_of_apple, prefers_cpu
from stillflow.runtime.failures import kernels_elsewhere
from stillflow.runtime.ir.inputs import is_handle, takes_handle

_Name = tuple[Graph, str]
# Devices of XLA, next to those they compute on.
_OF_XLA = {"XLA_CPU": "CPU", "XLA_GPU": "GPU"}
_PREFERRED = ("GPU", "CPU")
_PARTS = ("job", "replica", "task", "device_type", "device_index")
# How errors call these parts.
_CALLED = {"device_type": "type", "device_index": "id"}


class _Differ(Exception):
    """Error: two device strings disagree; its text names the part."""


@dataclass
class _Group:
    """Operations that have to be on one device.

    Attributes:
      members: the operations.
      spec: what their device strings say together.
      resource: what those say that make references and resources, which nothing overrules.
      kinds: types of devices that all of them can run on.
      cpu_first: whether they run on a GPU only where a device string says so.
      device: the number of the device, once it is chosen.
      rank: how deep the tree of those that joined is; the deeper one of two is taken as the first.
    """

    members: list[Operation]
    kinds: frozenset[str]
    cpu_first: bool
    spec: DeviceSpecV2 = field(default_factory=DeviceSpecV2)
    resource: DeviceSpecV2 = field(default_factory=DeviceSpecV2)
    device: int | None = None
    rank: int = 0


class Placer:
    """Placer of operations on devices; placed ones stay there.

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
        self._parents: dict[Operation, Operation] = {}
        self._groups: dict[Operation, _Group] = {}  # by the operation at the root of their tree
        # The first operation of each that is named to be colocated with. Names are those of a
        # graph; functions have graphs of their own.
        self._leaders: dict[_Name, Operation] = {}
        self._assigned: dict[Operation, int] = {}
        self._lock = threading.RLock()  # threads of a session make plans at the same time

    def device_of(self, op: Operation) -> str:
        """Return the full name of an operation's device.

        Raises:
          tf.errors.InvalidArgumentError: if it can be on none.
        """
        return self._names[self.number_of(op)]

    def number_of(self, op: Operation) -> int:
        """Return the number of an operation's device among those that were given."""
        number = self._assigned.get(op)
        if number is None:  # made for a plan, not in the graph
            self.place(self._with_makers(op))
            number = self._assigned[op]
        return number

    def _with_makers(self, op: Operation) -> list[Operation]:
        """Return an operation and the unplaced producers of its handles, which share its device."""
        found = {op: None}
        waiting = [op]
        while waiting:
            for maker in _makers_of_handles(waiting.pop()):
                if maker not in found and maker not in self._assigned:
                    found[maker] = None
                    waiting.append(maker)
        return list(found)

    def place(self, ops: Iterable[Operation]) -> None:
        """Places operations, in the order they were made.

        Raises:
          tf.errors.InvalidArgumentError: if one can be on none, or colocated ones disagree.
        """
        with self._lock:
            self._place([op for op in ops if op not in self._assigned])

    def _place(self, new: list[Operation]) -> None:
        for op in new:
            self._add(op)
        for op in new:
            self._join_handles(op)
        for op in new:
            self._join_named(op)
        waiting = []
        for op in new:
            group = self._group(op)
            if group.device is None and is_generator(op):
                waiting.append(op)
                continue
            if op.card.metadata and not op.card.takes_lists:  # it goes where the tensor is
                self._prefer(group, {self._assigned.get(op._inputs[0].op)})
            self._settle(op, group)
        for op in waiting:
            group = self._group(op)
            self._prefer(group, {self._assigned.get(taker) for taker in op._outputs[0].consumers()})
            self._settle(op, group)
        for op in new:
            # It reads a reference; TensorFlow has it run with the variable.
            if op.type == "Switch" and op._inputs[0].dtype._is_ref_dtype:
                self._assigned[op] = self.number_of(op._inputs[0].op)

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

    def _root(self, op: Operation) -> Operation:
        root = op
        while root in self._parents:
            root = self._parents[root]
        while op is not root:  # the way is short next time
            self._parents[op], op = root, self._parents[op]
        return root

    def _group(self, op: Operation) -> _Group:
        return self._groups[self._root(op)]

    def _add(self, op: Operation) -> None:
        """Make a group of an operation, unless it is in one."""
        if op in self._groups or op in self._parents:
            return
        if op.card.elsewhere and self._has_job(op._device):
            raise kernels_elsewhere(op)
        group = self._groups[op] = _Group([op], kinds_of(op), prefers_cpu(op))
        if op._device:
            group.spec = DeviceSpecV2.from_string(op._device)
            if not op._inputs and len(op._outputs) == 1 and is_handle(op._outputs[0]):
                group.resource = group.spec

    def _join_handles(self, op: Operation) -> None:
        """Merge an operation's group with those of its handles' producers."""
        # A function's accesses to its handles are executed where these are.
        if op.card.inlined or op.type == "IdentityN" or "Dataset" in op.type:
            return
        for maker in _makers_of_handles(op):
            self._add(maker)
            self._follow(op, maker)

    def _follow(self, op: Operation, maker: Operation) -> None:
        """Merge the groups of an operation and of its handle's producer, whose device wins."""
        group, made = self._group(op), self._group(maker)
        if not _agree(made.resource, group.resource):
            first, second = made.resource.to_string(), group.resource.to_string()
            raise errors.invalid_argument(
                "Cannot place the graph because a reference or resource edge connects colocation "
                f"groups with incompatible resource devices: {first} vs {second}. The edge src "
                f"node is {maker.name} , and the dst node is {op.name}"
            )
        if not _agree(made.spec, group.spec):
            group.spec = _over(made.spec, group.resource)
        try:
            self._join(maker, op)
        except errors.InvalidArgumentError as error:
            text = (
                "Nodes were connected by a reference connection (requiring them to be on the same "
                "device), but the two nodes were assigned two different devices: "
            )
            raise _at(op, text + error._message) from None

    def _join_named(self, op: Operation) -> None:
        """Join an operation's group with those that it is colocated with by name."""
        classes = [name for name in op.attrs.get("_class", ()) if name.startswith(b"loc:@")]
        for name in [name[5:].decode() for name in classes] or [op.name]:
            leader = self._leaders.setdefault((op.graph, name), op)
            try:
                self._join(op, leader)
            except errors.InvalidArgumentError as error:
                if not self._soft:
                    raise _at(op, error._message) from None

    def _join(self, one: Operation, other: Operation) -> None:
        """Make one group of those of two operations; InvalidArgumentError if none suits both."""
        first, second = self._root(one), self._root(other)
        if first is second:
            return
        if self._groups[first].rank < self._groups[second].rank:
            first, second = second, first
        a, b = self._groups[first], self._groups[second]
        try:
            resource = _merged(a.resource, b.resource, soft=False)
            spec = _over(_merged(a.spec, b.spec, self._soft), resource)
        except _Differ as differ:
            left, right = (f"{{{{colocation_node {op.name}}}}}" for op in (one, other))
            text = f"Cannot colocate nodes {left} and {right}: {differ}"
            raise errors.invalid_argument(text) from None
        a.spec, a.resource = spec, resource
        a.kinds &= b.kinds
        a.cpu_first |= b.cpu_first
        a.members += b.members
        a.rank += a.rank == b.rank
        if a.device is None:
            a.device = b.device
        del self._groups[second]
        self._parents[second] = first

    # ---- errors

    def _described(self, group: _Group) -> str:
        """Return the description of a group in errors: its requests, and its members."""
        members = sorted(group.members, key=lambda op: op._id)
        able = {op.type: self._kinds(kinds_of(op)) for op in members}
        root = (
            "Root Member(assigned_device_name_index_=-1 "
            f"requested_device_name_='{group.spec.to_string()}' assigned_device_name_='' "
            f"resource_device_name_='{group.resource.to_string()}' "
            f"supported_device_types_=[{', '.join(self._kinds(group.kinds))}] possible_devices_=[]"
        )
        lines = [
            "", "Colocation Debug Info:",
            "Colocation group had the following types and supported devices: ", root,
            *(f"{kind}: {''.join(name + ' ' for name in able[kind])}" for kind in reversed(able)),
            "",
            "Colocation members, user-requested devices, and framework assigned devices, if any:",
            *(f"  {op.name} ({op.type}) {canonical_name(op._device)}" for op in members),
            "",
        ]  # fmt: skip
        return "\n".join(lines)

    def _kinds(self, kinds: frozenset[str]) -> list[str]:
        """Those types of devices that there are."""
        there = {spec.device_type for spec in self._specs}
        return [kind for kind in _PREFERRED if kind in kinds and kind in there]

    def _has_job(self, device: str) -> bool:
        job = DeviceSpecV2.from_string(device).job
        return job is None or any(spec.job == job for spec in self._specs)

    def _nowhere(self, op: Operation, group: _Group) -> errors.OpError:
        wanted = canonical_name(op._device)
        begin = f"Cannot assign a device for operation {op.name}: "
        there = [spec for spec in self._specs if fits(group.spec, spec, exact=True)]
        if DeviceSpecV2.from_string(op._device) != group.spec:
            text = (
                f"Could not satisfy explicit device specification '{wanted}' because the node "
                f"{{{{colocation_node {op.name}}}}} was colocated with a group of nodes that "
                f"required incompatible device '{group.spec.to_string()}'. All available devices "
                f"[{', '.join(self._names)}]. {self._described(group)}"
            )
        elif there:
            text = (
                f"Could not satisfy explicit device specification '{wanted}' because no supported "
                f"kernel for {there[0].device_type} devices is available."
                f"{self._described(group)}\nOp: {op.type}\n"
                f"Registered kernels:\n  {', '.join(sorted(group.kinds)) or '<none>'}"
                f"{_advice_of_apple(group)}"
            )
        else:
            # TensorFlow finds no operation in such a message, but for the place of its creation.
            text = f"{begin}{_not_there(op, wanted, self._names)}\n\t [[{op.name}]]"
            told = errors.InvalidArgumentError(None, op, text).message
            return errors.invalid_argument(told)
        return _at(op, begin + text)


def _advice_of_apple(group: _Group) -> str:
    """Return the reason against Apple's GPU, and advice; empty for other GPUs."""
    if not are_of_apple():
        return ""
    limits = {op: limit for op in group.members if (limit := limit_of_apple(op))}
    lines = [f"\n{limit} (node {op.name})" for op, limit in limits.items()]
    advice = ": use tf.float32, tf.device('/cpu:0'), or tf.ConfigProto(allow_soft_placement=True)."
    return "".join(lines) + advice if lines else ""


def _makers_of_handles(op: Operation) -> list[Operation]:
    """Return the operations whose references or resources an operation takes as such."""
    return [tensor.op for index, tensor in enumerate(op._inputs) if takes_handle(op, index)]


def _at(op: Operation, text: str) -> errors.OpError:
    return errors.invalid_argument(f"{text}\n\t [[{{{{node {op.name}}}}}]]", op)


def _not_there(op: Operation, wanted: str, names: Sequence[str]) -> str:
    advice = ""
    if DeviceSpecV2.from_string(wanted).device_type == "GPU" and not any(
        ":GPU:" in name for name in names
    ):
        advice = " The requested device appears to be a GPU, but CUDA is not enabled."
    return (
        f"{{{{node {op.name}}}}} was explicitly assigned to {wanted} but available devices are "
        f"[ {', '.join(sorted(names))} ]. Make sure the device specification refers to a valid "
        f"device.{advice}"
    )


def _agree(a: DeviceSpecV2, b: DeviceSpecV2) -> bool:
    """Return True if two device strings can be of one device."""
    pairs = ((getattr(a, part), getattr(b, part)) for part in _PARTS)
    return all(one is None or other is None or one == other for one, other in pairs)


def _over(spec: DeviceSpecV2, resource: DeviceSpecV2) -> DeviceSpecV2:
    """Return a device string, with the differing parts of a resource's device."""
    parts = {part: (getattr(resource, part), getattr(spec, part)) for part in _PARTS}
    return DeviceSpecV2(**{part: b if a is None else a for part, (a, b) in parts.items()})


def _merged(old: DeviceSpecV2, new: DeviceSpecV2, soft: bool) -> DeviceSpecV2:
    """Merge two device strings; if `soft`, contradictory parts stay open, or raise `_Differ`."""
    merged: dict[str, Any] = {part: getattr(old, part) for part in _PARTS}
    for part in _PARTS:
        a, b = merged[part], getattr(new, part)
        if b is None:
            continue
        if a is None or a == b:
            merged[part] = b
            continue
        if not soft or part not in _CALLED:
            so_far = DeviceSpecV2(**merged).to_string()
            raise _Differ(
                f"Cannot merge devices with incompatible {_CALLED.get(part, part)}s: "
                f"'{so_far}' and '{new.to_string()}'"
            )
        merged[part] = None
        if part == "device_type":
            merged["device_index"] = None
            break
    return DeviceSpecV2(**merged)


def fits(wanted: DeviceSpecV2, device: DeviceSpecV2, exact: bool) -> bool:
    """Return True if `device` is the wanted one; if not `exact`, in its job and task only."""
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
    """Return True if it makes one value without inputs; it is placed with its consumer."""
    return not op._inputs and len(op._outputs) == 1 and not op._outputs[0].dtype._is_ref_dtype
