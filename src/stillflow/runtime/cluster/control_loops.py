"""Loops whose operations are in several tasks.

Each task runs its operations of such a loop as a loop of its own. Where values come in from other
tasks it has to know how often: there a control loop counts iterations, by the condition that the
task of the `LoopCond` sends to it in each of them. Receives of a loop follow its `Merge`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stillflow.graph.card import Card
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.constants import const_op
from stillflow.ops.control_flow import switch as cards
from stillflow.runtime.loops.frames import Frame

_FLOAT = 1
_MADE_ELSEWHERE = ("enter", "next iteration")


class SpansTasks(Exception):
    """Error: a loop cannot run in one task, as it changes or runs something of another one."""


class ControlLoops:
    """The loops of a run that spans tasks.

    Args:
      top: the frame outside of all loops.

    Attributes:
      needed: of tasks into which values come inside of a loop: the loop's condition.
    """

    def __init__(self, top: Frame) -> None:
        self._frames: dict[Operation, Frame] = {}  # that an operation takes its inputs in
        self._conditions: dict[Frame, Tensor] = {}
        for frame in _inner(top):
            self._frames.update(dict.fromkeys((*frame.ops, *frame.exits), frame))
            self._frames.update(dict.fromkeys(frame.enters, frame.parent or top))
            for op in frame.ops:
                if op.card.flow == "loop condition":
                    self._conditions[frame] = op._outputs[0]
        self.needed: dict[tuple[str, Frame], Tensor] = {}

    def take(self, op: Operation, task: str) -> Frame | None:
        """Note that a value comes into a task for an operation, in each iteration of its loops.

        Returns:
          The loop, None outside of loops.
        """
        innermost = frame = self._frames.get(op)
        while frame is not None and frame.parent is not None:
            self.needed[task, frame] = self._conditions[frame]
            frame = frame.parent
        return None if innermost is frame else innermost

    def colocate(self, ops: Sequence[Operation], devices: dict[Operation, str]) -> None:
        """Put operations that hand a value on where it is, or is wanted, as TensorFlow does."""
        for op in reversed(ops):
            if op.card.flow in _MADE_ELSEWHERE and not _is_handle(op._outputs[0]):
                users = [user for user in op._outputs[0].consumers() if user in devices]
                devices[op] = devices[users[0]] if users else devices[op]
        for op in ops:
            handed = op.card.flow in ("switch", "exit") or (
                op.card.flow and op._inputs and _is_handle(op._inputs[0])
            )
            if handed and op._inputs[0].op in devices:
                devices[op] = devices[op._inputs[0].op]


def _inner(frame: Frame) -> Iterator[Frame]:
    for inner in frame.children.values():
        yield inner
        yield from _inner(inner)


def _is_handle(tensor: Tensor) -> bool:
    return tensor.dtype.name == "resource" or tensor.dtype._is_ref_dtype


def device_in(task: str) -> str:
    """Return the device of a task's control loops."""
    return f"{task}/device:CPU:0"


def merge_name(frame: Frame) -> str:
    """Return the name of the operation that a loop's receives in a task follow."""
    return f"{frame.name}/_counted/merge"


def add_empty(graph: Any, name: str, device: str, after: Sequence[str]) -> None:
    """Add an empty tensor that follows operations to a `GraphDef`: it stands for their end."""
    node = graph.node.add(name=name, op=const_op.name, device=device, input=after)
    node.attr["dtype"].type = node.attr["value"].tensor.dtype = _FLOAT
    node.attr["value"].tensor.tensor_shape.dim.add(size=0)


def write(graph: Any, frame: Frame, device: str, condition: str) -> None:
    """Add the control loop of a frame to the part of a task.

    Args:
      graph: the part, a `GraphDef`.
      frame: the loop.
      device: of its operations.
      condition: the name of the loop's condition in the part.
    """

    def add(what: str, card: Card, *inputs: str) -> Any:
        name = f"{frame.name}/_counted/{what}"
        node = graph.node.add(name=name, op=card.name, input=inputs, device=device)
        node.attr["T"].type = _FLOAT
        return node

    outer, merge = frame.parent, merge_name(frame)
    nested = outer is not None and outer.parent is not None
    start = f"{frame.name}/_counted/start"
    add_empty(graph, start, device, [f"^{merge_name(outer)}"] if outer and nested else [])
    enter = add("enter", cards.enter_op, start)
    enter.attr["frame_name"].s = frame.name.encode()
    enter.attr["is_constant"].b = False
    enter.attr["parallel_iterations"].i = frame.enters[0].attrs["parallel_iterations"]
    switch = add("switch", cards.switch_op, merge, condition)
    back = add("next", cards.next_iteration_op, f"{switch.name}:1")
    add("merge", cards.merge_op, enter.name, back.name).attr["N"].i = 2
