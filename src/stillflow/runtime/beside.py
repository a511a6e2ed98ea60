"""Steps that another thread takes while the plan goes on: summaries beside the training step.

A card with `beside=True` (its kernel is pure and works in NumPy or torch) becomes two steps: one
hands copies of its inputs to a thread, the other, as late as possible, waits for the result.
Small inputs are not worth the way, and where the thread has not begun yet, the plan does the work.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache
from queue import SimpleQueue
from typing import Any

import torch

from stillflow.ops.exits import at_work
from stillflow.runtime.steps import Name, Step

# Up to this many elements, handing over costs more than the work.
FEW = 1 << 7
# Operations that only put summaries together: they wait for them, so they too can be late.
_LATE = frozenset(("MergeSummary",))


class Pending:
    """A kernel's call, made by whoever comes first: a helping thread, or who wants the result."""

    __slots__ = ("_arguments", "_done", "_error", "_function", "_taken", "_value")

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._function, self._arguments = function, arguments
        self._taken, self._done = threading.Lock(), threading.Lock()
        self._done.acquire()
        self._error: Exception | None = None
        _helpers().put(self)

    def work(self) -> None:
        """Makes the call, unless somebody else does."""
        if self._taken.acquire(blocking=False):
            try:
                self._value = self._function(*self._arguments)
            except Exception as error:
                self._error = error
            finally:
                self._arguments = ()
                self._done.release()

    def result(self) -> Any:
        """Returns what the kernel gives; raises what it raises."""
        self.work()
        with self._done:
            if self._error is not None:
                raise self._error
            return self._value


@cache
def _helpers() -> SimpleQueue[Pending]:
    """The queue of calls, with threads that make them."""
    calls: SimpleQueue[Pending] = SimpleQueue()

    def help_out() -> None:
        with torch.inference_mode():
            while True:
                call = calls.get()
                with at_work:
                    call.work()
                del call  # not to hold its result until the next one comes

    for _ in range(max(1, _processors() - 1)):
        threading.Thread(target=help_out, name="stillflow-beside", daemon=True).start()
    return calls


@cache
def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_helpers.cache_clear)


def put_beside(steps: list[Step]) -> list[Step]:
    """Splits the steps of cards with `beside=True`, and moves what waits for them to the end.

    Args:
      steps: in the order in which they run; those under a condition stay as they are.
    """
    if _processors() == 1 or not any(_is_beside(step) for step in steps):
        return steps
    result: list[Step] = []
    waiting: list[Step] = []  # in the order in which they may run
    for step in steps:
        if _is_beside(step):
            begun = Name(f"{step.outputs[0]}_begun")
            result.append(_begin(step, begun))
            waiting.append(Step("call", step.op, step.outputs, [begun], (), _result, [begun]))
        elif _is_late(step) and _needed(step, waiting):
            waiting.append(step)
        else:
            for needed in _needed(step, waiting):
                waiting.remove(needed)
                result.append(needed)
            result.append(step)
    return result + waiting


def _is_beside(step: Step) -> bool:
    # What is bound to fail has no output, and is to fail where it stands.
    here = step.kind == "call" and not step.guard and bool(step.outputs)
    return here and step.op is not None and step.op.card.beside


def waits(step: Step) -> bool:
    """Whether a step waits for what another thread makes."""
    return step.function is _result


def _is_late(step: Step) -> bool:
    return not step.guard and step.op is not None and step.op.type in _LATE


def _needed(step: Step, waiting: list[Step]) -> list[Step]:
    """Which of the steps that wait have to run before a step."""
    wanted = {*step.inputs, *(name for name, _ in step.guard or ())}
    needed = []
    for other in reversed(waiting):
        if not wanted.isdisjoint(other.outputs):
            wanted.update(other.inputs)
            needed.append(other)
    return needed[::-1]


def _begin(step: Step, begun: Name) -> Step:
    function = step.function
    assert function is not None

    def begin(*arguments: Any) -> Any:
        size = max((a.numel() for a in arguments if isinstance(a, torch.Tensor)), default=0)
        if size <= FEW:
            return function(*arguments)
        # The plan may go on to change what it has handed over.
        copies = tuple(a.clone() if isinstance(a, torch.Tensor) else a for a in arguments)
        return Pending(function, copies)

    return Step("call", step.op, [begun], step.inputs, (), begin, step.arguments)


def _result(begun: Any) -> Any:
    return begun.result() if isinstance(begun, Pending) else begun
