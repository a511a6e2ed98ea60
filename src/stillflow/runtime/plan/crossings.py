"""`_Send` and `_Recv` in a plan: where values leave a task, and where they come in.

A value that is made only in a branch may not come: then word is sent that it does not, and the
`_Recv`, marked `_conditional`, gives a value that exists or not, as if the branch were in its plan.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from stillflow import errors
from stillflow.graph import dims
from stillflow.graph.arrays import Array
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import torch
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.send_recv import rendezvous_key
from stillflow.ops.values import from_array
from stillflow.runtime.devices.moves import HOST
from stillflow.runtime.interrupts import Waits, current_interrupt
from stillflow.runtime.ir.facts import PlanNode
from stillflow.runtime.ir.steps import Name, Step, Value

if TYPE_CHECKING:
    from stillflow.runtime.plan.trace import Tracer

# Stands for a value that is not made in this step.
DEAD = object()


def receive(tracer: Tracer, op: Operation) -> None:
    """Add the step that waits for a value of another task."""
    guard = tracer.guard_of(op)
    key, waits = op.attrs["tensor_name"].decode(), PlanNode(op, tracer.facts).waits()
    fits = partial(_checked, op._outputs[0])
    value = Value(tracer.name("t"), guard, tracer.memory.fresh())
    outputs, take = [value.name], _take
    if op.attrs.get("_conditional"):
        outputs, take = [value.name, tracer.name("p")], _take_if_there
        value.guard = tracer._op_guards[op] = (*(guard or ()), (outputs[1], True))
    tracer.steps.append(Step("call", op, outputs, [], guard, partial(take, key, waits, fits)))
    tracer.set_output(op._outputs[0], value)
    if tracer.moves is not None:
        tracer.moves.put(value.name, HOST)


def send(tracer: Tracer, op: Operation) -> None:
    """Add the step that sends a value to another task, or word that there is none."""
    guard = tracer.guard_of(op)
    device, key = op.attrs["recv_device"].decode(), rendezvous_key(op.attrs)
    there = partial(_send, device, key, op._inputs[0].dtype, "_more" in op.attrs)
    tracer._op_guards[op] = ()
    if guard is None:
        tracer.steps.append(Step("call", op, [], [], (), there, [DEAD]))
        return
    value = tracer.argument(op, 0, op._inputs[0], guard)
    if guard:
        flag = tracer.name("p")
        tracer.steps.append(Step("flag", op, [flag], [], (), arguments=[False]))
        tracer.steps.append(Step("flag", op, [flag], [], guard, arguments=[True]))
        guard, dead = ((flag, True),), ((flag, False),)
        tracer.steps.append(Step("call", op, [], [], dead, there, [DEAD]))
    tracer.steps.append(Step("call", op, [], [value.name], guard, there, [Name(value.name)]))


def _send(device: str, key: str, dtype: DType, more: bool, value: Any) -> None:
    step: Any = current_interrupt()
    step.send(device, key, dtype, more, value)


def _take(key: str, waits: Waits, fits: Callable[[Any], Any]) -> torch.Tensor | Array:
    step: Any = current_interrupt()
    return from_array(fits(step.take(key, waits)))


def _take_if_there(key: str, waits: Waits, fits: Callable[[Any], Any]) -> tuple[Any, bool]:
    step: Any = current_interrupt()
    value = step.take(key, waits)
    return (None, False) if value is DEAD else (from_array(fits(value)), True)


def _checked(received: Tensor, array: Any) -> Array:
    """Return a received array of the shape that the plan relies on.

    AbortedError if it has another; the next run relies on none.
    """
    if not dims.is_compatible(received._dims, array.shape):
        declared, received._dims = received._dims, None
        received.graph._edition += 1
        raise errors.aborted(
            f"A variable that another session gave another shape: {received.op.name} is of shape "
            f"{dims.to_string(array.shape)}, where the graph says {dims.to_string(declared)}. "
            "The next run takes any shape; run it again",
        )
    return array
