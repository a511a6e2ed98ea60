"""Settings of a thread's summaries: on or off, and the step."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from stillflow.graph.api import device
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.summary_state import state
from stillflow.ops.math.comparison import equal, logical_and
from stillflow.train.global_step import get_or_create_global_step


def wanted(default: bool) -> Any:
    """Return a bool tensor: whether to record; `default` where nothing was said."""
    here = state.in_replica() if callable(state.in_replica) else state.in_replica
    condition = state.condition() if callable(state.condition) else state.condition
    return logical_and(here, default if condition is None else condition)


@export("contrib.summary.should_record_summaries")
def should_record_summaries() -> Tensor:
    """Return a bool tensor: whether summaries are recorded, which they are not by default."""
    return wanted(default=False)


@export("compat.v2.summary.record_if")
@contextlib.contextmanager
def record_if(condition: Any) -> Iterator[None]:
    """Says whether summaries that are made in this context are recorded.

    Args:
      condition: a bool, a bool tensor without dimensions, or a function that returns one.
    """
    before, state.condition = state.condition, condition
    try:
        yield
    finally:
        state.condition = before


@export("contrib.summary.record_summaries_every_n_global_steps")
def record_summaries_every_n_global_steps(n: Any, global_step: Any = None) -> Any:
    """Return a context in which summaries are recorded at every n-th step.

    Args:
      n: how many steps apart.
      global_step: the step, by default the graph's, which is made if there is none; read again by
        each summary in eager execution.
    """
    step = get_or_create_global_step() if global_step is None else global_step

    def is_due() -> Tensor:
        return equal(step % n, 0)

    if executing_eagerly():
        return record_if(is_due)
    with device("cpu:0"):
        return record_if(is_due())


@export("contrib.summary.always_record_summaries")
def always_record_summaries() -> Any:
    """Return a context in which summaries are recorded."""
    return record_if(True)


@export("contrib.summary.never_record_summaries")
def never_record_summaries() -> Any:
    """Return a context in which summaries are not recorded."""
    return record_if(False)


@export("compat.v2.summary.experimental.get_step")
def get_step() -> int | None:
    """Return the step that `set_step` was given in this thread, or None."""
    return state.step


@export("compat.v2.summary.experimental.set_step")
def set_step(step: Any) -> None:
    """Says which step summaries belong to that are not told one.

    Args:
      step: what can be an int64, or None.
    """
    state.step = step
