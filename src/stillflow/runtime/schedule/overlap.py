"""Asynchronous steps on a worker thread: summaries during the training step.

A card with `beside=True` (its kernel is pure and works in NumPy or torch) becomes two steps: one
passes its inputs to a worker thread as soon as they exist, the other waits for the result as late
as possible. Inputs are copied only if a step is about to change their memory and the thread has not
come to them yet. The plan itself runs calls that no thread has begun when it has nothing else to
do.

A kernel with a method `begin` has threads of its own, as collective operations have: what it begins
gives `result()`. It begins before all other steps that are ready, with the steps in front of it
that have one input and no other consumer, so gradients travel while others are being computed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import Any

from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.worker_calls import Pending, processors
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Name, Step, may_meet
from stillflow.runtime.schedule.dependencies import Group, dependencies, schedule
from stillflow.runtime.schedule.steps import StepAccesses, has_effect
from stillflow.runtime.schedule.variable_accesses import is_assignment

# Operations that only put summaries together: they wait for them, so they too can be late.
_LATE = frozenset(("MergeSummary",))


def _is_own(op: Operation) -> bool:
    """Return True for an operation that is often made for a single one, just before it."""
    return op.type == "Const" or op.card.reads_variable


def as_soon_as_ready(
    ops: Sequence[Operation], fetched: Sequence[Tensor], fed: Collection[Tensor]
) -> dict[Operation, int]:
    """Return the operations of cards with `beside=True`, and the positions after which they run.

    TensorFlow runs them when their inputs are there, not when all earlier ones are done. So the
    summary of a variable shows it as the optimizer found it; the program's own assignments are
    visible. Reads of variables and constants for one of them alone come with it.

    Args:
      ops: in an order in which they may run.
      fetched: the results.
      fed: the fed tensors.
    """
    found: dict[Operation, int] = {}
    if not any(op.card.beside for op in ops):
        return found
    uses = Counter(tensor for op in ops for tensor in op._inputs)
    uses.update(fetched)
    place = {op: number for number, op in enumerate(ops)}
    assigned: dict[Operation, int] = {}  # variable -> where it was assigned last
    for op in ops:
        if is_assignment(op):
            assigned[op._inputs[0].op] = place[op]
        if not op.card.beside:
            continue
        own = [t.op for t in op._inputs if _is_own(t.op) and uses[t] == 1]
        own = [source for source in own if not source._control_inputs]
        taken = [t for mover in (op, *own) for t in mover._inputs if t not in fed]
        before = {*op._control_inputs, *(t.op for t in taken if t.op not in own)}
        read = {source._inputs[0].op for source in before if source.card.flow == "identity"}
        ready = [place.get(source, -1) for source in before]
        ready += [assigned.get(variable, -1) for variable in before | read]
        found.update(dict.fromkeys((*own, op), max(ready, default=-1)))
    return found


def overlap(graph: StepGraph) -> None:
    """Split the steps of cards with `beside=True`: begin early, wait for the result late.

    Steps under a condition stay as they are.
    """
    if not any(_is_beside(step) for step in graph):
        return
    late: set[int] = set()  # of steps, by `id`
    first: set[int] = set()
    shown: list[_Shown] = []
    accesses = StepAccesses(graph.steps, graph.values, graph.constants, graph.memory)
    for step in graph:
        if _is_beside(step):
            begun = Name(f"{step.outputs[0]}_begun")
            shown.append(_Shown(begun, step, accesses))
            # An input listed here is not used as memory for another result until then.
            kept = [name for name in step.inputs if name not in shown[-1].names]
            ended = Step("call", step.op, step.outputs, [begun, *kept], (), _result, [begun])
            beginning = _begin(step, begun)
            graph.replace([step], beginning, ended, at=step)
            late.add(id(ended))
            if _begins(step):
                first.update(map(id, (beginning, *_in_front(graph, beginning))))
        elif not step.guard and step.op is not None and step.op.type in _LATE:
            late.add(id(step))
        else:
            changed = [each for each in shown if may_meet(step.writes, each.buffers)]
            shown = [each for each in shown if each not in changed]
            graph.replace([], *_parted(changed, step), at=step)
    steps = graph.steps
    before = dependencies(map(accesses.of, steps))
    groups = [_group(step, first, late) for step in steps]
    order = schedule(before, _keys(steps, before, first, late) if first else None, groups)
    graph.reorder(_helped([steps[number] for number in order], late))


def _group(step: Step, first: Collection[int], late: Collection[int]) -> Group | None:
    if id(step) in first:
        return Group.FIRST
    return Group.LAST if id(step) in late else None


def _keys(steps: list[Step], before: list[Any], first: set[int], late: set[int]) -> list[Any]:
    """Return priorities by which a plan waits for the results of collective operations.

    Those that another one needs come first, as other ranks may wait for it. Of these a broadcast
    that is only received comes last: the rank that sends it may wait for all the others.
    """
    leading: set[int] = set()
    for number in reversed(range(len(steps))):
        if number in leading or id(steps[number]) in first:
            leading.update(before[number])
    needless = [id(step) in late and number not in leading for number, step in enumerate(steps)]
    received = [step.op is not None and waits(step) and not step.op._inputs for step in steps]
    return list(zip(needless, received, range(len(steps))))


def _in_front(graph: StepGraph, step: Step) -> Iterator[Step]:
    """Yield the steps before one that give it its only input, and nobody else any."""
    while True:
        names = [name for name in step.inputs if name not in graph.constants]
        source = graph.producer(names[0]) if len(names) == 1 else None
        if source is None or source.kind != "call" or source.writes or has_effect(source):
            return
        takers = graph.consumers(names[0])
        others = [taker for taker in takers if taker is not step and not waits(taker)]
        if others or len(source.outputs) != 1 or graph.uses(names[0]) != len(takers):
            return
        step = source
        yield step


class _Shown:
    """Variables read by an asynchronous step: the call, the values, and their variables."""

    def __init__(self, begun: Name, step: Step, accesses: StepAccesses) -> None:
        self.begun = begun
        found = {name: accesses.variables_of(name) for name in step.inputs}
        self.names = [name for name, buffers in found.items() if buffers]
        self.buffers = set().union(*found.values())


def _parted(shown: list[_Shown], step: Step) -> list[Step]:
    """Return the steps that must run before a step changes shown variables."""
    if not shown:
        return []
    begun = [each.begun for each in shown]
    names = [name for each in shown for name in each.names]
    return [Step("call", step.op, [], [*begun, *names], (), _part, begun)]


def _helped(steps: Sequence[Step], late: Collection[int]) -> Iterator[Step]:
    """Yield the steps; before it waits for several results, the plan makes calls itself."""
    for is_late, row in groupby(steps, key=lambda step: id(step) in late):
        waiting = list(row)
        begun = [step.arguments[0] for step in waiting if waits(step)]
        if is_late and len(begun) > 1:
            yield Step("call", waiting[0].op, [], begun, (), _help, begun)
        yield from waiting


def _is_beside(step: Step) -> bool:
    # A step that is bound to fail has no output, and is to fail in place.
    if step.op is None or step.kind != "call" or step.guard or not step.outputs:
        return False
    beside = step.op.card.beside
    chosen = beside(step.op) if callable(beside) else beside
    return _begins(step) or (processors() > 1 and bool(chosen))


def _begins(step: Step) -> bool:
    """Return True for a kernel that begins its work itself."""
    return hasattr(step.function, "begin")


def waits(step: Step) -> bool:
    """Return True if a step waits for the result of another thread."""
    return step.function is _result


def _begin(step: Step, begun: Name) -> Step:
    function = step.function
    assert function is not None

    def begin(*arguments: Any) -> Pending:
        return Pending(function, arguments)

    own = getattr(function, "begin", begin)
    return Step("call", step.op, [begun], step.inputs, (), own, step.arguments)


def _part(*begun: Pending) -> None:
    for call in reversed(begun):  # the other threads come from the front
        call.part_from_memory()


def _help(*begun: Pending) -> None:
    for call in reversed(begun):
        call.work()


def _result(begun: Pending) -> Any:
    return begun.result()


_result.is_ordered = False  # type: ignore[attr-defined]
