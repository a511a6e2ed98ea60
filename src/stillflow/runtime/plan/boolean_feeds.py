"""Plans specialized on fed booleans, without the branches that are not taken.

`is_training` and similar flags are fed in many programs, and select other computations in whole
layers. One plan for both values would have to branch at every layer, could fuse little between the
branches, and on a GPU none of it would be part of a larger graph.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.constant_value import Dims
from stillflow.graph.operation import Tensor
from stillflow.runtime.ir.request import PlanRequest
from stillflow.runtime.plan import plan as plans
from stillflow.runtime.resources import Resources

Plan = Callable[..., list[Any]]
# Of so many truth values all combinations have plans; with more of them there is one plan.
_MOST = 3


def decided(plan_with: Callable[[Callable[..., Plan]], Plan], feeds: Mapping[Tensor, Dims]) -> Plan:
    """Return a plan that knows the truth values that it is fed.

    Args:
      plan_with: makes a plan by a function like `plan.make_plan`.
      feeds: fed tensors, in the order in which the plan takes them, with their shapes.
    """
    flags = {
        tensor: place
        for place, (tensor, dims) in enumerate(feeds.items())
        if tensor.dtype == dtypes.bool and dims == ()
    }
    if not flags or len(flags) > _MOST:
        return plan_with(plans.make_plan)
    return _Decided(plan_with, flags)


class _Decided:
    """One plan for every combination of fed truth values, made when it comes first.

    Args:
      plan_with: makes a plan by a function like `plan.make_plan`.
      flags: the booleans, and their positions among the feeds.
    """

    def __init__(
        self, plan_with: Callable[[Callable[..., Plan]], Plan], flags: Mapping[Tensor, int]
    ) -> None:
        self._plan_with, self._flags = plan_with, flags
        self._places = list(flags.values())
        self._plans: dict[Any, Plan] = {}
        self._lock = threading.Lock()

    def __call__(self, *arrays: Any) -> list[Any]:
        values = tuple([bool(arrays[place]) for place in self._places])
        plan = self._plans.get(values)
        if plan is None:
            plan = self._plan(values)
        return plan(*arrays)

    def prepare(self, *arrays: Any) -> None:
        """Make the plan for these feeds."""
        self._plan(tuple([bool(arrays[place]) for place in self._places]))

    def _plan(self, values: tuple[bool, ...]) -> Plan:
        with self._lock:
            if values not in self._plans:
                known = {flag: np.array(value) for flag, value in zip(self._flags, values)}

                def make(resources: Resources, request: PlanRequest) -> Plan:
                    return plans.make_plan(resources, replace(request, known=known))

                self._plans[values] = self._plan_with(make)
            return self._plans[values]
