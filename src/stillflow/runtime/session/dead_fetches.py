"""Fetches of callables and of Keras' functions: an empty array for dead tensors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.graph.constant_value import Dims
from stillflow.graph.operation import Tensor
from stillflow.ops.values import fetch_converter, fetch_fed
from stillflow.runtime.executor.dataflow import DEAD
from stillflow.runtime.ir.request import PlanRequest
from stillflow.runtime.resources import Resources
from stillflow.runtime.session.fetches import Fetches


def may_be_dead(tensors: Sequence[Tensor], feeds: Collection[Tensor]) -> bool:
    """Return True if some tensor is computed in a branch only, and so may be dead in some runs."""
    waiting = [tensor.op for tensor in tensors if tensor not in feeds]
    seen = set(waiting)
    while waiting:
        op = waiting.pop()
        if op.card.flow == "switch":
            return True
        if op.card.flow in ("merge", "exit"):
            continue
        before = [x.op for x in op._inputs if x not in feeds]
        for one in (*before, *op._control_inputs):
            if one not in seen:
                seen.add(one)
                waiting.append(one)
    return False


def plan_with_empty(
    make: Callable[..., Callable[..., list[Any]]],
    resources: Resources,
    fetches: Fetches,
    feeds: dict[Tensor, Dims],
) -> Callable[..., list[Any]] | None:
    """Return a plan that gives float32 [0] for dead tensors, by `make_plan` or the like.

    None if the fetches do not ask for it, or are computed in every run.
    """
    tensors = fetches.tensors
    if not fetches.empty_if_dead or not may_be_dead(tensors, feeds):
        return None
    run = make(resources, PlanRequest([], fetches.targets, feeds, raw=tensors, own=True))
    converters = [fetch_fed if x in feeds else fetch_converter(x, copy=False) for x in tensors]

    def plan(*arrays: Any) -> list[Any]:
        pairs = zip(run(*arrays), converters, strict=True)
        return [_fetched(value, convert) for value, convert in pairs]

    return plan


def _fetched(value: Any, convert: Callable[[Any], Any] | None) -> Array:
    if value is None or value is DEAD:
        return np.empty(0, np.float32)
    return value if convert is None else convert(value)
