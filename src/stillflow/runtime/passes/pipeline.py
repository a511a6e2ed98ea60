"""The rewrites of a plan's steps, in the order in which they are applied.

A pass takes the steps of a plan and returns steps that compute the same with less work, or at
another time. `rewrite` applies all of them; `session.explain` shows what each has changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from stillflow.runtime.explain import PlanReport
from stillflow.runtime.passes.accuracies import join_accuracies
from stillflow.runtime.passes.activations import join_activations
from stillflow.runtime.passes.dead_steps import drop_no_ops
from stillflow.runtime.passes.dropout_masks import join_dropouts
from stillflow.runtime.passes.embedding_lookups import join_lookups
from stillflow.runtime.passes.integer_resizes import resize_integers
from stillflow.runtime.passes.jit_clusters import join_pure
from stillflow.runtime.passes.moving_averages import merge_averages
from stillflow.runtime.passes.norm_folding import fold_normalizations
from stillflow.runtime.passes.normalizations import join_normalizations
from stillflow.runtime.passes.summaries import join_summaries
from stillflow.runtime.passes.updates_and_gradients import join
from stillflow.runtime.plan.steps import Step
from stillflow.runtime.plan.trace import Tracer
from stillflow.runtime.schedule.overlap import put_beside


@dataclass(frozen=True)
class Rewriting:
    """State of a plan that passes use.

    Attributes:
      tracer: what made the steps.
      kept: names of what the plan gives back.
      report: what notes the changes; None if nobody asks.
    """

    tracer: Tracer
    kept: Sequence[str]
    report: PlanReport | None = None

    @property
    def constants(self) -> dict[str, Any]:
        return self.tracer.constants

    @property
    def place_of(self) -> Any:
        """The device of a value by its name; None where every device computes on the CPU."""
        return None if self.tracer.moves is None else self.tracer.moves.place

    @property
    def device_of(self) -> Any:
        """The device of an operation; None where every device computes on the CPU."""
        return None if self.tracer.moves is None else self.tracer.moves.device_of


@dataclass(frozen=True)
class Pass:
    """A rewrite of steps.

    Attributes:
      name: what it does, as `explain` shows it.
      apply: takes steps and the plan they are of, returns steps.
      alone: whether it is for plans that are compiled or overlapped; those that are traced or
        watched run step by step.
    """

    name: str
    apply: Callable[[list[Step], Rewriting], list[Step]]
    alone: bool = False


PASSES = (
    Pass("drop no-ops", lambda s, p: drop_no_ops(s), alone=True),
    Pass("fuse summaries", lambda s, p: join_summaries(s, p.constants, p.kept, p.place_of)),
    Pass("fuse accuracies", lambda s, p: join_accuracies(s, p.constants, p.kept)),
    Pass("fuse embedding lookups", lambda s, p: join_lookups(s, p.constants, p.kept)),
    Pass("reuse dropout draws", lambda s, p: join_dropouts(s, p.constants, p.kept)),
    Pass("fuse moving averages", lambda s, p: merge_averages(s, p.constants, p.kept)),
    Pass("fuse updates and gradients", lambda s, p: join(s)),
    Pass("fold normalizations", lambda s, p: fold_normalizations(s, p.constants, p.kept)),
    Pass("fuse normalizations", lambda s, p: join_normalizations(s, p.kept)),
    Pass("fuse activations", lambda s, p: join_activations(s, p.kept)),
    Pass("resize integers", lambda s, p: resize_integers(s, p.tracer.values.values(), p.kept)),
    Pass(
        "compile clusters",
        lambda s, p: join_pure(s, p.tracer.facts, p.kept, p.tracer.memory, p.device_of),
        alone=True,
    ),
    Pass(
        "overlap with another thread",
        lambda s, p: put_beside(s, p.tracer.values, p.tracer.memory),
        alone=True,
    ),
)


def rewrite(steps: list[Step], plan: Rewriting, alone: bool) -> list[Step]:
    """Apply all passes to the steps of a plan.

    Args:
      steps: those that are needed.
      plan: what the passes know of it.
      alone: whether other threads, or a compiler, may take steps.
    """
    report = plan.report
    if report is not None:
        report.note("trace", [], steps, 0.0)
    for each in PASSES:
        if each.alone and not alone:
            continue
        if report is None:
            steps = each.apply(steps, plan)
            continue
        before, start = list(steps), time.perf_counter()
        steps = each.apply(steps, plan)
        report.note(each.name, before, steps, time.perf_counter() - start)
    return steps
