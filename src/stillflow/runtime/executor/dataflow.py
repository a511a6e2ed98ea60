"""Dataflow executor for control flow that no `cond` or `while_loop` builds.

Every operation waits for a token on each of its inputs and sends tokens to those that use it. A
token belongs to an iteration of a frame, and may be dead: the value of a branch not taken. Slower
than a plan with `if` and `while`, but it takes any wiring that TensorFlow takes.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from stillflow import errors
from stillflow.graph.node import Call, Handle
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.traits import Flow
from stillflow.ops.kernel_errors import as_op_error, raise_from
from stillflow.ops.values import fetch_converter, fetch_fed, from_array
from stillflow.runtime.devices.moves import carried
from stillflow.runtime.failures import (
    dead_fetch,
    fed_for_a_reference,
    fetched_in_loop,
    no_kernel,
    truth_of,
    uninitialized,
)
from stillflow.runtime.host.denormals import flushed
from stillflow.runtime.interrupts import current_interrupt
from stillflow.runtime.ir.aliasing import kept_inputs
from stillflow.runtime.ir.facts import Facts, PlanNode
from stillflow.runtime.ir.inputs import is_handle, wants_reference
from stillflow.runtime.ir.request import PlanRequest
from stillflow.runtime.plan.checks import check
from stillflow.runtime.plan.emit import own
from stillflow.util.interpreter_exit import at_work

# Where a token is: the frames around it, each with the number of its iteration.
Tag = tuple[tuple[str, int], ...]
# Who is shown every value of a run.
See = Callable[[Tensor, Any, Tag], None]


class _Dead:
    """Marker of a dead value."""


DEAD = _Dead()


def dataflow_plan(
    facts: Facts, ops: Sequence[Operation], request: PlanRequest
) -> Callable[..., list[Any]]:
    """Return a plan that runs operations when their inputs arrive, as TensorFlow's executor does.

    Of operations that can run, the first of `ops` does. What is to be seen of `request` is seen in
    every iteration of a loop; operations' inputs are looked at as closely then as where a plan
    knows its shapes.
    """
    feeds, fetched, raw, see = list(request.feeds), request.tensors, request.raw, request.see
    users = _users(ops)
    wanted = {*fetched, *raw}
    made: dict[Operation, Callable[..., Any]] = {}

    def kernel_of(op: Operation, inputs: Sequence[Any]) -> Callable[..., Any]:
        if see is not None:
            return _kernel_for(facts, op, inputs)
        if op not in made:
            made[op] = kernel_function(op, facts)
        return made[op]

    def run(*arrays: Any) -> list[Any]:
        interrupts = current_interrupt(), facts.resources.interrupt
        machine = _Machine(ops, kernel_of, users, interrupts, see)
        machine.wanted = wanted
        with at_work, torch.inference_mode(), flushed:
            machine.start(dict(zip(feeds, map(from_array, arrays), strict=True)))
        machine.check_found(fetched)
        results = []
        for tensor in fetched:
            value = machine.fetch(tensor)
            convert = fetch_fed if tensor in machine.fed else fetch_converter(tensor, True)
            results.append(value if convert is None else convert(value))
        return results + [machine.found.get(tensor) for tensor in raw]

    return run


def _users(ops: Sequence[Operation]) -> dict[Any, list[Any]]:
    """Return the consumers of each tensor (operation and input number), and of control edges."""
    users: dict[Any, list[Any]] = {}
    members = set(ops)
    for op in ops:
        for index, tensor in enumerate(op._inputs):
            users.setdefault(tensor, []).append((op, index))
        for control in op._control_inputs:
            if control in members:
                users.setdefault(control, []).append(op)
    return users


def kernel_function(
    op: Operation, facts: Facts, node: PlanNode | None = None
) -> Callable[..., Any]:
    """Return an operation's kernel as a function of its inputs.

    `node` is the card's view of it.
    """
    if op.type == "Const":
        value = facts.resources.from_array(op._values[0])  # type: ignore[index]
        return lambda: value
    if op.card.kernel_part is None:
        raise no_kernel(op)
    seen = PlanNode(op, facts) if node is None else node
    facts.resources.bounds.check(seen)
    made = op.card.kernel_part(seen)
    if isinstance(made, Handle):
        return lambda *_: made.state
    function: Callable[..., Any]
    if not isinstance(made, Call):
        function = made
    elif isinstance(made.function, Handle):
        state = made.function.state
        return lambda *_: state
    else:
        function = _bound(op, made)
    if not facts.resources.several:
        return function
    device = facts.resources.device_of(op) if node is None else node.place
    return function if device is None else carried(function, op, device)


def _bound(op: Operation, call: Call) -> Callable[..., Any]:
    if call.function is not None and list(call.args) == op._inputs:
        return partial(call.function, **call.kwargs) if call.kwargs else call.function

    # One expression, as this runs for every operation that is called eagerly.
    places = {tensor: place for place, tensor in enumerate(op._inputs)}
    names = {"call": call.function, "options": call.kwargs}
    args = []
    for index, arg in enumerate(call.args):
        if isinstance(arg, Tensor):
            args.append(f"x{places[arg]}")
        else:
            names[f"c{index}"] = arg
            args.append(f"c{index}")
    if call.kwargs:
        args.append("**options")
    given = ", ".join(f"x{place}" for place in range(len(op._inputs)))
    result = args[0] if call.function is None else f"call({', '.join(args)})"
    bound: Callable[..., Any] = eval(f"lambda {given}: {result}", names)
    return bound


class _Frame:
    """Running loop: its iteration, and its constants."""

    def __init__(self, enters: int) -> None:
        self.missing = enters  # inputs that have not arrived yet
        self.iterations = 1
        self.constants: list[tuple[Tensor, Any]] = []


class _Waiting:
    """Inputs that have arrived for one operation in one iteration."""

    __slots__ = ("dead", "fired", "missing", "values")

    def __init__(self, op: Operation) -> None:
        self.values: list[Any] = [None] * len(op._inputs)
        self.missing = len(op._inputs) + len(op._control_inputs)
        self.dead = 0
        self.fired = False


class _Machine:
    """One run."""

    def __init__(
        self,
        ops: Sequence[Operation],
        kernel_of: Callable[[Operation, Sequence[Any]], Callable[..., Any]],
        users: dict[Any, list[Any]],
        interrupts: Sequence[Any],
        see: See | None,
    ) -> None:
        self.ops, self.kernel_of, self.users = ops, kernel_of, users
        self.interrupts, self.see = interrupts, see
        self.places = {op: place for place, op in enumerate(ops)}
        self.waiting: dict[tuple[Operation, Tag], _Waiting] = {}
        # By the operation's place, and when it became ready.
        self.ready: list[tuple[int, int, Tag, list[Any], bool]] = []
        self.count = 0
        names = (op.attrs["frame_name"] for op in ops if op.card.flow == "enter")
        self.enters = Counter(name.decode() for name in names)
        self.frames: dict[Tag, dict[str, _Frame]] = {}
        self.left: set[tuple[Operation, Tag]] = set()  # Exits that gave a value
        self.dead_exits: dict[tuple[Operation, Tag], _Frame] = {}
        self.found: dict[Tensor, Any] = {}
        self.wanted: set[Tensor] = set()  # fetched, and may be in a loop
        self.fed: dict[Tensor, Any] = {}
        self.expected: dict[str, tuple[Operation, Tag]] = {}  # values of other tasks, by name

    def start(self, fed: dict[Tensor, Any]) -> None:
        self.fed = fed
        for tensor, value in fed.items():
            self.send(tensor, value, ())
        for op in self.ops:
            if not op._inputs and not op._control_inputs:
                self.can_run(op, (), [], False)
        while self.ready or (self.expected and CROSSINGS["wait"](self)) or self.leave_dead():
            while self.ready:
                for interrupt in self.interrupts:
                    interrupt.check()
                place, _, tag, inputs, dead = heapq.heappop(self.ready)
                self.run(self.ops[place], tag, inputs, dead)

    def can_run(self, op: Operation, tag: Tag, inputs: list[Any], dead: bool) -> None:
        self.count += 1
        heapq.heappush(self.ready, (self.places[op], self.count, tag, inputs, dead))

    def leave_dead(self) -> bool:
        """When nothing else can run, Exits that gave no value tell so; says whether any did.

        A loop is done when all has come in and the loops in it are done.
        """
        exits = {key: frame for key, frame in self.dead_exits.items() if key not in self.left}
        self.dead_exits = exits  # of many iterations, only the unfinished ones are examined
        done = [key for key, frame in exits.items() if not frame.missing] or list(exits)
        depth = max((len(tag) for _, tag in done), default=0)
        innermost = [(op, tag) for op, tag in done if len(tag) == depth]
        for op, tag in innermost:
            self.left.add((op, tag))
            self.give(op, [DEAD], tag)
        return bool(innermost)

    def check_found(self, fetched: Sequence[Tensor]) -> None:
        """Raise the error for the first of the fetches, by name, that has no value."""
        dead = [tensor for tensor in fetched if self.found.get(tensor, DEAD) is DEAD]
        if dead:
            computed = [tensor for tensor in fetched if tensor not in self.fed]
            raise dead_fetch(min(dead, key=lambda tensor: tensor.name), computed)

    def fetch(self, tensor: Tensor) -> Any:
        value = self.found[tensor]
        if tensor.dtype._is_ref_dtype and hasattr(value, "value"):
            return read_state(tensor.op, value)
        return value

    # ---- tokens

    def send(self, tensor: Tensor, value: Any, tag: Tag) -> None:
        if self.see is not None and value is not DEAD:
            self.see(tensor, value, tag)
        if not tag:
            self.found[tensor] = value
        elif tensor in self.wanted and value is not DEAD:
            if tensor in self.found:
                raise fetched_in_loop(tensor, self.wanted - self.fed.keys())
            self.found[tensor] = value  # values of one iteration only can be fetched
        for op, index in self.users.get(tensor, ()):
            self.arrive(op, index, value, tag)

    def give(self, op: Operation, values: Sequence[Any], tag: Tag) -> None:
        """Send an operation's results, and word to those that wait for it."""
        for tensor, value in zip(op._outputs, values, strict=True):
            if tensor not in self.fed:
                self.send(tensor, value, tag)
        dead = bool(values) and all(value is DEAD for value in values)
        self.tell(op, dead, tag)

    def give_nothing(self, op: Operation, tag: Tag) -> None:
        """Send word that an operation does not run."""
        if op._outputs:
            self.give(op, [DEAD] * len(op._outputs), tag)
        else:
            self.tell(op, True, tag)

    def tell(self, op: Operation, dead: bool, tag: Tag) -> None:
        for user in self.users.get(op, ()):
            self.arrive(user, None, DEAD if dead else None, tag)

    def arrive(self, op: Operation, index: int | None, value: Any, tag: Tag) -> None:
        state = self.waiting.get((op, tag))
        if state is None:
            state = self.waiting[op, tag] = _Waiting(op)
        if index is not None:
            state.values[index] = value
        if op.card.flow == "merge" and index is not None:
            self.merge(op, state, index, value, tag)
            return
        state.missing -= 1
        state.dead += value is DEAD
        if not state.missing and op.card.flow != "merge":
            dead = state.dead > 0 and op.card.flow != "trigger"
            del self.waiting[op, tag]
            self.can_run(op, tag, state.values, dead)

    def merge(self, op: Operation, state: _Waiting, index: int, value: Any, tag: Tag) -> None:
        """Forward the first value of a Merge; it is dead when none can come."""
        if state.fired:
            return
        if value is not DEAD:
            state.fired = True
            chosen = torch.tensor(index, dtype=torch.int32)
            self.can_run(op, tag, [argument(op, index, value), chosen], False)
            return
        state.dead += 1
        later = sum(tensor.op.card.flow == "next iteration" for tensor in op._inputs)
        if state.dead == len(op._inputs) - later:
            state.fired = True
            self.can_run(op, tag, [DEAD, DEAD], True)

    # ---- operations

    def run(self, op: Operation, tag: Tag, inputs: list[Any], dead: bool) -> None:
        special = _special(op)
        if special is not None:
            special(self, op, tag, inputs, dead)
            return
        if op._outputs and all(tensor in self.fed for tensor in op._outputs):
            self.tell(op, False, tag)
            return
        if dead:
            self.give_nothing(op, tag)
            return
        try:
            kernel = self.kernel_of(op, inputs)
            values = [argument(op, i, value) for i, value in enumerate(inputs)]
            for index in kept_inputs(op):  # inputs that may alias other values
                values[index] = own(values[index])
            result = kernel(*values)
        except Exception as error:
            raised = as_op_error(error, op)
            if raised is error:
                raise
            raise raised from error
        if len(op._outputs) == 1:
            gives = op._outputs[0].dtype._is_ref_dtype and op._inputs and wants_reference(op, 0)
            result = [inputs[0] if gives else result]  # the reference that it took
        self.give(op, result if op._outputs else [], tag)


def _kernel_for(facts: Facts, op: Operation, inputs: Sequence[Any]) -> Callable[..., Any]:
    """Return the kernel of an operation that is about to take some values.

    InvalidArgumentError if it does not take such shapes or values.
    """
    place = facts.resources.device_of(op) if facts.resources.several else None
    known = _facts_of(facts, op, inputs, True)
    node = PlanNode(op, known, place)
    try:
        check(op, node, known)
    except errors.InvalidArgumentError:
        # The error is that of other runs, whose rules for shapes do not know what is computed.
        known = _facts_of(facts, op, inputs, False)
        node = PlanNode(op, known, place)
        check(op, node, known)
    try:
        return kernel_function(op, known, node)
    except Exception as error:
        raise_from(as_op_error(error, op), error)


def _facts_of(facts: Facts, op: Operation, inputs: Sequence[Any], with_values: bool) -> Facts:
    """Return the shapes of what an operation takes, and the values where they are wanted."""
    known = Facts(facts.resources, {})
    known.begun = facts.begun
    for index, (tensor, value) in enumerate(zip(op._inputs, inputs, strict=True)):
        if is_handle(tensor):
            if tensor in facts.fed and tensor.dtype._is_ref_dtype and wants_reference(op, index):
                raise fed_for_a_reference(op, index, sorted(t.name for t in facts.fed))
            known.handles[tensor] = value
            value = getattr(value, "value", None) if tensor.dtype._is_ref_dtype else None
        if isinstance(value, (torch.Tensor, np.ndarray)):
            known._dims[tensor] = tuple(value.shape)
            if with_values and not is_handle(tensor):
                known.values[tensor] = value
    return known


def argument(op: Operation, index: int, value: Any) -> Any:
    """Return a kernel's argument: the variable's value where it takes no reference."""
    tensor = op._inputs[index]
    if tensor.dtype._is_ref_dtype and not wants_reference(op, index) and hasattr(value, "value"):
        return read_state(op, value)
    return value


def read_state(op: Operation, handle: Any) -> Any:
    """Return the present value of a variable, also behind a reference."""
    value = handle.value
    if value is None:
        raise uninitialized(op, handle.missing())
    is_resource = getattr(handle, "is_resource", True)
    return value.clone() if is_resource and isinstance(value, torch.Tensor) else value


def _read_variable(
    machine: _Machine, op: Operation, tag: Tag, inputs: list[Any], dead: bool
) -> None:
    machine.give(op, [DEAD if dead else read_state(op, inputs[0])], tag)


def _switch(machine: _Machine, op: Operation, tag: Tag, inputs: list[Any], dead: bool) -> None:
    if dead:
        machine.give(op, [DEAD, DEAD], tag)
        return
    data = argument(op, 0, inputs[0])
    try:
        truth = truth_of(argument(op, 1, inputs[1]))
    except errors.OpError as error:
        raise_from(as_op_error(error, op), error)
    machine.give(op, [DEAD, data] if truth else [data, DEAD], tag)


def _hand_on(machine: _Machine, op: Operation, tag: Tag, inputs: list[Any], dead: bool) -> None:
    machine.give(op, [DEAD] * len(op._outputs) if dead else inputs[: len(op._outputs)], tag)


def _enter(machine: _Machine, op: Operation, tag: Tag, inputs: list[Any], dead: bool) -> None:
    name = op.attrs["frame_name"].decode()
    frame = machine.frames.setdefault(tag, {}).setdefault(name, _Frame(machine.enters[name]))
    frame.missing -= 1
    value = DEAD if dead else argument(op, 0, inputs[0])
    tensor = op._outputs[0]
    if not op.attrs["is_constant"]:
        machine.send(tensor, value, (*tag, (name, 0)))
        machine.tell(op, dead, (*tag, (name, 0)))
        return
    frame.constants.append((tensor, value))
    for iteration in range(frame.iterations):
        machine.send(tensor, value, (*tag, (name, iteration)))
        machine.tell(op, dead, (*tag, (name, iteration)))


def _exit(machine: _Machine, op: Operation, tag: Tag, inputs: list[Any], dead: bool) -> None:
    outside, (name, _) = tag[:-1], tag[-1]
    if dead:
        machine.dead_exits[op, outside] = machine.frames[outside][name]
        return
    machine.left.add((op, outside))
    machine.give(op, [argument(op, 0, inputs[0])], outside)


def _next_iteration(
    machine: _Machine, op: Operation, tag: Tag, inputs: list[Any], dead: bool
) -> None:
    if dead:
        return
    outside, (name, iteration) = tag[:-1], tag[-1]
    frame = machine.frames[outside][name]
    inside = (*outside, (name, iteration + 1))
    if iteration + 1 == frame.iterations:
        frame.iterations += 1
        for tensor, value in frame.constants:
            machine.send(tensor, value, inside)
            machine.tell(tensor.op, value is DEAD, inside)
    machine.give(op, [argument(op, 0, inputs[0])], inside)


_BY_FLOW: dict[Flow, Callable[..., None]] = {
    "switch": _switch, "merge": _hand_on, "enter": _enter, "exit": _exit,
    "next iteration": _next_iteration, "loop condition": _hand_on,
}  # fmt: skip


CROSSINGS: dict[Any, Callable[..., Any]] = {}  # by access: values between tasks


def _special(op: Operation) -> Callable[..., None] | None:
    """Return the function that runs an operation in a way of its own, None for most."""
    if op.card.reads_variable:
        return _read_variable
    if op.card.handle == "rendezvous":
        return CROSSINGS[op.card.access]
    return None if op.card.flow is None else _BY_FLOW.get(op.card.flow)
