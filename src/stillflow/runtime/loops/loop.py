"""Tracing of a loop's frame to one step of the surrounding plan.

A frame is traced like a plan of its own whose feeds are the entering values. The dependencies of
operations decide when they run: those behind the true side of the condition's Switch are the body,
those behind the false side run once at the end, all others run before the condition is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.graph.constant_value import Dims
from stillflow.graph.dims import relax
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.ir.facts import Facts
from stillflow.runtime.ir.steps import ANY, Guard, Name, Step, Value, both
from stillflow.runtime.loops.code import LoopCode
from stillflow.runtime.loops.frames import Frame, Unstructured
from stillflow.runtime.loops.memory import escape
from stillflow.runtime.loops.wiring import Loop, LoopVariable, understand
from stillflow.runtime.plan.trace import Tracer


class LoopTracer(Tracer):
    """Tracer of one iteration."""

    def __init__(self, facts: Facts, loop: Loop) -> None:
        super().__init__(facts)
        self.loop = loop
        self.outer: Tracer | None = None
        self.variables = {variable.merge: variable for variable in loop.variables}
        self.parameters: dict[str, Value] = {}  # local name -> the value outside
        self.current: dict[LoopVariable, str] = {}  # the local names of loop variables
        self.invariant: set[str] = set()  # names of values that are the same in all iterations
        self.own_roots: dict[str, frozenset[int]] = {}  # of entering values, by local name

    def one(self, unit: Operation | Frame) -> None:
        if unit in self.variables:
            return  # set when values entered
        if isinstance(unit, Operation):
            if unit.card.flow == "loop condition":
                source, guard = unit._inputs[0], self.guard_of(unit)
                self.pass_on(source, unit._outputs[0], self.values[source], guard)
                return
            if unit.card.flow == "next iteration":
                self.guard_of(unit)
                return
        super().one(unit)

    # ---- entering values

    def enter_invariant(
        self, outer: Tracer, source: Tensor, value: Value, targets: Any, guard: Guard
    ) -> None:
        """Enter an invariant: a constant of the loop if it is one outside, else a parameter."""
        truth = dict(guard or ()).get(outer._predicates.get(value.name, ""))
        if truth is not None:  # the loop runs only if this is so
            known = self.facts.resources.from_array(np.asarray(truth))
            for tensor in targets:
                self.know(tensor, known, ())
                self.invariant.add(self.values[tensor].name)
            return
        if value.name in outer.constants and value.name not in getattr(outer, "weights", ()):
            name = self.name("c")
            self.constants[name] = outer.constants[value.name]
        else:
            name = self.name("e")
            self.parameters[name] = value
        self.invariant.add(name)
        if self.moves is not None and outer.moves is not None:
            self.moves.put(name, outer.moves.place(value.name))
        roots = self.own_roots[name] = self.memory.borrowed()
        for tensor in targets:
            self.values[tensor] = Value(name, (), roots, value.is_handle)
            self.facts._dims[tensor] = outer.facts.dims(source)
            if source in outer.facts.values:
                self.facts.values[tensor] = outer.facts.values[source]
            if source in outer.facts.handles:
                self.facts.handles[tensor] = outer.facts.handles[source]

    def enter_variable(self, variable: LoopVariable, value: Value, dims: Dims) -> None:
        name = self.current[variable] = self.name("m")
        tensor, index = variable.merge._outputs
        roots = self.own_roots[name] = self.memory.borrowed()
        self.values[tensor] = Value(name, (), roots, value.is_handle)
        self.values[index] = Value(f"{name}_from", (), self.memory.borrowed())
        self.facts._dims[tensor] = dims
        self.facts._dims[index] = ()
        if self.moves is not None and not value.is_handle:
            self.moves.settle_variable(variable.merge, dims)
            self.moves.put(name, self.moves.device_of(variable.merge))

    # ---- when things run

    def trigger_guard(self, guards: Sequence[Guard]) -> Guard:
        if self.truth is not None or not guards:
            return ()
        turn = (self.predicate_name, True)
        return (turn,) if all(turn in (guard or ()) for guard in guards) else ()

    @property
    def truth(self) -> Array | None:
        """The condition if it is known now, else None."""
        assert self.loop.condition is not None
        return self.facts.value(self.loop.condition._outputs[0])

    @property
    def predicate_name(self) -> str:
        condition = self.loop.condition
        assert condition is not None
        return self.predicate(condition._outputs[0], condition)

    def when(self, guard: Guard) -> tuple[bool | None, Guard]:
        """Return the phase of a guard: in the body (True), at the end (False) or always.

        And the rest.
        """
        if guard is None or self.truth is not None:
            return None, guard
        name = self.predicate_name
        rest = tuple(item for item in guard if item[0] != name)
        truths = {item[1] for item in guard if item[0] == name}
        return (truths.pop() if truths else None), rest


def trace_loop(outer: Tracer, frame: Frame) -> None:
    """Add the step that runs a whole loop, and the values that leave it.

    Unstructured if the frame is no loop that `while` can express.
    """
    loop = understand(frame)
    guard = _guard(outer, loop)
    for op in frame.exits:
        outer._op_guards[op] = guard
    if guard is None:
        for op in frame.exits:
            outer.give_dead(op)
        return
    entered = {
        op: outer.argument(op, 0, op._inputs[0], guard)
        for op in (*(v.enter for v in loop.variables), *loop.invariants)
    }
    if outer.moves is not None:  # a variable is where its Merge is, from the start on
        for variable in loop.variables:
            source = variable.enter._inputs[0]
            outer.moves.settle_variable(variable.merge, outer.facts.dims(source))
            entered[variable.enter] = outer.moves.bring(
                entered[variable.enter], source, variable.merge
            )
    dims = {v: outer.facts.dims(v.enter._inputs[0]) for v in loop.variables}
    records = outer.facts.containers.save()
    while True:  # each time fewer sizes are taken to stay the same
        outer.facts.containers.restore(records)
        tracer = _trace(outer, loop, entered, dims, guard)
        found = {v: _relaxed(tracer, v, dims[v]) for v in loop.variables}
        if found == dims:
            break
        dims = found
    _add_step(outer, tracer, entered, guard)


def _guard(outer: Tracer, loop: Loop) -> Guard:
    """When the loop runs at all: when everything that enters exists."""
    guard: Guard = ()
    for op in (*(v.enter for v in loop.variables), *loop.invariants):
        mine = outer.guard_of(op)
        together = both(guard, mine)
        stays = op in loop.invariants and mine is not None and guard is not None
        if stays and (together is None or set(together) != set(guard or ())):
            raise Unstructured(f"{op.name} enters under another condition than its loop")
        guard = together
    return guard


def _trace(
    outer: Tracer,
    loop: Loop,
    entered: dict[Operation, Value],
    dims: dict[LoopVariable, Dims],
    guard: Guard,
) -> LoopTracer:
    facts = Facts(outer.facts.resources, {})
    facts.containers = outer.facts.containers
    facts.exporting = outer.facts.exporting
    tracer = LoopTracer(facts, loop)
    for op in loop.invariants:
        tracer.enter_invariant(outer, op._inputs[0], entered[op], op._outputs, guard)
    for variable in loop.variables:
        value = entered[variable.enter]
        if variable.unchanged:
            tensor = variable.merge._outputs[0]
            source = variable.enter._inputs[0]
            tracer.enter_invariant(outer, source, value, [tensor], guard)
            index = variable.merge._outputs[1]
            tracer.values[index] = Value("dead", None)
        else:
            tracer.enter_variable(variable, value, dims[variable])
    tracer.run(loop.frame.units)
    if tracer.moves is not None:
        for variable in loop.variables:
            back = variable.back._inputs[0]
            if not variable.unchanged:
                value = tracer.values[back]
                tracer.values[back] = tracer.moves.bring(value, back, variable.merge)
    for op in loop.frame.exits:
        leaves = tracer.guard_of(op)
        time, rest = tracer.when(leaves)
        always = tracer.truth is not None
        if leaves is not None and (rest or (time is not False and not always)):
            raise Unstructured(f"{op.name} leaves the loop in the middle of an iteration")
    return tracer


def _relaxed(tracer: LoopTracer, variable: LoopVariable, dims: Dims) -> Dims:
    """Return the shape of a variable in every iteration, as far as this trace determines it."""
    value = tracer.values[variable.back._inputs[0]]
    if variable.unchanged or (value.guard is None and not tracer.failed):
        return dims
    return relax(dims, tracer.facts.dims(variable.back._inputs[0]))


def _add_step(
    outer: Tracer, tracer: LoopTracer, entered: dict[Operation, Value], guard: Guard
) -> None:
    loop = tracer.loop
    tracer.outer = outer
    code = LoopCode(tracer, [v for v in loop.variables if not v.unchanged])
    starts = []
    for variable in code.variables:
        name = entered[variable.enter].name
        if name in outer.constants:
            code.start_with(variable, outer.constants[name])
        else:
            starts.append(name)
    shared = escape(outer, tracer, code, entered)
    code.finish()
    op = loop.frame.exits[0] if loop.frame.exits else loop.condition
    names = [v.name for v in tracer.parameters.values()]
    used = [value.name for value in entered.values()]
    outputs = []
    for leaving in loop.frame.exits:
        inner = tracer.values[leaving._inputs[0]]
        tensor = leaving._outputs[0]
        if inner.guard is None:  # the loop never ends
            outer.give_dead(leaving)
            continue
        name = outer.name("t")
        outputs.append(name)
        outer.set_output(tensor, Value(name, guard, shared(inner), inner.is_handle))
        if outer.moves is not None and tracer.moves is not None:
            outer.moves.put(name, tracer.moves.place(inner.name))
        outer.facts._dims[tensor] = tracer.facts.dims(leaving._inputs[0])
    step = Step("loop", op, outputs, list(dict.fromkeys([*names, *starts, *used])), guard)
    step.arguments = [code, *map(Name, names), *map(Name, starts)]
    step.writes = _writes(outer, tracer)
    outer.steps.append(step)
    outer.failed = outer.failed or tracer.failed


def _writes(outer: Tracer, tracer: LoopTracer) -> list[int]:
    """Return the variables that the loop changes, by their numbers outside."""
    numbers: Sequence[int] = sorted({n for step in tracer.steps for n in step.writes})
    variables, number_of = tracer.memory.variables, outer.memory.number_of
    return [number_of(variables[n]) if n != ANY else ANY for n in numbers]
