"""Emission of steps as one straight-line Python function.

Every value has a local name and dies after its last use; kernels and constants are the function's
globals; branches are `if` blocks. The line of each step is kept, so that a failing kernel is
traced back to its operation.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from stillflow.errors import ResourceExhaustedError
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.values import fetch_converter, fetch_fed, from_array
from stillflow.runtime.failures import dead_fetch, named_error, uninitialized
from stillflow.runtime.host import python_stack
from stillflow.runtime.host.denormals import flushed
from stillflow.runtime.host.threads import with_room
from stillflow.runtime.ir.steps import Guard, Memory, Name, Step, Value, last_uses
from stillflow.runtime.ir.verify import WANTED
from stillflow.runtime.ir.verify_memory import Lifetimes
from stillflow.runtime.schedule.overlap import waits
from stillflow.util.interpreter_exit import at_work

PLAN = "<plan "  # prefix of the file names of compiled sources
_numbers = itertools.count(1)


class Emitter:
    """Emitter: writes the source of a plan's function and compiles it."""

    beside = True  # whether other threads, or a compiler, may take steps
    captured: Any = None  # the kind of `Code` of captured steps, if not the usual one
    of_loops: Any = None  # the kind of `LoopEmitter`, if not the usual one

    def __init__(self, steps: list[Step], constants: dict[str, Any], memory: Memory) -> None:
        self.steps = steps
        self.globals: dict[str, Any] = {**constants, "clone": clone}
        self.memory = memory
        self.lines: list[str] = []
        self.ops: dict[int, Operation] = {}  # source line -> operation
        self.filename = f"{PLAN}{next(_numbers)}>"
        self.fed: Collection[Tensor] = ()
        self.owns_raw = False  # whether raw values must not share memory with anything
        self.depth = 1  # of the code that is being written
        self._open: Guard = ()
        self._bound = 0
        self._freed = Lifetimes() if WANTED else None

    def function(
        self,
        feeds: Sequence[str],
        fetches: Sequence[tuple[Tensor, Value]],
        raw: Sequence[tuple[Tensor, Value]],
    ) -> Callable[..., Any]:
        """Compile the function from fed values, in order, to fetched arrays and raw values."""
        self.lines.append(f"def plan({', '.join(feeds)}):")
        wanted = [*fetches, *raw]
        last = last_uses(self.steps, [value.name for _, value in wanted])
        for number, step in enumerate(self.steps):
            self.step(step)
            self.free(step, number, last)
        self.results(fetches, raw)
        function = guard_errors(self.build("plan"), self.ops, self.filename, self.steps)
        return with_room(function) if any(map(waits, self.steps)) else function

    def build(self, name: str) -> Callable[..., Any]:
        """Compile the source and return the function of that name."""
        exec(compile("\n".join(self.lines), self.filename, "exec"), self.globals)
        function = self.globals[name]
        is_long = len(self.steps) >= python_stack.LONG
        return python_stack.with_own_chunk(function) if is_long else function

    def line(self, guard: Guard, text: str, op: Operation | None = None) -> None:
        """Add a line under the `if`s of `guard`, keeping open blocks that still apply."""
        guard = guard or ()
        shared = 0
        for mine, current in zip(guard, self._open or (), strict=False):
            if mine != current:
                break
            shared += 1
        for depth in range(shared, len(guard)):
            name, value = guard[depth]
            indent = "    " * (depth + self.depth)
            self.lines.append(f"{indent}if {'' if value else 'not '}{name}:")
        self._open = guard
        self.lines.append("    " * (len(guard) + self.depth) + text)
        if op is not None:
            self.ops[len(self.lines)] = op

    def bind(self, value: Any, prefix: str = "k") -> str:
        """Return a global name for a kernel or constant."""
        self._bound += 1
        name = f"{prefix}_{self._bound}"
        self.globals[name] = value
        return name

    def step(self, step: Step) -> None:
        if self._freed is not None:
            self._freed.step(step)
        _WRITERS[step.kind](self, step)

    def call(self, step: Step) -> None:
        parts = [self.argument(a) for a in step.arguments]
        parts += [f"{key}={self.argument(value)}" for key, value in step.keywords.items()]
        call = f"{self.bind(step.function)}({', '.join(parts)})"
        targets = ", ".join(step.outputs)
        self.line(step.guard, f"{targets} = {call}" if targets else call, step.op)

    def loop(self, step: Step) -> None:
        code, *arguments = step.arguments
        self.call(replace(step, function=code.compile(self.of_loops), arguments=arguments))

    def argument(self, value: Any) -> str:
        if isinstance(value, Name):
            return str(value)
        if value is None or isinstance(value, (bool, int)):
            return repr(value)
        return self.bind(value, "a")

    def read(self, step: Step) -> None:
        target, handle = step.outputs[0], step.inputs[0]
        self.line(step.guard, f"{target} = {handle}.value", step.op)
        missing = self.bind(partial(_raise_uninitialized, step.op), "u")
        self.line(step.guard, f"if {target} is None: {missing}({handle})", step.op)
        if step.copies:
            self.line(step.guard, f"{target} = clone({target})", step.op)

    def literal(self, step: Step) -> None:
        self.line(step.guard, f"{step.outputs[0]} = {step.arguments[0]}", step.op)

    def copy(self, step: Step) -> None:
        self.line(step.guard, f"{step.outputs[0]} = clone({step.inputs[0]})", step.op)

    def move(self, step: Step) -> None:
        # From a GPU the program waits for the value; to a GPU it goes on while it is sent, if the
        # driver has a copy of its own: Metal would read the program's array later.
        (device,) = step.arguments
        later = ", non_blocking=True" if device.type == "cuda" else ""
        call = f"{step.inputs[0]}.to({self.bind(device, 'd')}{later})"
        self.line(step.guard, f"{step.outputs[0]} = {call}", step.op)

    def boolean(self, step: Step) -> None:
        function = "bool" if step.function is None else self.bind(step.function, "f")
        self.line(step.guard, f"{step.outputs[0]} = {function}({step.inputs[0]})", step.op)

    def alias(self, step: Step) -> None:
        index = self.bind(torch.tensor(step.arguments[0], dtype=torch.int32), "a")
        target, position = step.outputs
        self.line(step.guard, f"{target} = {step.inputs[0]}; {position} = {index}", step.op)

    def free(self, step: Step, number: int, last: dict[str, int]) -> None:
        dead = [
            name
            for name in dict.fromkeys([*step.inputs, *step.outputs])
            if last.get(name) == number and name not in self.globals and name[0] == "t"
        ]
        if dead:
            if self._freed is not None:
                self._freed.free(step, dead)
            self.line(step.guard, " = ".join(dead) + " = None")

    def results(
        self, fetches: Sequence[tuple[Tensor, Value]], raw: Sequence[tuple[Tensor, Value]]
    ) -> None:
        if self._freed is not None:
            self._freed.results([value.name for _, value in (*fetches, *raw)])
        computed = [tensor for tensor, _ in fetches if tensor not in self.fed]
        for tensor, value in sorted(fetches, key=lambda fetch: fetch[0].name):
            if value.guard is None or value.guard:
                missing = self.bind(partial(_raise_dead, tensor, computed), "u")
                self.line((), f"if not ({_exists(value)}): {missing}()")
        parts = []
        for tensor, value in fetches:
            if value.guard is None:
                continue
            copy = not value.is_handle and not self.memory.is_fresh(value.roots)
            made = fetch_fed if tensor in self.fed else fetch_converter(tensor, copy)
            parts.append(value.name if made is None else f"{self.bind(made)}({value.name})")
        for _, value in raw:
            if value.guard is None:
                parts.append("None")
                continue
            text = value.name
            if self.owns_raw and not value.is_handle and not self.memory.is_fresh(value.roots):
                text = f"{self.bind(own)}({text})"
            parts.append(f"{text} if {_exists(value)} else None" if value.guard else text)
        self.line((), f"return [{', '.join(parts)}]")


def _exists(value: Value) -> str:
    """Return the test that a value was computed.

    Its last name is only known if the rest is True.
    """
    if value.guard is None:
        return "False"
    return " and ".join(name if truth else f"not {name}" for name, truth in value.guard)


def clone(value: Any) -> Any:
    """Return a copy of a run-time value with memory of its own."""
    return value.clone() if isinstance(value, torch.Tensor) else value.copy()


def own(value: Any) -> Any:
    """Return a copy of an array or tensor; other values unchanged."""
    return clone(value) if isinstance(value, (torch.Tensor, np.ndarray)) else value


_WRITERS: dict[str, Callable[[Emitter, Step], None]] = {
    "call": Emitter.call, "read": Emitter.read, "copy": Emitter.copy, "bool": Emitter.boolean,
    "alias": Emitter.alias, "flag": Emitter.literal, "loop": Emitter.loop,
    "number": Emitter.literal, "move": Emitter.move,
}  # fmt: skip


def _raise_uninitialized(op: Operation | None, handle: Any) -> None:
    assert op is not None
    raise uninitialized(op, handle.missing())


def _raise_dead(tensor: Tensor, fetched: Sequence[Tensor]) -> None:
    raise dead_fetch(tensor, fetched)


def guard_errors(
    function: Callable[..., Any],
    ops: dict[int, Operation],
    filename: str,
    steps: Sequence[Step],
) -> Callable[..., Any]:
    """Wrap a plan so that a kernel's error names the operation on whose line it happened."""
    inference = torch.inference_mode

    def run(*arrays: Any) -> Any:
        try:
            with at_work, inference(), flushed:
                return function(*[from_array(array) for array in arrays])
        except Exception as error:
            raised = named_error(error, ops, filename)
            if isinstance(raised, ResourceExhaustedError):
                from stillflow.runtime.executor.remedies import with_memory

                raised = with_memory(raised, error, filename, steps, arrays)
            if raised is error:
                raise
            try:
                raise raised from error
            finally:
                del raised  # it refers to this frame, and with it to the feeds

    return run
