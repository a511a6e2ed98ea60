"""Steps that another thread takes while the plan goes on: summaries beside the training step.

A card with `beside=True` (its kernel is pure and works in NumPy or torch) becomes two steps: one
hands its inputs to a thread as soon as they are there, the other waits for the result: at the end
of the plan, or before something changes the memory of the inputs. Nothing is copied. Small inputs
are not worth the way, and where the thread has not begun yet, the plan does the work.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from queue import SimpleQueue
from typing import Any

import torch

from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.exits import at_work
from stillflow.runtime.ownership import roots_by_name
from stillflow.runtime.steps import Memory, Name, Step, Value

# Up to this many elements, handing over costs more than the work.
FEW = 1 << 7
# Operations that only put summaries together: they wait for them, so they too can be late.
_LATE = frozenset(("MergeSummary",))
# Operations that are often made for a single one, just before it.
_OWN = frozenset(("Const", "ReadVariableOp"))


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


def as_soon_as_ready(
    ops: list[Operation], fetched: Sequence[Tensor], fed: Collection[Tensor]
) -> list[Operation]:
    """Moves operations of cards with `beside=True` up to where their inputs are there.

    TensorFlow, too, runs them then, not when all that was made before them is done. So the summary
    of a variable shows it as the optimizer found it; what a program assigns itself, it does show.

    Args:
      ops: in the order in which they run.
      fetched: what is given back.
      fed: what is not computed.
    """
    if not any(op.card.beside for op in ops):
        return ops
    uses = Counter(tensor for op in ops for tensor in op._inputs)
    uses.update(fetched)
    place = {op: number for number, op in enumerate(ops)}
    order = {op: (number, 0) for op, number in place.items()}
    assigned: dict[Operation, int] = {}  # variable -> where it was assigned last
    for op in ops:
        if op.type.startswith("Assign"):
            assigned[op._inputs[0].op] = place[op]
        if not op.card.beside:
            continue
        own = [t.op for t in op._inputs if t.op.type in _OWN and uses[t] == 1]
        own = [source for source in own if not source._control_inputs]
        taken = [t for mover in (op, *own) for t in mover._inputs if t not in fed]
        before = {*op._control_inputs, *(t.op for t in taken if t.op not in own)}
        read = {source._inputs[0].op for source in before if source.type == "Identity"}
        ready = [place.get(source, -1) for source in before]
        ready += [assigned.get(variable, -1) for variable in before | read]
        order.update(dict.fromkeys((*own, op), (max(ready, default=-1), 1)))
    return sorted(ops, key=order.__getitem__)


def put_beside(steps: list[Step], values: dict[Tensor, Value], memory: Memory) -> list[Step]:
    """Splits the steps of cards with `beside=True`, and lets what waits for them wait long.

    Args:
      steps: in the order in which they run; those under a condition stay as they are.
      values: of the plan.
      memory: which of them share theirs.
    """
    if _processors() == 1 or not any(_is_beside(step) for step in steps):
        return steps
    roots = roots_by_name(steps, values, memory)
    result: list[Step] = []
    waiting: list[_Waiting] = []  # in the order in which they may run
    for step in steps:
        if _is_beside(step):
            begun = Name(f"{step.outputs[0]}_begun")
            result.append(
                Step("call", step.op, [begun], step.inputs, (), _begin(step), step.arguments)
            )
            # What is an input here is neither freed nor used as memory for another result.
            end = Step("call", step.op, step.outputs, [begun, *step.inputs], (), _result, [begun])
            held = {root for name in step.inputs for root in roots.get(name, ())}
            waiting.append(_Waiting(end, {memory.buffers[r] for r in held if r in memory.buffers}))
        elif _is_late(step) and _needed(step, waiting):
            waiting.append(_Waiting(step, set()))
        else:
            for needed in _needed(step, waiting):
                waiting.remove(needed)
                result.append(needed.step)
            result.append(step)
    return result + [last.step for last in waiting]


@dataclass
class _Waiting:
    """A step that is not to run yet, and the variables whose memory it needs as it is."""

    step: Step
    buffers: set[int]

    def is_needed(self, wanted: set[str], written: set[int]) -> bool:
        """Whether it has to run before a step that takes and changes this."""
        changed = self.buffers & written
        if -1 in (*self.buffers, *written):  # any of them
            changed = self.buffers and written
        return bool(changed) or not wanted.isdisjoint(self.step.outputs)


def _is_beside(step: Step) -> bool:
    # What is bound to fail has no output, and is to fail where it stands.
    here = step.kind == "call" and not step.guard and bool(step.outputs)
    return here and step.op is not None and step.op.card.beside


def waits(step: Step) -> bool:
    """Whether a step waits for what another thread makes."""
    return step.function is _result


def _is_late(step: Step) -> bool:
    return not step.guard and step.op is not None and step.op.type in _LATE


def _needed(step: Step, waiting: list[_Waiting]) -> list[_Waiting]:
    """Which of the steps that wait have to run before a step."""
    wanted = {*step.inputs, *(name for name, _ in step.guard or ())}
    needed = []
    for other in reversed(waiting):
        if other.is_needed(wanted, set(step.writes)):
            wanted.update(other.step.inputs)
            needed.append(other)
    return needed[::-1]


def _begin(step: Step) -> Callable[..., Any]:
    function = step.function
    assert function is not None

    def begin(*arguments: Any) -> Any:
        size = max((a.numel() for a in arguments if isinstance(a, torch.Tensor)), default=0)
        return function(*arguments) if size <= FEW else Pending(function, arguments)

    return begin


def _result(begun: Any) -> Any:
    return begun.result() if isinstance(begun, Pending) else begun
