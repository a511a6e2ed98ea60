"""Check a plan's steps: every value is made before it is taken, under a condition that allows it.

    STILLFLOW_VERIFY_PLANS=1 python -m stillflow train.py

checks after every pass, and says which one broke a plan. The tests of this project run so.
"""

from __future__ import annotations

import os
from collections import Counter

from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Guard, Step, all_taken, ops_of

WANTED = os.environ.get("STILLFLOW_VERIFY_PLANS") == "1"


class BrokenPlan(AssertionError):
    """Steps that cannot run in their order; a fault of a pass, not of the user's program."""


def verify(graph: StepGraph, after: str) -> None:
    """Check the steps of a graph.

    Args:
      graph: the steps of a plan.
      after: the pass that ran last, for the message.

    Raises:
      BrokenPlan: if a value is taken before it is made, under a condition that does not include
        that of its producer, or after its memory was overwritten; or if it is made twice.
    """
    made: dict[str, Guard] = {}
    known = {*graph.constants, *graph.feeds}
    counts = Counter(name for step in graph for name in step.outputs if name != "_")
    overwritten: dict[str, Step] = {}
    conditions = _conditions(graph)
    for step in graph:
        guard = _widened(step.guard, conditions)
        for name in all_taken(step):
            if name in overwritten:
                fail(after, step, f"takes {name}, which {_text(overwritten[name])} overwrote")
            if name in made:
                if counts[name] == 1 and not _implies(guard, made[name]):
                    fail(after, step, f"takes {name}, which need not exist when it runs")
            elif name not in known:
                fail(after, step, f"takes {name}, which no step has made")
        for name in step.outputs:
            if counts[name] > 1 and step.kind not in ("alias", "flag", "number"):
                fail(after, step, f"makes {name}, as another step does")
            made[name] = step.guard
        if step.overwrites:
            overwritten[str(step.arguments[0])] = step
    for name in graph.results:
        if name not in made and name not in known and name != "dead":
            raise BrokenPlan(f"after {after!r}: nothing makes the result {name}")


def _conditions(graph: StepGraph) -> dict[str, Guard]:
    """Return the only condition under which each flag is set, by its name."""
    set_by: dict[str, list[Guard]] = {}
    for step in graph:
        if step.kind == "flag" and step.arguments == [True]:
            set_by.setdefault(step.outputs[0], []).append(step.guard)
    return {flag: guards[0] for flag, guards in set_by.items() if len(guards) == 1}


def _widened(guard: Guard, conditions: dict[str, Guard]) -> Guard:
    """Return a condition together with those of its flags."""
    more = [pair for flag, value in guard or () if value for pair in conditions.get(flag) or ()]
    return guard if not more else (*(guard or ()), *more)


def _implies(guard: Guard, other: Guard) -> bool:
    """Return True if a step under one condition runs only where one under the other ran."""
    return guard is None or (other is not None and set(other) <= set(guard))


def fail(after: str, step: Step | None, text: str) -> None:
    """Raise the error of a plan: at a step, or None for its results."""
    what = "the plan" if step is None else _text(step)
    raise BrokenPlan(f"after {after!r}: {what} {text}")


def _text(step: Step) -> str:
    ops = ", ".join(op.name for op in ops_of(step))
    return f"the {step.kind} of {ops or 'no operation'}"
