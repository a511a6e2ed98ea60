"""Fuse steps on few numbers, whose shapes only the run knows, into programs of a native loop.

A plan of feature columns has hundreds of steps, of which most find shapes and look up numbers, as
many as there are examples. Where they are most of a plan they run together, as early as another
step takes a value of theirs.
"""

from __future__ import annotations

from itertools import groupby
from math import prod
from typing import Any

from stillflow.graph.operation import Operation
from stillflow.ops import small_steps
from stillflow.ops.small_steps import Instruction, Program
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Name, Step, fuse, in_order
from stillflow.runtime.schedule.dependencies import dependencies, schedule
from stillflow.runtime.schedule.steps import StepAccesses
from stillflow.util.texts import library

_MANY, _SHARE = 30, 0.4  # of a plan's steps
_LEAST = 4  # steps of a program
_WIDE = 256  # numbers of a row: those with more are as fast one by one
_MOST = 1 << 14  # numbers of a known shape that lookups, and what is around them, give


def fuse_small_steps(graph: StepGraph) -> None:
    """Replace small steps by programs, if there are many."""
    if len(graph) < _MANY or library() is None:
        return
    kinds = {
        value.name: kind for tensor, value in graph.values.items()
        if (kind := small_steps.kind_of(tensor.dtype.base_dtype.name)) is not None
        and value.is_handle == (kind == small_steps.KINDS["resource"])
    }  # fmt: skip
    found = ((id(step), _instruction(graph, step, kinds)) for step in graph)
    parts = {number: each for number, each in found if each is not None}
    if len(parts) < max(_MANY, _SHARE * len(graph)):
        return
    steps = _in_runs(graph, parts)
    graph.reorder(steps)
    runs = [list(run) for is_part, run in groupby(steps, lambda step: id(step) in parts) if is_part]
    runs = [run for run in runs if len(run) >= _LEAST]
    parts = {id(step): parts[id(step)] for run in runs for step in run}
    programs: dict[str, tuple[Name, Program]] = {}
    for run in runs:
        _put(graph, run, parts, kinds, programs)


def _in_runs(graph: StepGraph, parts: dict[int, Instruction]) -> list[Step]:
    """Return all steps in an order in which those of programs stand together.

    None comes after a change that it came before, and none that may fail before an assertion, or
    another step without results, that it came after.
    """
    steps = graph.steps
    accesses = StepAccesses(steps, graph.values, graph.constants, graph.memory)
    before = dependencies(map(accesses.of, steps))
    own: set[int] = set()
    last: set[int] = set()
    for number, step in enumerate(steps):
        if not getattr(step.function, "is_total", False):
            before[number] |= last
        if id(step) in parts:
            own.add(number)
        elif step.writes:
            before[number] |= own
        elif step.op is not None and (step.op.card.asserts or not step.outputs):
            last = {number}
    return [steps[number] for number in schedule(before, None, [id(s) in parts for s in steps])]


def _instruction(graph: StepGraph, step: Step, kinds: dict[str, int]) -> Instruction | None:
    """Return a step as an instruction; None if the native loop does not have it."""
    op = step.op
    if step.kind != "call" or op is None or step.guard or step.writes:
        return None
    if any(isinstance(each, Name) for each in step.keywords.values()):
        return None
    own = "" if step.fused else op.type
    name, *attributes = getattr(step.function, "small_step", (own,))
    found = small_steps.step_of(name)
    most = _MOST if hasattr(step.function, "small_step") else 0
    if not (found and step.outputs and graph.is_on_cpu(op) and _is_small(graph, op, most)):
        return None
    operands = list(step.arguments)
    if name == op.type:
        operands = _operands(graph, step)
        given = (op.attrs.get(each, 0) for each in found[1])
        attributes = [word for each in given for word in small_steps.words_of(each)]
    known = [
        graph.constants.get(each) if isinstance(each, Name) else each for each in operands
        if not isinstance(each, Name) or each not in kinds
    ]  # fmt: skip
    if (
        not operands
        or None in map(small_steps.kind_of, known)
        or not kinds.keys() >= {*step.outputs}
    ):
        return None
    return Instruction(found[0], attributes, operands, step.outputs)


def _operands(graph: StepGraph, step: Step) -> list[Any]:
    """Return the inputs of a step's operation, by name or as arrays; none if others are taken."""
    assert step.op is not None
    taken = {str(each) for each in step.arguments if isinstance(each, Name)}
    operands: list[Any] = []
    for tensor in step.op._inputs:
        value = graph.values.get(tensor)
        if value is not None and value.name in taken:
            operands.append(Name(value.name))
        else:
            operands.append(None if graph.facts is None else graph.facts.value(tensor))
    return operands if taken == {each for each in operands if isinstance(each, Name)} else []


def _is_small(graph: StepGraph, op: Operation, most: int) -> bool:
    """Return True unless results are more than `most` fractions, or of long rows."""
    made = [tensor for tensor in op._outputs if tensor.dtype.base_dtype.is_floating]
    shapes = [dims for dims in map(graph.dims, made) if dims]
    return all(prod(filter(None, dims)) <= (_WIDE if None in dims else most) for dims in shapes)


def _put(
    graph: StepGraph, run: list[Step], parts: dict[int, Instruction], kinds: dict[str, int],
    programs: dict[str, tuple[Name, Program]],
) -> None:  # fmt: skip
    """Replace steps by a program; `programs` are those that give values, by name."""
    own, instructions = set(map(id, run)), [parts[id(step)] for step in run]
    made = [name for step in run for name in step.outputs]
    takers = {name: [s for s in graph.consumers(name) if id(s) not in own] for name in made}
    carries = [name for name in made if any(id(taker) in parts for taker in takers[name])]
    outputs = [
        name for name in made
        if graph.is_result(name) or any(id(taker) not in parts for taker in takers[name])
    ]  # fmt: skip
    resource = small_steps.KINDS["resource"]
    taken = dict.fromkeys(
        each for instruction in instructions for each in instruction.operands
        if isinstance(each, Name) and each not in takers
        and (each not in graph.constants or kinds.get(each) == resource)
    )  # fmt: skip
    inputs = [name for name in taken if name not in programs]
    runs = list(dict.fromkeys(programs[name][0] for name in taken if name in programs))
    carried = [
        (str(name), runs.index(programs[name][0]), programs[name][1].numbers[name])
        for name in taken if name in programs
    ]  # fmt: skip
    plain = in_order(
        run, [*inputs, *(name for name, *_ in carried)], [*outputs, *carries], graph.constants
    )
    program = Program(
        instructions, kinds, inputs, outputs, carried, carries, graph.constants, plain
    )
    name = Name(f"{made[-1]}_run")
    programs.update(dict.fromkeys(carries, (name, program)))
    step = fuse(run, [name, *outputs], program, [*runs, *inputs])
    graph.replace(run, step, at=run[-1])
