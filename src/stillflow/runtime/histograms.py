"""Histograms of many tensors in one step: the work is shared out among the processors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow import errors
from stillflow.graph.operation import Operation
from stillflow.ops.summary import numbers
from stillflow.runtime.failures import as_op_error
from stillflow.runtime.steps import Step, one_step


def join_histograms(steps: Sequence[Step]) -> list[Step]:
    """Joins summaries between which no variable changes and that nobody needs before the last."""
    result: list[Step] = []
    waiting: list[Step] = []
    for step in steps:
        waits = _is_histogram(step)
        ends = waiting[0].guard != step.guard if waits and waiting else _ends(step, waiting)
        if waiting and ends:
            result.append(_joined(waiting))
            waiting = []
        (waiting if waits else result).append(step)
    return [*result, _joined(waiting)] if waiting else result


def _is_histogram(step: Step) -> bool:
    op = step.op
    return (
        op is not None and op.type == "HistogramSummary" and step.kind == "call"
        and len(step.outputs) == 1 and numbers.is_fast(op)
    )  # fmt: skip


def _ends(step: Step, waiting: Sequence[Step]) -> bool:
    """Whether a step changes what histograms may show, or takes one of them."""
    if step.writes or (step.op is not None and step.op.card.keeps):
        return True
    taken = {*step.inputs, *(name for name, _ in step.guard or ())}
    return any(name in taken for other in waiting for name in other.outputs)


def _joined(waiting: Sequence[Step]) -> Step:
    if len(waiting) == 1:
        return waiting[0]
    ops = [step.op for step in waiting if step.op is not None]
    outputs = [name for step in waiting for name in step.outputs]
    arguments = [argument for step in waiting for argument in step.arguments]
    return one_step(waiting, outputs, _summarize(ops), arguments)


def _summarize(ops: Sequence[Operation]) -> Callable[..., list[Any]]:
    names = [op.name for op in ops]

    def summarize(*arguments: Any) -> list[Any]:
        try:
            return numbers.summarize_histograms(names, *arguments)
        except errors.InvalidArgumentError:
            # One by one they say which operation it was.
            for op, tag, values in zip(ops, arguments[::2], arguments[1::2]):
                try:
                    numbers.summarize_histogram(op.name, tag, values)
                except errors.InvalidArgumentError as error:
                    raise as_op_error(error, op) from None
            raise

    return summarize
