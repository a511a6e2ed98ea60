"""Requests for plans: fetches, feeds with their shapes, and options of the run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stillflow.graph.constant_value import Dims
from stillflow.graph.operation import Operation, Tensor

if TYPE_CHECKING:
    import numpy as np

    from stillflow.runtime.engines.region import Assignment
    from stillflow.runtime.executor.dataflow import See
    from stillflow.runtime.plan.emit import Emitter


@dataclass(frozen=True, eq=False)
class PlanRequest:
    """One run of a graph.

    Attributes:
      tensors: the fetches, as NumPy values.
      targets: operations to run.
      feeds: fed tensors with the shapes that the plan may rely on, in the order of its arguments.
      raw: tensors whose run-time values are returned after the fetched ones, as they are.
      effects: operations that run as well, unless they are in a branch that is not taken.
      skip: operations that ran before and are not to run again.
      own: whether raw values must not share memory with anything.
      places: the devices of fed values and of variables behind fed handles, if they are known.
      known: values of fed tensors, used instead of the arguments of the plan.
      emitter: writes the function; None for the usual one.
      engine: the assignment of pure regions to an engine; None for the plan alone.
      see: called with every value of the run; nothing is folded or fused then.
    """

    tensors: Sequence[Tensor]
    targets: Sequence[Operation]
    feeds: Mapping[Tensor, Dims]
    raw: Sequence[Tensor] = ()
    effects: Sequence[Operation] = ()
    skip: Collection[Operation] = ()
    own: bool = False
    places: Sequence[Any] = ()
    known: Mapping[Tensor, np.ndarray] = field(default_factory=dict)
    emitter: type[Emitter] | None = None
    engine: Assignment | None = None
    see: See | None = None
