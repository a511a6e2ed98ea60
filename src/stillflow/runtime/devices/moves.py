"""Values that are moved to the device of the operation that takes them.

Only plans over several kinds of devices have any of this: where all devices compute on the CPU,
nothing is ever moved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.devices.kinds import (
    is_of_container,
    reads_anywhere,
    reads_number,
)  # fmt: skip
from stillflow.runtime.ir.inputs import takes_handle
from stillflow.runtime.ir.steps import Memory, Step, Value

HOST = torch.device("cpu")
_OF_HOST = frozenset(("string", "variant", "resource"))
# Numbers of these types say how to compute: counters, sizes, conditions. As long as nothing that
# was computed on a GPU goes into them they stay with the program, which wants to know them.
SAYS_HOW = frozenset(("int32", "int64", "bool"))


class Moves:
    """Devices of a plan's values.

    Args:
      device_of: the torch device that an operation computes on.
      dims_of: the shape of a tensor, as far as it is known.
      constants: the plan's constants by name; moved ones are added.
      memory: which values may share memory.
      steps: the plan; what moves a value is added.
      name: gives new names.
    """

    def __init__(
        self, device_of: Callable[[Operation], Any], dims_of: Callable[[Tensor], Any],
        constants: dict[str, Any], memory: Memory, steps: list[Step], name: Callable[[str], str],
    ) -> None:  # fmt: skip
        self._device_of = device_of
        self._dims_of = dims_of
        self._targets: dict[Operation, Any] = {}
        self._constants = constants
        self._memory = memory
        self._steps = steps
        self._name = name
        self._places: dict[str, Any] = {}  # by local name; feeds may be on any device
        self._moved: dict[tuple[str, Any], list[Value]] = {}

    def place(self, name: str) -> Any:
        """Return the device of a value; None if only the run knows it."""
        found = self._places.get(name)
        return HOST if found is None and name in self._constants else found

    def put(self, name: str, place: Any) -> None:
        """Record the device of a value."""
        if place is not None:
            self._places[name] = place

    def device_of(self, op: Operation) -> Any:
        """Return the device that an operation computes on."""
        found = self._targets.get(op)
        return self._device_of(op) if found is None else found

    def settle_variable(self, merge: Operation, dims: Any) -> None:
        """Keep a loop's counter or flag with the program; take its Merge, and its shape."""
        if dims == () and merge._outputs[0].dtype.base_dtype.name in SAYS_HOW:
            self._targets[merge] = HOST

    def settle(self, op: Operation, given: Sequence[tuple[Tensor, Value]]) -> Any:
        """Chooses the device of an operation, now that it is known where its inputs are."""
        target = self._device_of(op)
        handles = [
            value for index, (_, value) in enumerate(given)
            if value.is_handle and takes_handle(op, index)
        ]  # fmt: skip
        if handles and not is_of_container(op):
            target = self.place(handles[0].name) or target  # where the variable is
        elif target != HOST and (op.card.reads_on_host or self._stays(op, given)):
            target = HOST
        self._targets[op] = target
        return target

    def _stays(self, op: Operation, given: Sequence[tuple[Tensor, Value]]) -> bool:
        if not op._inputs and not op.card.foldable:  # it tells of its device
            return False
        if op.card.metadata:
            return True
        if is_of_container(op):  # so do arrays of numbers, sizes and places
            return bool(op._outputs) and gives_numbers(op)
        scalars = all(self._dims_of(t) == () for t in (*op._inputs, *op._outputs))
        if op._inputs and scalars:  # rates that depend on a step, say
            return all(self.place(value.name) == HOST for _, value in given)
        return all(
            value.is_handle or (tensor.dtype.name in SAYS_HOW and self.place(value.name) == HOST)
            for tensor, value in given
        ) and gives_numbers(op)

    def bring(self, value: Value, tensor: Tensor, op: Operation) -> Value:
        """Return a tensor's value where an operation takes it: on its device, or on the host."""
        position = op._inputs.index(tensor) if tensor in op._inputs else None
        number = position is not None and reads_number(op, position)
        target = HOST if number else self.device_of(op)
        if value.is_handle or value.guard is None or self.place(value.name) == target:
            return value
        if position is not None and reads_anywhere(op, position):
            return value
        if is_of_host(tensor) or op.card.metadata:  # it looks at the shape, wherever that is
            return value
        moved = self._moved_for(value, op, target)
        return Value(moved.name, value.guard, moved.roots)

    def fetch(self, value: Value, tensor: Tensor) -> Value:
        """Return a value that is given back: on the host, where it is known to be elsewhere."""
        if value.is_handle or value.guard is None or is_of_host(tensor):
            return value
        if self.place(value.name) in (None, HOST):
            return value
        return self._moved_for(value, tensor.op, HOST)

    def _moved_for(self, value: Value, op: Operation, target: Any) -> Value:
        """Return the value on a device, transferred by a step that runs at its use."""
        there = self._moved.setdefault((value.name, target), [])
        for moved in there:  # another branch may have moved it for itself
            if set(moved.guard or ()).issubset(value.guard or ()):
                return moved
        there.append(self._move(value, op, target))
        return there[-1]

    def _move(self, value: Value, op: Operation, target: Any) -> Value:
        constant = self._constants.get(value.name)
        if constant is not None:
            name = self._name("c")
            self._constants[name] = constant.to(target)
            moved = Value(name, value.guard, self._memory.borrowed())
        else:
            name = self._name("t")
            moved = Value(name, value.guard, self._memory.fresh())
            step = Step("move", op, [name], [value.name], value.guard, arguments=[target])
            self._steps.append(step)
        self._places[name] = target
        return moved


def gives_numbers(op: Operation) -> bool:
    """Return True if all that an operation gives says how to compute."""
    return all(tensor.dtype.name in SAYS_HOW for tensor in op._outputs)


def is_of_host(tensor: Tensor) -> bool:
    """Return True if values of a tensor are always in Python's memory."""
    return tensor.dtype.base_dtype.name in _OF_HOST


def settled(function: Callable[..., Any], device: Any) -> Callable[..., Any]:
    """Return a kernel whose results are on its device, for any inputs."""

    def run(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if isinstance(result, torch.Tensor):
            return result if result.device == device else result.to(device)
        if isinstance(result, (tuple, list)):
            return [
                part.to(device) if isinstance(part, torch.Tensor) and part.device != device
                else part
                for part in result
            ]  # fmt: skip
        return result

    return run


def place_of(value: Any) -> Any:
    """Return the torch device of a run-time value, or of the variable behind a handle.

    None of others.
    """
    held = value if isinstance(value, torch.Tensor) else getattr(value, "value", None)
    return held.device if isinstance(held, torch.Tensor) else None


def carried(function: Callable[..., Any], op: Operation, device: Any) -> Callable[..., Any]:
    """Return an operation's kernel that takes values from any device, and gives them on its own."""
    inner = settled(function, device)
    targets = [
        None if reads_anywhere(op, place) else HOST if reads_number(op, place) else device
        for place in range(len(op._inputs))
    ]

    def run(*args: Any) -> Any:
        return inner(*[
            value.to(target) if target is not None and isinstance(value, torch.Tensor) else value
            for value, target in zip(args, targets, strict=True)
        ])  # fmt: skip

    return run
