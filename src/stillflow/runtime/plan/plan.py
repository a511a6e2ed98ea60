"""A plan: the compiled form of one `Session.run` signature."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import Any

import numpy as np

from stillflow.graph.constant_value import Dims
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.devices.capture_regions import Segments
from stillflow.runtime.devices.capture_transfers import take_ends
from stillflow.runtime.devices.graph_capture import is_wanted
from stillflow.runtime.executor.dataflow import See, token_plan
from stillflow.runtime.executor.denormals import flushed
from stillflow.runtime.executor.threads import with_few_threads
from stillflow.runtime.explain import record
from stillflow.runtime.functions.inlining import inline, is_call
from stillflow.runtime.loops.frames import LateEntry, find_frames, has_loops
from stillflow.runtime.loops.wiring import Unstructured
from stillflow.runtime.passes import pipeline
from stillflow.runtime.plan.aliasing import protect
from stillflow.runtime.plan.emit import Emitter
from stillflow.runtime.plan.facts import Facts
from stillflow.runtime.plan.in_place import reuse
from stillflow.runtime.plan.prune import needed_ops
from stillflow.runtime.plan.regions import Code
from stillflow.runtime.plan.step_graph import StepGraph
from stillflow.runtime.plan.steps import Step, Value
from stillflow.runtime.plan.trace import Tracer
from stillflow.runtime.plan.values import fetch_converter, fetch_fed
from stillflow.runtime.resources import Resources
from stillflow.runtime.schedule.overlap import as_soon_as_ready
from stillflow.runtime.schedule.queue_rendezvous import takes_last, waiting_at_the_end
from stillflow.runtime.schedule.variable_accesses import as_tensorflow_orders
from stillflow.util.interpreter_exit import at_work


def make_plan(
    resources: Resources,
    tensors: Sequence[Tensor],
    targets: Sequence[Operation],
    feeds: dict[Tensor, Dims],
    raw: Sequence[Tensor] = (),
    skip: Collection[Operation] = (),
    emitter: type[Emitter] = Emitter,
    own: bool = False,
    effects: Sequence[Operation] = (),
    see: See | None = None,
    places: Sequence[Any] = (),
    known: Mapping[Tensor, np.ndarray] = MappingProxyType({}),
) -> Callable[..., list[Any]]:
    """Compiles a function from fed values, in the order of `feeds`, to fetched numpy values.

    Args:
      resources: the session's state.
      tensors: what to fetch.
      targets: operations to run.
      feeds: fed tensors with the shapes that the plan may rely on.
      raw: tensors whose run-time values are returned after the fetched ones, as they are.
      skip: operations that ran before and are not to run again.
      emitter: writes the function.
      own: whether raw values must not share memory with anything.
      effects: operations that run as well, unless they are in a branch that is not taken.
      see: called with every value of the run; nothing is folded or joined then.
      places: the devices of fed values and of variables behind fed handles, if they are known.
      known: constant values of fed tensors, regardless of the feeds.

    Raises:
      tf.errors.OpError: if the graph cannot run with these shapes.
    """
    report = record.begin([*tensors, *raw], targets, feeds)
    needed = needed_ops([*tensors, *raw], [*targets, *effects], feeds)
    ops = [op for op in needed if op not in skip]
    if any(is_call(op) for op in ops):
        ops, now = inline(ops, feeds, [*tensors, *raw], [*targets, *effects])
        tensors = [now.tensors.get(tensor, tensor) for tensor in tensors]
        raw = [now.tensors.get(tensor, tensor) for tensor in raw]
        targets = [now.ops.get(op, op) for op in targets]
        feeds = {now.tensors[tensor]: dims for tensor, dims in feeds.items()}
        known = {now.tensors[tensor]: value for tensor, value in known.items()}
    facts = Facts(resources, feeds)
    by_creation, ops = ops, as_tensorflow_orders(ops, feeds)
    if not (loops := has_loops(ops)):
        ops, facts.begun = takes_last(as_soon_as_ready(ops, (*tensors, *raw), feeds))
    if see is not None:
        function = token_plan(facts, ops, list(feeds), tensors, raw, see)
        return waiting_at_the_end(function) if facts.begun else function
    tracer = Tracer(facts)
    tracer.fed_by_host = not raw
    tracer.look_back()
    names = [tracer.feed(fed, at, known.get(fed)) for fed, at in zip_longest(feeds, places)]
    try:
        with at_work, flushed:
            tracer.run(find_frames(ops, feeds, ops is by_creation).units if loops else ops)
        fetched = _fetched(tracer, (*tensors, *raw))
    except (LateEntry, Unstructured, _FetchedInLoop):
        return token_plan(Facts(resources, feeds), ops, list(feeds), tensors, raw)
    if tracer.moves is not None:
        for place, (tensor, value) in enumerate(fetched[: len(tensors)]):
            fetched[place] = tensor, tracer.moves.fetch(value, tensor)
    values = [value for _, value in fetched]
    names_out = [value.name for value in values]
    names_out += [name for value in values for name, _ in value.guard or ()]
    graph = StepGraph(
        tracer.steps, tracer.constants, names_out, names, targets,
        tracer.values, tracer.memory, facts, tracer.moves,
    )  # fmt: skip
    pipeline.run(graph, traced=not emitter.beside, report=report)
    work = ops if any(step.kind == "loop" for step in graph) else [step.op for step in graph]
    steps = graph.steps
    segments = _segments(tracer, emitter)
    if segments is not None:
        steps = segments.in_order(steps, tracer.buffer_number)
    steps, roots = _place_in_memory(steps, tracer, values)
    if segments is not None:
        steps = segments.captured(steps, names_out)
        steps = take_ends(steps, names_out, roots, tracer.memory)
    writer = record.timed_emitter(emitter, report)(steps, tracer.constants, tracer.memory)
    writer.owns_raw, writer.fed = own, feeds
    function = _compiled(writer, names, fetched, len(tensors))
    if report is not None:
        report.finish(steps, tracer, writer.lines)
    function = with_few_threads(function, work, facts)
    return waiting_at_the_end(function) if facts.begun else function


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
    return steps, roots
