"""Placement of a plan's steps in memory: copies where a write would show, results in place."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from stillflow.runtime.capture.graph_capture import is_wanted
from stillflow.runtime.capture.regions import Segments
from stillflow.runtime.capture.transfers import take_ends
from stillflow.runtime.ir.aliasing import protect
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Step, Value
from stillflow.runtime.ir.verify import WANTED
from stillflow.runtime.ir.verify_memory import verify_memory
from stillflow.runtime.plan.emit import Emitter
from stillflow.runtime.plan.in_place import reuse
from stillflow.runtime.plan.regions import Code

if TYPE_CHECKING:
    from stillflow.runtime.plan.trace import Tracer


def placed(
    graph: StepGraph, tracer: Tracer, fetched: Sequence[Value], emitter: type[Emitter]
) -> list[Step]:
    """Return the steps in their final order and memory, with CUDA's captured together."""
    steps, segments = graph.steps, _segments(tracer, emitter)
    if segments is not None:
        steps = segments.in_order(steps)
    steps, roots = place_in_memory(steps, tracer, fetched, [value.name for value in fetched])
    if segments is not None:
        steps = segments.captured(steps, graph.results)
        steps = take_ends(steps, graph.results, roots, tracer.memory)
    return steps


def place_in_memory(
    steps: Sequence[Step], tracer: Tracer, kept: Sequence[Value], results: Collection[str],
    held: Collection[int] = (),
) -> tuple[list[Step], dict[str, frozenset[int]]]:  # fmt: skip
    """Copy where a write would show in a value read before, and write in place elsewhere.

    Args:
      steps: in the order in which they run.
      tracer: has made them.
      kept: the values that are used afterwards.
      results: their names, perhaps with others.
      held: more memory that is used afterwards.

    Returns:
      The steps, and the memory of every value by name.
    """
    placed, roots = protect(list(steps), tracer.values, tracer.memory, list(kept))
    used = frozenset(held).union(*(value.roots for value in kept))
    reuse(placed, tracer.shapes(), roots, tracer.memory, used)
    if WANTED:
        verify_memory(placed, roots, tracer.memory, results)
    return placed, roots


def _segments(tracer: Tracer, emitter: type[Emitter]) -> Segments | None:
    """Return the captured segments; None if nothing is captured."""
    if tracer.moves is None or not is_wanted():
        return None
    return Segments(tracer, emitter.captured or Code)
