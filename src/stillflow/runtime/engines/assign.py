"""Assignment of regions to an engine: a pass over the steps of a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import torch

from stillflow.graph.operation import Tensor
from stillflow.graph.traits import CONTAINERS
from stillflow.runtime.engines.region import Assignment, Region, Unfit
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Name, Step, ops_of

_AT_LEAST = 2  # steps; a single one has nothing to be fused with
_MOST_REASONS = 3


def assign_regions(graph: StepGraph, wanted: Assignment) -> None:
    """Replace rows of steps that an engine runs by one step each.

    A plan with any state or effect is left as it is: a run by an engine may be repeated by the
    plan, which compares the answers and raises the errors.
    """
    steps = graph.steps
    wanted.steps = len(steps)
    wanted.reason = _impurity(graph)
    if wanted.reason:
        return
    reasons: Counter[str] = Counter()
    row: list[Step] = []
    for step in steps:
        reason = _problem(graph, step) or wanted.engine.problem(graph, step)
        if reason:
            reasons[reason] += 1
            _put(graph, row, wanted, reasons)
            row = []
        else:
            row.append(step)
    _put(graph, row, wanted, reasons)
    wanted.reason = "; ".join(reason for reason, _ in reasons.most_common(_MOST_REASONS))


def _impurity(graph: StepGraph) -> str:
    """Return the reason why a run cannot be repeated; "" if it can."""
    if graph.moves is not None:
        return "the session has several devices"
    for step in _all(graph.steps):
        if step.kind == "read":
            return "it reads variables; engines run frozen graphs"
        for op in ops_of(step):
            card = op.card
            inner = card.handle in CONTAINERS or card.gives in CONTAINERS
            if not (card.foldable or inner or card.flow is not None) or card.calls:
                return f"{op.name} ({op.type}) has state or an effect"
    return ""


def _all(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield steps, and those inside of loops."""
    for step in steps:
        yield step
        if step.kind == "loop":
            for part in step.arguments[0].parts.values():
                yield from _all(part)


def _problem(graph: StepGraph, step: Step) -> str:
    """Return the reason why no engine runs a step; "" if one may."""
    op = step.op
    if op is None or step.kind != "call":
        return f"a {step.kind}"
    if step.guard or step.fused or step.writes or not step.outputs or op in graph.targets:
        return f"{op.type} in a branch, or with an effect"
    if not op.card.foldable or op.card.asserts:
        return f"{op.type} is not pure"
    return ""


def _put(graph: StepGraph, row: list[Step], wanted: Assignment, reasons: Counter[str]) -> None:
    """Replace a row of steps by one that runs them in the engine, if that takes them."""
    if len(row) < _AT_LEAST:
        return
    region = _region(graph, row)
    if not region.outputs:
        return
    try:
        function = wanted.engine.function(region)
    except Unfit as error:
        reasons[str(error)] += len(row)
        return
    inputs, outputs = [name for name, _ in region.inputs], [name for name, _ in region.outputs]
    names = [Name(name) for name in inputs]
    step = Step("call", row[0].op, outputs, inputs, (), function, [*names], fused=True)
    _, *step.joined = [op for each in row for op in ops_of(each)]
    graph.replace(row, step, at=row[-1])
    wanted.regions.append((region, function))
    wanted.taken += len(row)


def _region(graph: StepGraph, row: list[Step]) -> Region:
    assert graph.facts is not None
    inside = set(map(id, row))
    made = {name for step in row for name in step.outputs}
    inputs: dict[str, Tensor] = {}
    outputs: dict[str, Tensor] = {}
    for step in row:
        assert step.op is not None
        for tensor in step.op._inputs:
            value = graph.values.get(tensor)
            if value is not None and value.name not in made and value.name not in graph.constants:
                inputs.setdefault(value.name, tensor)
        for tensor, name in zip(step.op._outputs, step.outputs, strict=True):
            users = graph.consumers(name)
            if graph.is_result(name) or any(id(user) not in inside for user in users):
                outputs[name] = tensor
    threads = graph.facts.resources.threads or torch.get_num_threads()
    return Region(graph, row, list(inputs.items()), list(outputs.items()), threads)
