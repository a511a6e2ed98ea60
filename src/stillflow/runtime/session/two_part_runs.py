"""Runs in two parts: first iterators and queues, then the rest, specialized on the shapes.

A batch of a dataset or a queue mostly has sizes that the graph does not know: the last one may be
smaller. A plan for any size computes at every step the consequences of a batch's sizes: shapes,
broadcasts, the axes of gradients' sums. So a run dequeues first, and the rest runs as if the batch
was fed, by a plan for these very shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from stillflow.graph.constant_value import Dims
from stillflow.graph.dims import is_known
from stillflow.graph.dtypes import resource, variant
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.values import fetch_converter
from stillflow.runtime.ir.request import PlanRequest
from stillflow.runtime.plan.boolean_feeds import decided
from stillflow.runtime.plan.cache import PlanCache
from stillflow.runtime.plan.shape_policy import Shapes
from stillflow.runtime.resources import Resources
from stillflow.runtime.schedule.prune import needed_ops, order, reachable
from stillflow.runtime.session.dead_fetches import plan_with_empty
from stillflow.runtime.session.fetches import Fetches

Plan = Callable[..., list[Any]]

# Objects from which a run takes, by a handle; no other operation of the run may use it.
_HOLDERS = ("iterator", "queue")


def _takes(op: Operation) -> bool:
    return op.card.access == "take" and op.card.handle in _HOLDERS


def sources_of(
    tensors: Sequence[Tensor], targets: Sequence[Operation], feeds: dict[Tensor, Dims]
) -> list[Operation]:
    """Return the operations that a run may do first; empty if there is no gain, or one cannot."""
    found = reachable(tensors, targets, feeds)
    if not any(map(_takes, found)):
        return []
    needed = order(found, set(feeds))
    sources = [op for op in needed if _takes(op)]
    outputs = {output for op in sources for output in op._outputs}
    if all(is_known(output._dims) for output in outputs) or outputs & feeds.keys():
        return []
    if any(output.dtype.base_dtype in (resource, variant) for output in outputs):
        return []
    if all(op in sources or op.card.gives in _HOLDERS for op in needed if op.type != "Const"):
        return []
    handles = {op._inputs[0] for op in sources}
    for op in needed:
        # A run may wait for itself by these; see `queue_rendezvous`.
        if op.card.handle == "rendezvous" or (op.card.access, op.card.handle) == ("put", "queue"):
            return []
        if op not in sources and not handles.isdisjoint(op._inputs):
            return []
    before = needed_ops([], sources, feeds)
    if any(op._control_inputs for op in before):
        return []
    free = all(op in sources or op.card.gives in _HOLDERS or op.card.foldable for op in before)
    return sources if free else []


def plan_of_run(
    resources: Resources, fetches: Fetches, feeds: dict[Tensor, Dims], alone: bool
) -> Plan:
    """Return the plan of a session's run.

    Args:
      resources: the session's state.
      fetches: the fetches and targets.
      feeds: fed tensors with the shapes that the plan may rely on.
      alone: whether the run has no parts in other tasks.
    """

    def plan_with(make: Callable[..., Plan]) -> Plan:
        if resources.engines is not None:
            from stillflow.runtime.engines.trial import with_engines

            make = partial(with_engines, make)
        return (
            plan_with_empty(make, resources, fetches, feeds)
            or (two_part_plan(make, resources, fetches, feeds) if alone else None)
            or make(resources, PlanRequest(fetches.tensors, fetches.targets, feeds))
        )

    return decided(plan_with, feeds)


def two_part_plan(
    make: Callable[..., Plan], resources: Resources, fetches: Fetches, feeds: dict[Tensor, Dims]
) -> Plan | None:
    """Return the plan of a run that takes batches of any size from the host; None for others.

    `make` makes a plan, as `make_plan` does, that may rely on the shapes of `feeds`.
    """
    sources = sources_of(fetches.tensors, fetches.targets, feeds)
    on_host = all(torch.device(resources.device_of(op)).type == "cpu" for op in sources)
    if not sources or not on_host:
        return None
    return TwoPartPlan(make, resources, fetches, feeds, sources)


class TwoPartPlan:
    """The plan of a run that takes from iterators or queues.

    Args:
      make: makes a plan, as `make_plan` does.
      resources: the session's state.
      fetches: the fetches and targets.
      feeds: fed tensors with the shapes that the plan may rely on.
      sources: the operations that run first.
    """

    def __init__(
        self, make: Callable[..., Plan], resources: Resources, fetches: Fetches,
        feeds: dict[Tensor, Dims], sources: Sequence[Operation],
    ) -> None:  # fmt: skip
        self._make, self._resources = make, resources
        self._taken = [output for op in sources for output in op._outputs]
        self._sources = sources
        self._first = make(resources, PlanRequest([], [], feeds, raw=self._taken, own=True))
        self._feeds, self._targets = feeds, fetches.targets
        places = {tensor: place for place, tensor in enumerate(self._taken)}
        self._tensors = [tensor for tensor in fetches.tensors if tensor not in places]
        self._passed = [
            (number, places[tensor], fetch_converter(tensor, False))
            for number, tensor in enumerate(fetches.tensors) if tensor in places
        ]  # fmt: skip
        self._plans: PlanCache[Plan] = PlanCache(at_once=1)

    def __call__(self, *arrays: Any) -> list[Any]:
        values = self._first(*arrays)
        plan = self._plans.find(tuple([value.shape for value in values]))
        if plan is None:
            shapes = tuple([tuple(value.shape) for value in values])
            plan = self._plans.get(shapes, self._make_rest)
        results = plan(*arrays, *values)
        for number, place, convert in self._passed:
            value = values[place]
            results.insert(number, value if convert is None else convert(value))
        return results

    def _make_rest(self, shapes: Shapes) -> Plan:
        dims = {**self._feeds, **dict(zip(self._taken, shapes, strict=True))}
        request = PlanRequest(self._tensors, self._targets, dims, skip=self._sources)
        return self._make(self._resources, request)
