"""Summaries that are merged, made with less work where their tags are known beforehand.

Histograms of variables, all there when a step begins, are counted by one call that shares the work
out among the processors, and where they are on a GPU by one call there. What is merged is combined
as it is; a merge that does not know the tags takes its inputs apart, as none may come
twice.

Most plans have no summaries: kernels and messages are imported where a plan has some.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from stillflow.runtime.ir.step_graph import StepGraph, has_write
from stillflow.runtime.ir.steps import Name, Step, fuse, is_call

_There = tuple[Step, Any]  # the move of a value to the host, and the device that it comes from
_OF_ONE_TAG = frozenset(("ScalarSummary", "HistogramSummary"))


def fuse_summaries(graph: StepGraph) -> None:
    """Fuse scalars with the merge that takes them, and histograms with each other."""
    histograms: dict[int, bytes] = {}
    for step in graph.calls("MergeSummary"):
        inputs = [_input(each, step, graph) for each in step.arguments]
        scalars = [each.scalar for each in inputs if each.scalar is not None]
        graph.replace([step, *scalars], _merged(step, inputs), at=step)
        for each in inputs:
            if each.histogram is not None:
                histograms[id(each.histogram)] = each.tags[0]
    if histograms:
        _fuse_histograms(graph, histograms)


# ---- merges


@dataclass
class _Input:
    """An input of a merge."""

    argument: Any
    tags: Sequence[bytes] = ()
    part: Callable[[Any], bytes] | None = None  # makes a message of the argument's value
    scalar: Step | None = None  # that is not needed any more
    histogram: Step | None = None  # that is to give a message, not a string tensor


def _input(argument: Any, merge: Step, graph: StepGraph) -> _Input:
    from stillflow.ops.summary.fused import scalar_message
    from stillflow.ops.summary.histograms import counts_fast

    if str(argument) in graph.constants:
        return _known_summary(argument, graph.constants[str(argument)])
    step = graph.producer(argument)
    if step is None or step.op is None or step.op.type not in _OF_ONE_TAG:
        return _Input(argument)
    name, shown = step.arguments
    tag = graph.constants.get(str(name))
    if not isinstance(tag, np.ndarray) or tag.ndim:
        return _Input(argument)
    tags, tensor = [bytes(tag[()])], step.op._inputs[1]
    if graph.uses(argument) == 1 and step.guard == merge.guard:
        if is_call(step, "HistogramSummary") and counts_fast(tensor.dtype.as_numpy_dtype):
            return _Input(argument, tags, histogram=step)
        if is_call(step, "ScalarSummary") and tensor._dims == () and graph.is_stable(shown):
            return _Input(shown, tags, scalar_message(tags[0]), scalar=step)
    return _Input(argument, tags, _content)


def _known_summary(argument: Any, content: Any) -> _Input:
    """Return a summary of constants."""
    from google.protobuf.message import DecodeError

    from stillflow.protos import Summary

    try:
        summary = Summary.FromString(content.item())
    except (DecodeError, ValueError):  # more than one, or none
        return _Input(argument)
    encoded = summary.SerializeToString()
    return _Input(argument, [each.tag.encode() for each in summary.value], lambda _: encoded)


def _content(summary: Any) -> bytes:
    return bytes(summary[()])


def _merged(step: Step, inputs: Sequence[_Input]) -> Step:
    from stillflow.ops.summary.fused import merged

    parts = [(place, each.part) for place, each in enumerate(inputs) if each.part is not None]
    known = all(each.part or each.histogram for each in inputs)
    known = known and _are_different([tag for each in inputs for tag in each.tags])
    assert step.function is not None
    scalars = [each.scalar for each in inputs if each.scalar is not None]
    merge = merged(parts, None if known else step.function)
    return fuse([step, *scalars], step.outputs, merge, [each.argument for each in inputs])


def _are_different(tags: Sequence[bytes]) -> bool:
    """Return True if the tags are texts and differ, so that a merge raises no error."""
    try:
        texts = [tag.decode() for tag in tags if tag]
    except UnicodeDecodeError:
        return False
    return len(set(texts)) == len(texts)


# ---- histograms


def _fuse_histograms(graph: StepGraph, tags: Mapping[int, bytes]) -> None:
    """Fuse histograms between which no variable changes and that nobody needs before the last.

    `tags` are those of histograms, by `id` of the step.
    """
    moves = _brought(graph)
    waiting: list[Step] = []
    for step in graph:
        waits = id(step) in tags
        ends = waiting[0].guard != step.guard if waits and waiting else _ends(step, waiting)
        if waiting and ends:
            graph.replace(waiting, *_fused(waiting, tags, moves), at=step)
            waiting = []
        if waits:
            waiting.append(step)
    if waiting:
        graph.replace(waiting, *_fused(waiting, tags, moves), at=None)
    for move, _ in moves.values():
        if move in graph and not graph.uses(move.outputs[0]):
            graph.remove(move)


def _brought(graph: StepGraph) -> dict[str, _There]:
    """Return the moves of values from CUDA devices, by the name on the host."""
    if graph.moves is None:
        return {}
    found = {}
    for step in graph:
        if step.kind == "move" and step.arguments[0].type == "cpu":
            device = graph.place_of(step.inputs[0])
            if device is not None and device.type == "cuda":
                found[step.outputs[0]] = (step, device)
    return found


def _ends(step: Step, waiting: Sequence[Step]) -> bool:
    """Return True if a step may change what histograms show, or takes one of them."""
    if has_write(step):
        return True
    taken = {*step.inputs, *(name for name, _ in step.guard or ())}
    return any(name in taken for other in waiting for name in other.outputs)


def _fused(
    waiting: Sequence[Step], tags: Mapping[int, bytes], moves: Mapping[str, _There]
) -> list[Step]:
    """One step for the histograms of the host, and some for those of each device."""
    from stillflow.ops.summary.fused import histogram_messages, messages_of_counts

    groups: dict[Any, list[Step]] = {}
    for step in waiting:
        _, device = moves.get(str(step.arguments[1]), (None, None))
        groups.setdefault(device, []).append(step)
    result = []
    for device, group in groups.items():
        ops = [step.op for step in group if step.op is not None]
        names = [tags[id(step)] for step in group]
        outputs = [name for step in group for name in step.outputs]
        shown = [step.arguments[1] for step in group]
        if device is not None:
            sources = [moves[str(name)][0].inputs[0] for name in shown]
            result += _counted_there(group, sources, device)
            shown = [Name(result[-1].outputs[0])]
        made = (
            messages_of_counts(names, ops) if device is not None else histogram_messages(names, ops)
        )
        result.append(fuse(group, outputs, made, shown))
    return result


def _counted_there(group: Sequence[Step], shown: Sequence[str], device: Any) -> list[Step]:
    """Return steps that count on a device, and copy the counts to the host."""
    from stillflow.ops.summary.device_histograms import DeviceHistograms

    first = group[0]
    counts, brought = f"{first.outputs[0]}_counts", f"{first.outputs[0]}_brought"
    arguments = [Name(name) for name in shown]
    counting = Step(
        "call", first.op, [counts], list(shown), first.guard, DeviceHistograms(device), arguments,
        fused=True, device=device,
    )  # fmt: skip
    return [
        counting,
        Step("move", first.op, [brought], [counts], first.guard, arguments=[torch.device("cpu")]),
    ]
