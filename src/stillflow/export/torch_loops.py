"""Loops as `while` statements of a model's `forward`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stillflow.export.literals import UnwritableError
from stillflow.runtime.plan.steps import Step

if TYPE_CHECKING:
    from stillflow.export.body import Body
    from stillflow.runtime.loops.code import LoopCode


def write_loop(body: Body, step: Step) -> None:
    """Write the `while` of a loop's step, with the values that it starts with.

    Raises:
      UnwritableError: if an iteration asks which one it is, as no loop of TensorFlow's does.
    """
    from stillflow.export.body import Body

    code, *arguments = step.arguments
    tracer = code.tracer
    inner = Body(body.model, tracer, 0)
    inner.names, inner.wanted = body.names, _wanted(code)
    names = iter(arguments)
    for name in tracer.parameters:
        _hand_in(body, inner, name, str(next(names)))
    starts = []
    for variable in code.variables:
        name = tracer.current[variable]
        constant = code.constants.get(variable)
        start = inner.expression(constant) if constant else body.expression(str(next(names)))
        if f"{name}_from" in inner.wanted:
            raise UnwritableError("the number of an iteration")
        starts.append(f"{inner.name_for(name, variable.merge)} = {start}")
    lines = [*starts, *_part(inner, code, "before")]
    lines += _turns(inner, code)
    comment = step.op.name if step.op is not None else ""
    for number, line in enumerate(lines):
        body.line(line, comment if not number else "", step.guard)
    body.problems += inner.problems
    for name, result in zip(step.outputs, code.results, strict=True):
        body.local[name] = inner.expression(result)


def _hand_in(body: Body, inner: Body, name: str, outer: str) -> None:
    if outer in body.hosts:
        inner.hosts[name] = body.hosts[outer]
    inner.local[name] = body.expression(outer)
    if outer in body.hosts:
        inner.made[name] = inner.local[name]


def _wanted(code: LoopCode) -> set[str]:
    steps = code.steps
    used = {name for step in steps for name in step.inputs}
    used.update(value.name for value in code.next.values() if value is not None)
    used.update(code.results)
    return used


def _part(inner: Body, code: LoopCode, part: str) -> list[str]:
    """Return the lines of a part of a loop, without indentation."""
    inner.begin()
    for step in code.parts[part]:
        inner.step(step)
    return inner.lines


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
    pairs = [
        (inner.local[names[variable]], inner.expression(value.name))
        for variable, value in code.next.items()
        if value is not None and value.name != names[variable]
    ]
    if pairs:
        left, right = zip(*pairs, strict=True)
        lines.append(f"    {', '.join(left)} = {', '.join(right)}")
    return lines
