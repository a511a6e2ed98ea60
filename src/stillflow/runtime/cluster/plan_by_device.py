"""Runs that call functions on devices whose names are fed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.operation import Tensor
from stillflow.ops.functional.cards import remote_call_op
from stillflow.runtime.interrupts import Interrupt


class PlanByDevice:
    """A run that calls functions on devices whose names are fed: a plan for each of them.

    Args:
      make: makes a plan of the feeds that are such names, with their values.
      places: where these are among the feeds.
    """

    def __init__(self, make: Callable[..., Any], places: Mapping[Tensor, int]) -> None:
        self._make, self._places = make, places

    def _plan(self, arrays: Sequence[Any]) -> Any:
        return self._make({tensor: arrays[place] for tensor, place in self._places.items()})

    def run(self, session: Interrupt, *arrays: np.ndarray) -> list[Any]:
        """See `ClusterPlan`."""
        found: list[Any] = self._plan(arrays).run(session, *arrays)
        return found

    def traced(
        self, session: Interrupt, arrays: Iterable[np.ndarray], options: Any, metadata: Any
    ) -> list[Any]:
        """See `ClusterPlan`."""
        given = tuple(arrays)
        found: list[Any] = self._plan(given).traced(session, given, options, metadata)
        return found

    def partial_run(self, runs: dict[Any, Any]) -> str:
        """Raise an error: a name may come in a later step."""
        del runs
        raise errors.unimplemented(
            "Stillflow cannot run a function in a step of a partial run on a device that is fed"
        )


def fed_devices(fed: Sequence[Tensor]) -> dict[Tensor, int]:
    """Return the feeds that name devices that functions are called on, with their places."""
    return {
        tensor: place
        for place, tensor in enumerate(fed)
        if any(op.card is remote_call_op and op._inputs[0] is tensor for op in tensor.consumers())
    }
