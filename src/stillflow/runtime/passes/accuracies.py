"""Fuse the accuracy of a classifier: `reduce_mean(cast(equal(argmax(x, 1), labels), float32))`.

Most programs compute it from four or five operations on few numbers, and many in every step.
"""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.lazy import torch
from stillflow.ops.math import row_extremes
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Step, fuse, in_order
from stillflow.runtime.passes.patterns import Call, match

ACCURACY = Call("Mean", Call("Cast", Call("Equal")))


def fuse_accuracies(graph: StepGraph) -> None:
    """Replace Mean(Cast(Equal(ArgMax, ...))) by one step."""
    for mean in graph.calls(ACCURACY.called):
        found = match(ACCURACY, graph, mean) if _is_one_number(mean) else None
        parts = None if found is None else _with_places(graph, found)
        if parts is None:
            continue
        fused = _fused(parts, graph)
        if all(map(graph.is_stable, fused.inputs)):
            graph.replace(parts, fused, at=mean)


def _with_places(graph: StepGraph, found: list[Step]) -> list[Step] | None:
    """Return the steps of an accuracy that starts with one or two ArgMax; None without any."""
    equal = found[-1]
    if len(equal.arguments) != 2:
        return None
    places = [graph.sole_producer(equal, side, "ArgMax") for side in (0, 1)]
    of_rows = [step for step in places if step is not None and _is_of_rows(step)]
    return [*found, *of_rows] if of_rows else None


def _is_one_number(mean: Step) -> bool:
    assert mean.op is not None
    (result,) = mean.op._outputs
    return result._dims == () and result.dtype == dtypes.float32 and len(mean.arguments) == 1


def _is_of_rows(step: Step) -> bool:
    """Return True if an ArgMax is of the rows of a float32 matrix."""
    assert step.op is not None
    tensor = step.op._inputs[0]
    is_matrix = tensor._rank == 2 and tensor.dtype.base_dtype == dtypes.float32
    return is_matrix and step.arguments[1:] in ([1], [-1])


def _fused(parts: list[Step], graph: StepGraph) -> Step:
    mean, cast, equal, *places = parts
    rows, labels = places[0].arguments[0], equal.arguments[1]
    if len(places) == 2:
        labels = places[1].arguments[0]
    elif labels == places[0].outputs[0]:
        labels = equal.arguments[0]

    arguments = [rows, labels]
    plain = in_order([*places, equal, cast, mean], arguments, mean.outputs, graph.constants)

    def accuracy(rows: Any, labels: Any) -> torch.Tensor:
        found = row_extremes.share(rows, labels) if row_extremes.takes(rows) else None
        return plain(rows, labels)[0] if found is None else found

    return fuse(parts, mean.outputs, accuracy, arguments)
