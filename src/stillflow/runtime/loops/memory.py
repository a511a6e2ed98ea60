"""Aliasing of a loop's values with memory outside.

A value that leaves a loop, or is pushed to a stack inside it, may be memory that came in: the
initial value of a loop without iterations, or a variable's own. The plan outside must know, so that
it neither changes such a variable too early nor overwrites a stack's elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from stillflow.graph.operation import Operation
from stillflow.runtime.ir.steps import ANY, Roots, Value, may_meet

if TYPE_CHECKING:
    from stillflow.runtime.loops.code import LoopCode
    from stillflow.runtime.loops.loop import LoopTracer
    from stillflow.runtime.plan.trace import Tracer


def escape(
    outer: Tracer, tracer: LoopTracer, code: LoopCode, entered: dict[Operation, Value]
) -> Callable[[Value], Roots]:
    """Record the contents of stacks and arrays after the loop in the outer plan.

    Returns for a value inside the memory outside that it may be part of.
    """
    _own_carried(tracer, code)
    borders = _Borders(outer, tracer, code, entered)
    for name, value in tracer.parameters.items():
        inner: Roots = frozenset()
        for known in tracer.values.values():
            if known.name == name:
                inner |= known.roots
        if inner <= tracer.own_roots[name]:
            continue  # it holds nothing
        roots = borders.outside(inner)
        outer.held.update(roots)
        for known in outer.values.values():
            if known.name == value.name:
                known.roots |= roots
    return lambda value: borders.outside(value.roots)


def shown_variables(tracer: LoopTracer) -> set[str]:
    """Parameters that are the memory of a variable which the loop changes, and show that.

    A value read through a reference before the loop is such; it is no invariant.
    """
    assert tracer.outer is not None
    memory = tracer.outer.memory
    written = {number for step in tracer.steps for number in step.writes}
    handles = [tracer.memory.variables[number] for number in written if number != ANY]
    found = set()
    for name, value in tracer.parameters.items():
        for root in value.roots:
            if memory.kinds[root] != "variable" or root in memory.snapshots:
                continue
            number = memory.buffers[root]
            known = number != ANY and ANY not in written
            if written and (not known or any(memory.variables[number] is h for h in handles)):
                found.add(name)
    return found


def _own_carried(tracer: LoopTracer, code: LoopCode) -> None:
    """Copy a variable's memory that is carried on: it could change in the meantime."""
    carried = [value for value in code.next.values() if value is not None]
    written = {number for step in tracer.steps for number in step.writes}
    held = set(tracer.held)
    for value in (*carried, *code.leaving):
        for root in value.roots:
            if tracer.memory.kinds[root] == "variable":
                tracer.memory.readers[root].copies = True
    for root in held:
        memory = tracer.memory
        if memory.kinds[root] == "variable" and may_meet(written, (memory.buffers[root],)):
            memory.readers[root].copies = True


class _Borders:
    """Translates memory inside a loop to memory outside."""

    def __init__(
        self, outer: Tracer, tracer: LoopTracer, code: LoopCode, entered: dict[Operation, Value]
    ) -> None:
        self.outer, self.tracer = outer, tracer
        self.came_from: dict[int, Roots] = {}  # inner root -> roots outside
        self.follows: dict[int, Roots] = {}  # root of a loop variable -> roots it takes over
        for name, value in tracer.parameters.items():
            for root in tracer.own_roots[name]:
                self.came_from[root] = self.came_from.get(root, frozenset()) | value.roots
        for variable in code.variables:
            mine = tracer.own_roots[tracer.current[variable]]
            later = code.next[variable]
            for root in mine:
                self.came_from[root] = entered[variable.enter].roots
                self.follows[root] = frozenset() if later is None else later.roots
        self.variables: dict[int, Roots] = {}
        self.unknown = outer.memory.borrowed()

    def outside(self, roots: Roots) -> Roots:
        result = set(self.unknown)
        seen: set[int] = set()
        todo = list(roots)
        while todo:
            root = todo.pop()
            if root in seen:
                continue
            seen.add(root)
            result |= self.came_from.get(root, frozenset())
            todo += self.follows.get(root, frozenset())
            if self.tracer.memory.kinds[root] == "variable":
                result |= self._variable(root)
        return frozenset(result)

    def _variable(self, root: int) -> Roots:
        """Return a variable that was read inside: outside it is read by the same step."""
        found = self.variables.get(root)
        if found is None:
            memory = self.tracer.memory
            number = memory.buffers[root]
            outer = self.outer.memory
            buffer = ANY if number == ANY else outer.number_of(memory.variables[number])
            found = outer.variable(memory.readers[root], buffer, root in memory.snapshots)
            self.variables[root] = found
        return found
