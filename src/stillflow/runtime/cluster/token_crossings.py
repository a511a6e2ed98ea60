"""`_Send` and `_Recv` in the dataflow executor: in loops that span tasks, and in watched runs."""

from __future__ import annotations

from typing import Any

from stillflow.graph.operation import Operation
from stillflow.ops.send_recv import arrival_name, rendezvous_key
from stillflow.ops.values import from_array
from stillflow.runtime.executor import dataflow
from stillflow.runtime.interrupts import Waits, current_interrupt
from stillflow.runtime.plan import crossings
from stillflow.util.string_hashes import murmur64

_SEED = 0xDECAFCAFFE  # of the hash that TensorFlow tells frames by


def place_of(tag: dataflow.Tag) -> str:
    """Return the frame and the iteration of a token, as keys between TensorFlow's tasks say it."""
    name, number = "", 0
    for frame, iteration in tag:
        name, number = f"{name};{number};{frame}", iteration
    return f"{murmur64(name.encode(), _SEED) if tag else 0}:{number}"


def _receive(machine: Any, op: Operation, tag: Any, inputs: list[Any], dead: bool) -> None:
    del inputs
    if dead:
        machine.give(op, [dataflow.DEAD], tag)
        return
    key = rendezvous_key(op.attrs, place_of(tag))
    machine.expected[arrival_name(key)] = op, tag
    step: Any = current_interrupt()
    if tag and step.ask is not None:
        step.ask(key)


def _wait(machine: Any) -> bool:
    """Wait for any of the expected values."""
    step: Any = current_interrupt()
    name, value = step.take_any(machine.expected, Waits(machine.interrupts[1]))
    op, tag = machine.expected.pop(name)
    given = dataflow.DEAD if value is crossings.DEAD else from_array(value)
    machine.give(op, [given], tag)
    return True


def _send(machine: Any, op: Operation, tag: Any, inputs: list[Any], dead: bool) -> None:
    value = crossings.DEAD if dead else dataflow.argument(op, 0, inputs[0])
    device, key = op.attrs["recv_device"].decode(), rendezvous_key(op.attrs, place_of(tag))
    step: Any = current_interrupt()
    step.send(device, key, op._inputs[0].dtype, False, value)
    machine.tell(op, False, tag)


dataflow.CROSSINGS.update({"take": _receive, "put": _send, "wait": _wait})
