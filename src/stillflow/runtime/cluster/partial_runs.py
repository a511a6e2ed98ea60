"""`Session.partial_run` on several tasks: each of its steps is a run of them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stillflow import errors
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.values import fetch_converter, from_array
from stillflow.runtime.session.partial_run import PartialPlans, Step
from stillflow.runtime.session.partial_run import PartialRun as PartialRun

Make = Callable[[Sequence[Tensor], Sequence[Tensor], frozenset[Operation]], Any]


class Declared(NamedTuple):
    """All that the steps of a partial run fetch and run; as `Fetches` have it."""

    tensors: Sequence[Tensor]
    targets: Sequence[Operation]


def begun(
    make: Make, tensors: Sequence[Tensor], targets: Sequence[Operation], fed: Sequence[Tensor],
    edition: int,
) -> PartialRun:  # fmt: skip
    """Return a partial run with all that its steps fetch, run and feed.

    Args:
      make: as for `PlansOfTasks`.
      tensors, targets, fed: the declaration.
      edition: of the graph.
    """
    declared = Declared(tensors, targets)
    return PartialRun(secrets.token_hex(8), declared, fed, PlansOfTasks(make), edition)


class PlansOfTasks(PartialPlans):
    """The plans of one partial run. Values for later steps come back to the session.

    Args:
      make: makes the plan of a step, of the tensors it computes, those that are known, and the
        operations that ran before.
    """

    def __init__(self, make: Make) -> None:
        super().__init__()
        self._make = make
        self._looped: set[Operation] = set()

    def plan(self, step: Step, resources: Any, known: dict[Tensor, Any]) -> Callable[..., Any]:
        """See `PartialPlans.plan`."""
        for op in self._looped & step.looped:
            raise errors.unimplemented(
                "This step of a partial run needs a loop that an earlier step has run, which "
                "Stillflow cannot run again on several tasks: fetch all that is needed of the loop "
                "in one step.",
                op,
            )
        self._looped |= step.looped
        plan = self._make([*step.fetched, *step.kept], list(known), step.ran)

        def run(*values: Any) -> list[Any]:
            arrays = map(_array, known, values)
            found = plan.run(resources.interrupt, *arrays)
            count = len(step.fetched)
            return [*found[:count], *map(_kept, found[count:])]

        return run


def _kept(value: Any) -> Any:
    """Return a value that came from a task, maybe a scalar of NumPy or Python, as plans take it."""
    return from_array(np.asarray(value, object if isinstance(value, (bytes, str)) else None))


def _array(tensor: Tensor, value: Any) -> Any:
    convert = fetch_converter(tensor, True)
    return value if convert is None else convert(value)
