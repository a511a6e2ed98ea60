"""Roles of a frame's operations in its loop, if `while` can express it."""

from __future__ import annotations

from dataclasses import dataclass, field

from stillflow.graph.operation import Operation
from stillflow.runtime.loops.frames import Frame, Unstructured


@dataclass(slots=True, eq=False)
class LoopVariable:
    """A value that goes round: from `enter` into `merge`, and from `back` into it again."""

    enter: Operation
    merge: Operation
    back: Operation

    @property
    def unchanged(self) -> bool:
        """True if the body returns it unchanged: a hidden loop invariant."""
        tensor = self.back._inputs[0]
        while tensor.op is not self.merge:
            op = tensor.op
            through_switch = op.card.flow == "switch" and tensor.value_index == 1
            if op.card.flow != "identity" and not through_switch:
                return False
            tensor = op._inputs[0]
        return tensor.value_index == 0


@dataclass(slots=True)
class Loop:
    """A frame, understood.

    Attributes:
      variables: what changes from one iteration to the next.
      invariants: Enter operations of values that stay.
      condition: the LoopCond operation.
    """

    frame: Frame
    variables: list[LoopVariable] = field(default_factory=list)
    invariants: list[Operation] = field(default_factory=list)
    condition: Operation | None = None


def understand(frame: Frame) -> Loop:
    """Find the parts of a loop; Unstructured if values go round otherwise than by `while_loop`."""
    loop = Loop(frame)
    entered: set[Operation] = set()
    inside = set(frame.ops)
    if any(op.card.handle == "rendezvous" for op in frame.ops):
        raise Unstructured(f"values of other tasks come into frame '{frame.name}'")
    conditions = [op for op in frame.ops if op.card.flow == "loop condition"]
    if len(conditions) != 1:
        raise Unstructured(f"frame '{frame.name}' has {len(conditions)} LoopCond operations")
    loop.condition = conditions[0]
    for op in frame.ops:
        if op.card.flow != "merge" or not any(
            t.op.card.flow == "next iteration" for t in op._inputs
        ):
            continue
        if len(op._inputs) != 2:
            raise Unstructured(f"{op.name} merges {len(op._inputs)} values")
        enter, back = (tensor.op for tensor in op._inputs)
        if enter.card.flow != "enter" or back.card.flow != "next iteration" or back not in inside:
            raise Unstructured(f"{op.name} merges {enter.type} and {back.type}")
        if enter.attrs["is_constant"] or enter in entered:
            raise Unstructured(f"{enter.name} does not stand for one loop variable")
        entered.add(enter)
        loop.variables.append(LoopVariable(enter, op, back))
    members = inside.union(frame.exits, *(inner.enters for inner in frame.children.values()))
    for op in frame.enters:
        if op in entered:
            _check_only_merged(op, members)
        elif op.attrs["is_constant"]:
            loop.invariants.append(op)
        else:
            raise Unstructured(f"{op.name} enters the first iteration only")
    return loop


def _check_only_merged(enter: Operation, members: set[Operation]) -> None:
    users = [op for op in enter._outputs[0]._consumers if op in members]
    users += [op for op in enter._control_outputs if op in members]
    if any(op.card.flow != "merge" for op in users):
        raise Unstructured(f"{enter.name} is used in addition to its loop variable")
