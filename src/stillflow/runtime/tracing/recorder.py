"""Begin, end and results of each operation of a traced run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

import torch

from stillflow.graph.operation import Operation
from stillflow.runtime.capture.graph_capture import Captured
from stillflow.runtime.devices.devices import wait_for_gpus
from stillflow.runtime.ir.steps import Step, ops_of
from stillflow.runtime.loops.code import LoopEmitter
from stillflow.runtime.plan.emit import Emitter
from stillflow.runtime.plan.regions import Code

# Steps that are no work of an operation; values are handed over without any.
_PLUMBING = frozenset({"alias", "flag", "bool", "copy", "move"})


class Run(NamedTuple):
    """One step of a traced run, times in nanoseconds."""

    op: Operation
    start: int
    end: int
    outputs: tuple[Any, ...]  # (dtype name, shape, bytes, allocator), or None for other values


class Recorder:
    """Recorder of traced runs' steps, one run at a time.

    A captured graph has events in it where its steps end: it takes little longer than without, and
    tells when it was where.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # of each step: itself, and the operations fused with it
        self._ops: list[list[Operation]] = []
        # numbers of the steps that run in every iteration of a loop
        self._turning: set[int] = set()
        self._runs: dict[tuple[Any, ...], Run] = {}  # by operation, and turn of a loop
        self._marks: _Marks | None = None  # of the graph that is captured

    def number(self, step: Step, turns: bool) -> int:
        """Return the number of a step that is going to be told of.

        Args:
          step: the step.
          turns: whether it is in a loop, and each of its runs is one of its own.
        """
        number = len(self._ops)
        self._ops.append(ops_of(step))
        if turns:
            self._turning.add(number)
        return number

    def begin(self) -> int:
        """When a step begins: a time, or the number of a mark."""
        return time.perf_counter_ns() if self._marks is None else self._marks.begin()

    def end(self, number: int, start: int, computes: bool, outputs: tuple[Any, ...]) -> None:
        """Record that a step has ended.

        Args:
          number: of the step.
          start: when it began.
          computes: whether it may be that the step has something to do on a device.
          outputs: what it gave.
        """
        described = tuple([_described(value) for value in outputs])
        if self._marks is not None:
            end = self._marks.end() if computes else start
            self._marks.steps.append((number, start, end, described))
            return
        tensors = [value for value in outputs if isinstance(value, torch.Tensor)]
        if computes and (not outputs or not all(tensor.is_cpu for tensor in tensors)):
            wait_for_gpus()
        self._add(number, start, time.perf_counter_ns(), described)

    def _add(self, number: int, start: int, end: int, described: tuple[Any, ...]) -> None:
        first, *others = self._ops[number]
        turn = (len(self._runs),) if number in self._turning else ()
        if next(reversed(self._runs), None) == (first,):  # the host's part came just before
            start = self._runs[(first,)].start
        share = (end - start) // (1 + len(others))  # the time of each of them is unknown
        done = end - share * len(others)
        self._runs.pop((first, *turn), None)  # of an operation in several places, the last
        self._runs[(first, *turn)] = Run(first, start, done, described)
        for op in others:
            self._runs[(op, *turn)] = Run(op, done, done + share, ())
            done += share

    def take(self, plan: Callable[..., Any], values: Sequence[Any]) -> tuple[Any, list[Run]]:
        """Run a traced plan; give its results and its steps."""
        with self._lock:
            self._runs = {}
            return plan(*values), list(self._runs.values())


class _Marks:
    """Events between the steps of a graph."""

    def __init__(self) -> None:
        self._events: list[Any] = []
        self.steps: list[tuple[int, int, int, tuple[Any, ...]]] = []  # with numbers of events

    def begin(self) -> int:
        """Return the number of the event at which a step begins: the end of the one before."""
        return len(self._events) - 1 if self._events else self.end()

    def end(self) -> int:
        """Return the number of a new event, at which a step ends."""
        event = torch.cuda.Event(enable_timing=True, external=True)
        event.record()
        self._events.append(event)
        return len(self._events) - 1

    def times(self) -> list[int]:
        """When each event is, in nanoseconds; waits for the last."""
        first, last = self._events[0], self._events[-1]
        last.synchronize()
        now = time.perf_counter_ns()
        passed = [0.0, *map(first.elapsed_time, self._events[1:])]  # milliseconds
        return [now - int(1e6 * (passed[-1] - each)) for each in passed]


def traced_emitter(recorder: Recorder) -> type[Emitter]:
    """Return the kind of `Emitter` whose plans tell `recorder` when each step began and ended."""

    class Timed(Emitter):
        beside = False
        repeats = False

        @cached_property
        def called(self) -> set[Operation | None]:
            return {step.op for step in self.steps if step.kind == "call"}

        def step(self, step: Step) -> None:
            reads_its_own = step.kind == "read" and step.op in self.called
            tells_itself = isinstance(step.function, Captured)
            if step.op is None or step.kind in _PLUMBING or reads_its_own or tells_itself:
                super().step(step)
                return
            self.globals.update(_begin=recorder.begin, _end=recorder.end)
            number = recorder.number(step, self.repeats)
            if step.kind == "loop":  # its steps tell of themselves, its end is all that is left
                super().step(step)
            self.line(step.guard, "_start = _begin()", step.op)
            if step.kind != "loop":
                super().step(step)
            outputs = "".join(f"{name}, " for name in step.outputs)
            computes = step.kind not in ("read", "loop") and bool(step.outputs or step.writes)
            self.line(step.guard, f"_end({number}, _start, {computes}, ({outputs}))", step.op)

    class TimedLoop(Timed, LoopEmitter):
        repeats = True

    class TimedCode(Timed, Code):
        """Timed code of a captured graph."""

        def __call__(self, *values: Any) -> Any:
            if not torch.cuda.is_current_stream_capturing():
                return super().__call__(*values)
            self._marks = recorder._marks = _Marks()  # left by steps: a graph is captured
            try:
                return super().__call__(*values)
            finally:
                recorder._marks = None  # steps read the clock again

        def replayed(self, graph: Any) -> Callable[[], None]:
            marks = self._marks

            def replay() -> None:
                graph.replay()
                times = marks.times() if marks.steps else []
                for number, start, end, described in marks.steps:
                    recorder._add(number, times[start], times[end], described)

            return replay

    Timed.captured, Timed.of_loops = TimedCode, TimedLoop
    return Timed


@cache
def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _described(value: Any) -> tuple[str, Any, int, str] | None:
    if isinstance(value, torch.Tensor):
        allocator = "cpu" if value.is_cpu else f"GPU_{value.device.index or 0}_bfc"
        return _name(value.dtype), value.shape, value.nbytes, allocator
    if hasattr(value, "shape") and hasattr(value, "nbytes"):
        return "string", tuple(value.shape), int(value.nbytes), "cpu"
    return None
