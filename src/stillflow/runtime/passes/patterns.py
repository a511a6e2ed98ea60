"""Patterns of steps: a call, and the calls that make its arguments.

    MEAN_OF_EQUAL = Call("Mean", Call("Cast", Call("Equal")))
    found = match(MEAN_OF_EQUAL, graph, step)  # [mean, cast, equal], or None

The call of an argument serves the step that takes it alone, under the same condition: it can go
without anybody noticing.
"""

from __future__ import annotations

from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Called, Step, is_call


class Call:
    """A call in a pattern.

    Args:
      called: a type of operation, several types, or a kernel.
      arguments: the patterns of its first arguments; None for any value.
      optional: whether the pattern of the first argument may stand in its place.
    """

    def __init__(self, called: Called, *arguments: Call | None, optional: bool = False) -> None:
        self.called, self.arguments, self.optional = called, arguments, optional


def match(pattern: Call, graph: StepGraph, step: Step) -> list[Step] | None:
    """Return the steps of a pattern that ends in `step`, last one first; None without one."""
    if not is_call(step, pattern.called):
        return None
    found = [step]
    for argument, inner in enumerate(pattern.arguments):
        made = None if inner is None else match_argument(inner, graph, step, argument)
        if inner is not None and made is None:
            return None
        found += made or []
    return found


def match_argument(pattern: Call, graph: StepGraph, step: Step, argument: int) -> list[Step] | None:
    """Return the steps of a pattern that ends in an argument of `step` alone, last one first."""
    producer = graph.sole_producer(step, argument, pattern.called)
    if producer is not None:
        return match(pattern, graph, producer)
    if pattern.optional and pattern.arguments and pattern.arguments[0] is not None:
        return match_argument(pattern.arguments[0], graph, step, argument)
    return None
