"""Summaries that are merged, made with less work where their tags are known beforehand.

Histograms of variables that all exist when a step begins are counted by one call that shares the
work among the processors, and for those on a GPU by one call there. Summaries to be merged are
concatenated; a merge that does not know the tags parses its inputs, as no tag may come twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from google.protobuf.message import DecodeError

from stillflow.graph.operation import Operation
from stillflow.ops.summary.device_histograms import DeviceHistograms, extremes
from stillflow.ops.summary.encoding import simple_value, value
from stillflow.ops.summary.histograms import (
    TaggedHistograms,
    counts_fast,
    histogram_summary,
    not_finite,
)
from stillflow.ops.summary.kernels import in_numpy, string
from stillflow.protos import Summary
from stillflow.runtime.failures import as_op_error
from stillflow.runtime.plan.steps import Name, Step, count_uses, is_call, one_step, stays

_There = tuple[str, Any]  # the name of a value, and the device that it is on
_OF_ONE_TAG = frozenset(("ScalarSummary", "HistogramSummary"))


def join_summaries(
    steps: Sequence[Step],
    constants: Mapping[str, Any],
    kept: Sequence[str],
    place_of: Callable[[str], Any] | None = None,
) -> list[Step]:
    """Join scalars with the merge that takes them, and histograms with each other.

    Args:
      steps: in the order in which they run.
      constants: the plan's, by name; some of them are tags.
      kept: names that the plan gives back.
      place_of: the torch device of a value, None if it is not known; without, all are on the host.
    """
    merges = [step for step in steps if is_call(step, "MergeSummary")]
    if not merges:
        return list(steps)
    uses = count_uses(steps, kept)
    makers = {name: step for step in steps for name in step.outputs}
    left: dict[int, Step] = {id(step): step for step in steps}
    histograms: dict[int, bytes] = {}
    for step in merges:
        inputs = [_input(each, step, makers, uses, constants) for each in step.arguments]
        left[id(step)] = _merged(step, inputs)
        for each in inputs:
            if each.scalar is not None:
                del left[id(each.scalar)]
            if each.histogram is not None:
                histograms[id(each.histogram)] = each.tags[0]
    there = {} if place_of is None else _brought(steps, place_of)
    return _join_histograms(list(left.values()), histograms, there, kept)


# ---- merges


@dataclass
class _Input:
    """Input of a merge."""

    argument: Any
    tags: Sequence[bytes] = ()
    part: Callable[[Any], bytes] | None = None  # makes a message of the argument's value
    scalar: Step | None = None  # that is not needed any more
    histogram: Step | None = None  # that is to give a message, not a string tensor


def _input(
    argument: Any,
    merge: Step,
    makers: Mapping[str, Step],
    uses: Mapping[str, int],
    constants: Mapping[str, Any],
) -> _Input:
    if str(argument) in constants:
        return _known_summary(argument, constants[str(argument)])
    step = makers.get(str(argument))
    if step is None or step.op is None or step.op.type not in _OF_ONE_TAG:
        return _Input(argument)
    name, shown = step.arguments
    tag = constants.get(str(name))
    if not isinstance(tag, np.ndarray) or tag.ndim:
        return _Input(argument)
    tags, tensor = [bytes(tag[()])], step.op._inputs[1]
    if uses[str(argument)] == 1 and step.guard == merge.guard:
        if is_call(step, "HistogramSummary") and counts_fast(tensor.dtype.as_numpy_dtype):
            return _Input(argument, tags, histogram=step)
        if is_call(step, "ScalarSummary") and tensor._dims == () and stays(shown, makers):
            return _Input(shown, tags, _scalar_of(tags[0]), scalar=step)
    return _Input(argument, tags, _content)


def _known_summary(argument: Any, content: Any) -> _Input:
    """Return a summary of constants."""
    try:
        summary = Summary.FromString(content.item())
    except (DecodeError, ValueError):  # more than one, or none
        return _Input(argument)
    encoded = summary.SerializeToString()
    return _Input(argument, [each.tag.encode() for each in summary.value], lambda _: encoded)


def _content(summary: Any) -> bytes:
    return bytes(summary[()])


def _scalar_of(tag: bytes) -> Callable[[Any], bytes]:
    before = value(tag, simple_value(0))[: -len(simple_value(0))]

    def summarize(number: Any) -> bytes:
        if number.dtype is not torch.float32:
            with np.errstate(over="ignore"):
                number = in_numpy(number).astype(np.float32)
        return before + simple_value(number.item())

    return summarize


def _merged(step: Step, inputs: Sequence[_Input]) -> Step:
    parts = [(place, each.part) for place, each in enumerate(inputs) if each.part is not None]
    known = all(each.part or each.histogram for each in inputs)
    known = known and _are_different([tag for each in inputs for tag in each.tags])
    plain = step.function
    assert plain is not None

    def merge(*values: Any) -> Any:
        made = list(values)
        for place, part in parts:
            made[place] = part(made[place])
        if known:
            return string(b"".join(made))
        return plain(*[string(each) if isinstance(each, bytes) else each for each in made])

    scalars = [each.scalar for each in inputs if each.scalar is not None]
    return one_step([step, *scalars], step.outputs, merge, [each.argument for each in inputs])


def _are_different(tags: Sequence[bytes]) -> bool:
    """Return True if a merge cannot fail: tags are texts, and none of them comes twice."""
    try:
        texts = [tag.decode() for tag in tags if tag]
    except UnicodeDecodeError:
        return False
    return len(set(texts)) == len(texts)


# ---- histograms


def _brought(steps: Sequence[Step], place_of: Callable[[str], Any]) -> dict[str, _There]:
    """Return the transfers from CUDA devices to the host, by name on the host."""
    moves = [step for step in steps if step.kind == "move" and step.arguments[0].type == "cpu"]
    found = {step.outputs[0]: (step.inputs[0], place_of(step.inputs[0])) for step in moves}
    return {
        name: (source, place)
        for name, (source, place) in found.items()
        if place is not None and place.type == "cuda"
    }


def _join_histograms(
    steps: Sequence[Step],
    tags: Mapping[int, bytes],
    there: Mapping[str, _There],
    kept: Sequence[str],
) -> list[Step]:
    """Join those between which no variable changes and that nobody needs before the last.

    Args:
      steps: in the order in which they run.
      tags: of the histograms to be joined, by `id` of the step.
      there: what is brought from devices.
      kept: names that the plan gives back.
    """
    result: list[Step] = []
    waiting: list[Step] = []
    for step in steps:
        waits = id(step) in tags
        ends = waiting[0].guard != step.guard if waits and waiting else _ends(step, waiting)
        if waiting and ends:
            result += _joined(waiting, tags, there)
            waiting = []
        (waiting if waits else result).append(step)
    if waiting:
        result += _joined(waiting, tags, there)
    uses = count_uses(result, kept)
    return [step for step in result if not there or step.kind != "move" or uses[step.outputs[0]]]


def _ends(step: Step, waiting: Sequence[Step]) -> bool:
    """Return True if a step changes a tensor that histograms may show, or uses a histogram."""
    if step.writes or (step.op is not None and step.op.card.keeps):
        return True
    taken = {*step.inputs, *(name for name, _ in step.guard or ())}
    return any(name in taken for other in waiting for name in other.outputs)


def _joined(
    waiting: Sequence[Step], tags: Mapping[int, bytes], there: Mapping[str, _There]
) -> list[Step]:
    """Return the fused steps for the waiting ones: for the host, and for each device."""
    groups: dict[Any, list[Step]] = {}
    for step in waiting:
        _, device = there.get(str(step.arguments[1]), ("", None))
        groups.setdefault(device, []).append(step)
    result = []
    for device, group in groups.items():
        ops = [step.op for step in group if step.op is not None]
        names = [tags[id(step)] for step in group]
        outputs = [name for step in group for name in step.outputs]
        shown = [step.arguments[1] for step in group]
        if device is not None:
            result += _counted_there(group, [there[str(name)][0] for name in shown], device)
            shown = [Name(result[-1].outputs[0])]
        made = _of_counts(names, ops) if device is not None else _summarize(names, ops)
        result.append(one_step(group, outputs, made, shown))
    return result


def _counted_there(group: Sequence[Step], shown: Sequence[str], device: Any) -> list[Step]:
    """Return steps that count on a device, and copy the counts to the host."""
    first = group[0]
    counts, brought = f"{first.outputs[0]}_counts", f"{first.outputs[0]}_brought"
    arguments = [Name(name) for name in shown]
    counting = Step(
        "call", first.op, [counts], list(shown), first.guard, DeviceHistograms(device), arguments,
        device=device,
    )  # fmt: skip
    return [
        counting,
        Step("move", first.op, [brought], [counts], first.guard, arguments=[torch.device("cpu")]),
    ]


def _of_counts(tags: Sequence[bytes], ops: Sequence[Operation]) -> Callable[..., Any]:
    """Return a function of counts of a device that gives messages, one for each tag."""
    histograms = TaggedHistograms(tags)

    def summarize(counted: Any) -> Any:
        messages = histograms.of_counts(counted)
        for place, (message, op) in enumerate(zip(messages, ops)):
            if not message:
                least, largest = extremes(counted, len(tags))[place]
                number = least if np.isnan(least) or np.isinf(least) else largest
                raise as_op_error(not_finite(number, op.name), op)
        return messages if len(messages) > 1 else messages[0]

    return summarize


def _summarize(tags: Sequence[bytes], ops: Sequence[Operation]) -> Callable[..., Any]:
    histograms = TaggedHistograms(tags)

    def summarize(*values: Any) -> Any:
        messages = histograms(values)
        for message, tag, op, shown in zip(messages, tags, ops, values):
            if not message:
                try:
                    histogram_summary(tag, shown, op.name)
                except Exception as error:
                    raise as_op_error(error, op) from None
        return messages if len(messages) > 1 else messages[0]

    return summarize
