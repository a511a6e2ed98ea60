"""A plan: the compiled form of one `Session.run` signature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.executor.dataflow import dataflow_plan
from stillflow.runtime.explain import recording
from stillflow.runtime.host.denormals import flushed
from stillflow.runtime.host.threads import with_at_most, with_few_threads
from stillflow.runtime.ir.facts import Facts
from stillflow.runtime.ir.request import PlanRequest as PlanRequest
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Value
from stillflow.runtime.loops.frames import Frame, LateEntry, Unstructured, find_frames, has_loops
from stillflow.runtime.passes import pipeline
from stillflow.runtime.plan.emit import Emitter
from stillflow.runtime.plan.placing import placed
from stillflow.runtime.plan.trace import Tracer
from stillflow.runtime.resources import Resources
from stillflow.runtime.schedule.operations import by_accesses, scheduled
from stillflow.runtime.schedule.prune import needed_ops
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
    report = recording.begin(request)
    ops, request = _needed(request)
    facts = Facts(resources, request.feeds)
    facts.engine, by_creation = request.engine, ops
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
    function = with_at_most(function, resources.threads)
    return waiting_at_the_end(function) if facts.begun else function


def _needed(request: PlanRequest) -> tuple[list[Operation], PlanRequest]:
    """Return the operations to run, and the request in terms of them, with calls inlined."""
    outputs = [*request.tensors, *request.raw]
    targets = [*request.targets, *request.effects]
    needed = needed_ops(outputs, targets, request.feeds)
    ops = [op for op in needed if op not in request.skip]
    if not any(op.card.inlined for op in ops):
        return ops, request
    from stillflow.runtime.functions.inlining import inline

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
    report: recording.PlanReport | None,
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
    steps = placed(graph, tracer, values, emitter)
    writer = recording.timed_emitter(emitter, report)(steps, tracer.constants, tracer.memory)
    writer.owns_raw, writer.fed = request.own, request.feeds
    count = len(request.tensors)
    function = writer.function(feeds, fetched[:count], fetched[count:])
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
    places = request.places or [None] * len(request.feeds)
    fed = zip(request.feeds, places, strict=True)
    names = [tracer.feed(tensor, place, request.known.get(tensor)) for tensor, place in fed]
    with at_work, flushed:
        tracer.run(units)
    fetched = _fetched(tracer, (*request.tensors, *request.raw))
    if tracer.moves is not None:
        for place, (tensor, value) in enumerate(fetched[: len(request.tensors)]):
            fetched[place] = tensor, tracer.moves.fetch(value, tensor)
    return tracer, names, fetched


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
