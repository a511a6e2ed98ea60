"""Selection of a plan's steps to be captured together as CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from stillflow.ops.random.device_draws import SeededDraw
from stillflow.ops.variables.buffer import Buffer
from stillflow.ops.variables.reference import set_value
from stillflow.runtime.capture.graph_capture import AT_LEAST, Captured
from stillflow.runtime.devices.moves import is_of_host
from stillflow.runtime.ir.steps import (
    ANY,
    Name,
    Step,
    Value,
    assigned_buffer,
    last_uses,
    ops_of,
    taken_by,
)  # fmt: skip
from stillflow.runtime.plan.regions import Code, Part, taken_after
from stillflow.runtime.schedule.host_first import host_first
from stillflow.runtime.schedule.steps import StepAccesses, has_effect, is_of_arrays

if TYPE_CHECKING:
    from stillflow.runtime.plan.trace import Tracer


class Segments:
    """The parts of a plan that run on CUDA devices.

    Args:
      tracer: has made the steps, and knows where values are.
      make: makes the code of some steps.
    """

    def __init__(self, tracer: Tracer, make: type[Code] = Code) -> None:
        assert tracer.moves is not None
        self._moves, self._values = tracer.moves, tracer.values
        self._constants, self._memory, self._make = tracer.constants, tracer.memory, make
        self._floats = {
            value.name for tensor, value in self._values.items()
            if not is_of_host(tensor) and tensor.dtype.base_dtype.is_floating
        }  # fmt: skip
        self._places: dict[str, Any] = {}
        self._held: set[str] = set()  # names of variables' own memory, once all is placed
        self._device: Any = None  # the only CUDA device, if there is one

    def in_order(self, steps: list[Step]) -> list[Step]:
        """Return the steps, given in an order in which they may run, with a device's together."""
        accesses = StepAccesses(steps, self._values, self._constants, self._memory)
        buffer_of = accesses.buffer_of
        steps = [part for step in steps for part in self._drawn(_in_place(step, buffer_of))]
        found = {self._moves.device_of(step.op) for step in steps if step.op is not None}
        found = {device for device in found if device.type == "cuda"}
        self._device = found.pop() if len(found) == 1 else None
        places = list(map(self.place, steps))
        if any(step.kind == "loop" and place is None for step, place in zip(steps, places)):
            self._device = None  # arrays stay with the host then
            self._places.clear()
            places = list(map(self.place, steps))
        return host_first(steps, places, accesses)

    def _drawn(self, step: Step) -> list[Step]:
        """Return the host step and the device step of a random operation."""
        draw = step.function
        if not isinstance(draw, SeededDraw) or step.op is None:
            return [step]
        (output,) = step.outputs
        stands, there = f"{output}_at", f"{output}_there"
        device = self._moves.device_of(step.op)
        self._moves.put(there, device)
        guard = step.guard
        drawn = replace(step, function=draw.at, arguments=[Name(there)], inputs=[there])
        return [
            Step("call", step.op, [stands], [], guard, draw.position),
            Step("move", step.op, [there], [stands], guard, arguments=[device]),
            drawn,
        ]

    def captured(self, steps: list[Step], kept: Collection[str]) -> list[Step]:
        """Return the steps, those of a device in a row as one.

        Args:
          steps: in the order in which they run, placed in memory.
          kept: names of the plan's results.
        """
        self._held = {v.name for v in self._values.values() if self._is_variable(v)}
        last = last_uses(steps, kept)
        result: list[Step] = []
        row: list[Step] = []
        present: Any = None
        for number, step in enumerate(steps):
            place = self.place(step)
            if row and place != present:
                result += self._joined(row, taken_after(row, last, number))
                row = []
            present = place
            (result if place is None else row).append(step)
        return result + (self._joined(row, taken_after(row, last, len(steps))) if row else [])

    def _joined(self, row: list[Step], wanted: set[str]) -> list[Step]:
        if sum(step.kind in ("call", "loop") for step in row) < AT_LEAST:
            return row
        device, guard = self.place(row[0]) or (None, ())
        steps = [replace(step, guard=()) for step in row]
        part = Part(steps, wanted, self._held, self._memory, self._constants)
        names = [Name(name) for name in part.inputs]
        step = Step(
            "call", row[-1].op, part.outputs, list(map(str, names)), guard,
            Captured(part, device, self._make), list(names),
        )  # fmt: skip
        return [step, *(replace(read, guard=guard) for read in part.read)]

    def _is_variable(self, value: Value) -> bool:
        return bool(value.roots) and all(
            self._memory.kinds[root] == "variable" and not self._memory.readers[root].copies
            for root in value.roots
        )

    def place(self, step: Step) -> tuple[torch.device, Any] | None:
        """Return the CUDA device that a step is captured on, and when.

        None if it is not captured.
        """
        if step.guard is None or step.kind not in ("call", "read", "copy", "loop"):
            return None
        if joins(step):
            place = self._device
        elif step.kind == "loop":
            place = None
        elif step.kind != "call":
            place = self._place_of(step.inputs[0])
        elif step.device is not None:
            place = step.device
        elif step.op is not None and self._can_be(step):
            place = self._moves.device_of(step.op)
        else:
            place = None
        if place is None or place.type != "cuda":
            return None
        # Rates of updates may be on either side.
        takes_rates = step.op is not None and step.op.card.update == "dense"
        if not all(self._comes_along(name, place, takes_rates) for name in taken_by(step)):
            return None
        # Fused steps have other names for their outputs; arrays and numbers move with their run.
        self._places.update(dict.fromkeys(step.outputs, place))
        return place, step.guard

    def _can_be(self, step: Step) -> bool:
        assert step.op is not None
        ops = ops_of(step)
        if step.function is None or not _is_numeric(step) or any(op.card.beside for op in ops):
            return False
        if step.writes:
            return ANY not in step.writes
        if any(op.card.keeps for op in ops):
            return False
        kind = (step.op.card.access, step.op.card.handle)  # rows of a variable have no effect
        return bool(step.outputs) and (kind == ("gather", "variable") or not has_effect(step))

    def _comes_along(self, name: str, device: Any, is_rate: bool) -> bool:
        """Return True if a captured step may take a value: one of the device, or a constant one."""
        place = self._place_of(name)
        if name in self._constants:
            return not isinstance(self._constants[name], Buffer) or place == device
        return bool(place == device or (is_rate and name in self._floats and place is not None))

    def _place_of(self, name: str) -> torch.device:
        return self._places.get(name) or self._moves.place(name)


def _in_place(step: Step, buffer_of: Callable[[str], int | None]) -> Step:
    """Return an assignment that writes into a resource variable's memory, for graphs."""
    buffer = assigned_buffer(step, buffer_of)
    if buffer is None or buffer == ANY:
        return step
    return replace(step, function=set_value, writes=[buffer])


def joins(step: Step) -> bool:
    """Return True if a step is captured as far as it launches kernels; on the host it runs once.

    Such are loops of a number of turns that only constants determine, and arrays of tensors.
    """
    if step.kind == "loop":
        return not step.writes and all(map(_joins_inside, step.arguments[0].steps))
    return is_of_arrays(step) or (step.kind == "call" and not step.inputs and _joins_inside(step))


def _joins_inside(step: Step) -> bool:
    if step.kind == "loop":
        return joins(step)
    if step.kind != "call" or is_of_arrays(step) or isinstance(step.function, Captured):
        return True
    return bool(step.outputs) and _is_numeric(step) and not has_effect(step)


def _is_numeric(step: Step) -> bool:
    """Return True if all values of a step are handles, or of types that a device supports."""
    tensors = [tensor for op in ops_of(step) for tensor in (*op._inputs, *op._outputs)]
    return all(not is_of_host(t) or t.dtype.base_dtype.name == "resource" for t in tensors)
