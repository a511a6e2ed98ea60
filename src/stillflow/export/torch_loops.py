"""Loops as `while` statements of a model's `forward`."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stillflow.export.literals import UnwritableError
from stillflow.graph.node import Numbers
from stillflow.runtime.ir.steps import Step

if TYPE_CHECKING:
    from stillflow.export.body import Body
    from stillflow.runtime.loops.code import LoopCode
    from stillflow.runtime.loops.wiring import LoopVariable


def write_loop(body: Body, step: Step) -> None:
    """Write the `while` of a loop's step, with the values that it starts with.

    Integers that start as numbers of the host and are counted by such stay numbers of Python.
    UnwritableError if an iteration asks which one it is, as no loop of TensorFlow's does.
    """
    code, *arguments = step.arguments
    counters = _possible_counters(body, code, arguments)
    while True:
        inner, lines = _written(body, code, arguments, counters)
        wrong = {each for each in counters if not _is_counted(inner, code, each)}
        if not wrong:
            break
        counters = counters - wrong
    body.names = inner.names
    comment = step.op.name if step.op is not None else ""
    for number, line in enumerate(lines):
        body.line(line, comment if not number else "", step.guard)
    body.problems += inner.problems
    for name, result in zip(step.outputs, code.results, strict=True):
        if result in inner.hosts:
            body.hosts[name] = inner.hosts[result]
        else:
            body.local[name] = inner.expression(result)


def starts_of(code: LoopCode, arguments: Sequence[Any]) -> dict[LoopVariable, str | None]:
    """Return the names, outside, of the values that variables start with; None for constants."""
    names = iter(arguments[len(code.tracer.parameters) :])
    return {
        variable: None if variable in code.constants else str(next(names))
        for variable in code.variables
    }


def _possible_counters(
    body: Body, code: LoopCode, arguments: Sequence[Any]
) -> frozenset[LoopVariable]:
    found = []
    for variable, outer in starts_of(code, arguments).items():
        tensor = variable.merge._outputs[0]
        if tensor.dtype.name not in ("int32", "int64") or code.tracer.facts.dims(tensor) != ():
            continue
        if outer is None or (outer in body.hosts and isinstance(body.hosts[outer].texts, str)):
            found.append(variable)
    return frozenset(found)


def _is_counted(inner: Body, code: LoopCode, variable: LoopVariable) -> bool:
    """Return True if the next value of a variable is a number of the host, too."""
    value = code.next[variable]
    return value is not None and value.name in inner.hosts


def _written(
    body: Body, code: LoopCode, arguments: Sequence[Any], counters: frozenset[LoopVariable]
) -> tuple[Body, list[str]]:
    """Return the lines of a loop, and the body that wrote them."""
    from stillflow.export.body import Body

    tracer = code.tracer
    inner = Body(body.model, tracer, 0)
    inner.names, inner.wanted = copy.deepcopy(body.names), _wanted(code)
    for name, outer in zip(tracer.parameters, arguments, strict=False):
        if str(outer) in body.hosts:
            inner.hosts[name] = body.hosts[str(outer)]
        else:
            inner.local[name] = body.expression(str(outer))
    lines = []
    for variable, outer in starts_of(code, arguments).items():
        name = tracer.current[variable]
        if f"{name}_from" in inner.wanted:
            raise UnwritableError("the number of an iteration")
        start = _start(body, inner, code, variable, outer, variable in counters)
        shown = inner.name_for(name, variable.merge)
        lines.append(f"{shown} = {start}")
        if variable in counters:
            inner.hosts[name] = Numbers(shown)
    lines += _part(inner, code, "before")
    return inner, lines + _turns(inner, code)


def _start(
    body: Body, inner: Body, code: LoopCode, variable: LoopVariable, outer: str | None,
    counted: bool,
) -> str:  # fmt: skip
    if outer is None:
        constant = code.constants[variable]
        value = code.tracer.constants[constant]
        return str(int(value)) if counted else inner.expression(constant)
    if counted:
        return str(body.hosts[outer].texts)
    return body.expression(outer)


def _wanted(code: LoopCode) -> set[str]:
    steps = code.steps
    used = {name for step in steps for name in step.inputs}
    used.update(value.name for value in code.next.values() if value is not None)
    used.update(code.results)
    return used


def _part(inner: Body, code: LoopCode, part: str) -> list[str]:
    """Return the lines of a part of a loop, without indentation."""
    inner.begin()
    inner.made.clear()  # of another part, which may not have run
    for step in code.parts[part]:
        inner.step(step)
    return inner.lines


def _next(inner: Body, current: str, name: str) -> str:
    """Return the next value of a variable; of a counter, a number."""
    if current in inner.hosts:
        return str(inner.hosts[name].texts)
    return inner.expression(name)


def _turns(inner: Body, code: LoopCode) -> list[str]:
    names = code.tracer.current
    lines = ["while True:"]
    lines += [f"    {line}" for line in _part(inner, code, "test")]
    predicate = code.predicate
    if predicate is None:
        raise UnwritableError("a loop whose condition is known")
    lines.append(f"    if not {inner.local.get(predicate, predicate)}:")
    lines += [f"        {line}" for line in [*_part(inner, code, "end"), "break"]]
    lines += [f"    {line}" for line in _part(inner, code, "once")]
    lines += [f"    {line}" for line in _part(inner, code, "body")]
    inner.begin()
    pairs = [
        (inner.local[names[variable]], _next(inner, names[variable], value.name))
        for variable, value in code.next.items()
        if value is not None and value.name != names[variable]
    ]
    lines += [f"    {line}" for line in inner.lines]
    if pairs:
        left, right = zip(*pairs, strict=True)
        lines.append(f"    {', '.join(left)} = {', '.join(right)}")
    return lines
