"""A plan: the compiled form of one `Session.run` signature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.devices.capture_regions import Segments
from stillflow.runtime.devices.capture_transfers import take_ends
from stillflow.runtime.devices.graph_capture import is_wanted
from stillflow.runtime.executor.dataflow import dataflow_plan
from stillflow.runtime.executor.denormals import flushed
from stillflow.runtime.executor.threads import with_few_threads
from stillflow.runtime.explain import PlanReport, record
from stillflow.runtime.functions.inlining import inline, is_call
from stillflow.runtime.loops.frames import Frame, LateEntry, find_frames, has_loops
from stillflow.runtime.loops.wiring import Unstructured
from stillflow.runtime.passes import pipeline
from stillflow.runtime.plan.aliasing import protect
from stillflow.runtime.plan.emit import Emitter
from stillflow.runtime.plan.facts import Facts
from stillflow.runtime.plan.in_place import reuse
from stillflow.runtime.plan.prune import needed_ops
from stillflow.runtime.plan.regions import Code
from stillflow.runtime.plan.request import PlanRequest
from stillflow.runtime.plan.step_graph import StepGraph
from stillflow.runtime.plan.steps import Step, Value
from stillflow.runtime.plan.trace import Tracer
from stillflow.runtime.plan.values import fetch_converter, fetch_fed
from stillflow.runtime.plan.verify import WANTED
from stillflow.runtime.plan.verify_memory import verify_memory
from stillflow.runtime.resources import Resources
from stillflow.runtime.schedule.operations import by_accesses, scheduled
from stillflow.runtime.schedule.queue_rendezvous import waiting_at_the_end
from stillflow.util.interpreter_exit import at_work


def make_plan(resources: Resources, request: PlanRequest) -> Callable[..., list[Any]]:
    """Compile a function from fed values, in the order of the feeds, to the list of fetched ones.

    Args:
      resources: the session's state.
      request: the request of the plan.

    Raises:
      tf.errors.OpError: if the graph cannot run with these shapes.
    """
    report = record.begin(request)
    ops, request = _needed(request)
    facts = Facts(resources, request.feeds)
    by_creation = ops
    if loops := has_loops(ops):
        ops = by_accesses(ops, request.feeds)
    else:
        fetched = (*request.tensors, *request.raw)
        ops, facts.begun = scheduled(ops, request.feeds, fetched)
    try:
        if request.see is not None:
            function = dataflow_plan(facts, ops, request)
        else:
            frames = find_frames(ops, request.feeds, ops is by_creation) if loops else None
            units = ops if frames is None else frames.units
            function = _straight_plan(facts, ops, units, request, report)
    except (LateEntry, Unstructured, _FetchedInLoop):
        function = dataflow_plan(Facts(resources, request.feeds), ops, request)
    return waiting_at_the_end(function) if facts.begun else function


def _needed(request: PlanRequest) -> tuple[list[Operation], PlanRequest]:
    """Return the operations to run, and the request in terms of them, with calls inlined."""
    outputs = [*request.tensors, *request.raw]
    targets = [*request.targets, *request.effects]
    needed = needed_ops(outputs, targets, request.feeds)
    ops = [op for op in needed if op not in request.skip]
    if not any(map(is_call, ops)):
        return ops, request
    ops, now = inline(ops, request.feeds, outputs, targets)
    return ops, replace(
        request,
        tensors=[now.tensors.get(tensor, tensor) for tensor in request.tensors],
        raw=[now.tensors.get(tensor, tensor) for tensor in request.raw],
        targets=[now.ops.get(op, op) for op in request.targets],
        feeds={now.tensors[tensor]: dims for tensor, dims in request.feeds.items()},
        known={now.tensors[tensor]: value for tensor, value in request.known.items()},
    )


def _straight_plan(
    facts: Facts,
    ops: list[Operation],
    units: Sequence[Operation | Frame],
    request: PlanRequest,
    report: PlanReport | None,
) -> Callable[..., list[Any]]:
    """Return a plan as one straight function.

    Raises:
      LateEntry, Unstructured, _FetchedInLoop: if it takes the dataflow executor.
    """
    tracer, feeds, fetched = _traced(facts, units, request)
    emitter = request.emitter or Emitter
    values = [value for _, value in fetched]
    results = [value.name for value in values]
    results += [name for value in values for name, _ in value.guard or ()]
    graph = StepGraph(
        tracer.steps, tracer.constants, results, feeds, request.targets,
        tracer.values, tracer.memory, facts, tracer.moves,
    )  # fmt: skip
    pipeline.run(graph, traced=not emitter.beside, report=report)
    steps = _placed(graph, tracer, values, _segments(tracer, emitter))
    writer = record.timed_emitter(emitter, report)(steps, tracer.constants, tracer.memory)
    writer.owns_raw, writer.fed = request.own, request.feeds
    function = _compiled(writer, feeds, fetched, len(request.tensors))
    if report is not None:
        report.finish(steps, tracer, writer.lines)
    has_loop = any(step.kind == "loop" for step in graph)
    return with_few_threads(function, ops if has_loop else [step.op for step in graph], facts)


def _traced(
    facts: Facts, units: Sequence[Operation | Frame], request: PlanRequest
) -> tuple[Tracer, list[str], list[tuple[Tensor, Value]]]:
    """Return the operations as steps, the names of the feeds, and the values of the fetches."""
    tracer = Tracer(facts)
    tracer.fed_by_host = not request.raw
    tracer.look_back()
    places = zip_longest(request.feeds, request.places)
    names = [tracer.feed(fed, place, request.known.get(fed)) for fed, place in places]
    with at_work, flushed:
        tracer.run(units)
    fetched = _fetched(tracer, (*request.tensors, *request.raw))
    if tracer.moves is not None:
        for place, (tensor, value) in enumerate(fetched[: len(request.tensors)]):
            fetched[place] = tensor, tracer.moves.fetch(value, tensor)
    return tracer, names, fetched


def _placed(
    graph: StepGraph, tracer: Tracer, fetched: list[Value], segments: Segments | None
) -> list[Step]:
    """Return the steps in their final order and memory, with CUDA's captured together."""
    steps = graph.steps
    if segments is not None:
        steps = segments.in_order(steps)
    steps, roots = _place_in_memory(steps, tracer, fetched)
    if segments is not None:
        steps = segments.captured(steps, graph.results)
        steps = take_ends(steps, graph.results, roots, tracer.memory)
    return steps


def _compiled(
    writer: Emitter, feeds: list[str], fetched: list[Any], converted: int
) -> Callable[..., list[Any]]:
    """Return the function that a writer writes; the first values that it gives become arrays."""

    def convert(tensor: Tensor, copy: bool) -> Any:
        return fetch_fed if tensor in writer.fed else fetch_converter(tensor, copy)

    return writer.function(feeds, fetched[:converted], fetched[converted:], convert)


class _FetchedInLoop(Exception):
    """A fetch has a value in iterations of a loop; the token executor counts in how many."""


def _fetched(tracer: Tracer, tensors: Sequence[Tensor]) -> list[tuple[Tensor, Value]]:
    """Return the values to return for tensors; for a variable, its content."""
    fetched = []
    for tensor in tensors:
        value = tracer.values.get(tensor)
        if value is None:
            raise _FetchedInLoop
        state = tracer.facts.handles.get(tensor)
        is_variable = state is None or hasattr(state, "value")
        if tensor.dtype._is_ref_dtype and value.is_handle and is_variable:
            value = tracer.read(tensor.op, value, value.guard)
        fetched.append((tensor, value))
    return fetched


def _segments(tracer: Tracer, emitter: type[Emitter]) -> Segments | None:
    """Return the captured segments; None if nothing is captured."""
    if tracer.moves is None or not is_wanted():
        return None
    make = emitter.captured or Code
    return Segments(tracer.moves, tracer.values, tracer.constants, tracer.memory, make)


def _place_in_memory(
    steps: list[Step], tracer: Tracer, fetched: list[Value]
) -> tuple[list[Step], dict[str, frozenset[int]]]:
    """Copy where a write would show in a value read before, and write in place elsewhere.

    Returns:
      The steps, and the memory of every value by name.
    """
    steps, roots = protect(steps, tracer.values, tracer.memory, fetched)
    kept = frozenset(root for value in fetched for root in value.roots)
    shapes = {
        value.name: (tracer.facts.dims(tensor), tensor.dtype.base_dtype)
        for tensor, value in tracer.values.items()
    }
    reuse(steps, shapes, roots, tracer.memory, kept)
    if WANTED:
        verify_memory(steps, roots, tracer.memory, [value.name for value in fetched])
    return steps, roots
