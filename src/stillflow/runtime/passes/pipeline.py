"""The passes over a plan's steps, in the order in which they run.

A pass takes a graph of steps and edits it: the steps that are left compute the same with less work,
or at another time. `run` runs all of them; `session.explain` shows what each has changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from stillflow.runtime.explain import recording
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Step
from stillflow.runtime.ir.verify import WANTED, verify
from stillflow.runtime.ir.verify_memory import verify_edges
from stillflow.runtime.passes import (
    elements,
    matrix_products,
    packed_weights,
    small_steps,
    written_out,
)
from stillflow.runtime.passes.accuracies import fuse_accuracies
from stillflow.runtime.passes.activations import fuse_activations
from stillflow.runtime.passes.checkpoint_restores import fuse_restores
from stillflow.runtime.passes.dead_steps import remove_dead_steps, remove_no_ops
from stillflow.runtime.passes.dropout_masks import fuse_dropout_masks
from stillflow.runtime.passes.embedding_lookups import fuse_lookups
from stillflow.runtime.passes.gelus import fuse_gelus
from stillflow.runtime.passes.integer_resizes import resize_integers
from stillflow.runtime.passes.jit_clusters import fuse_clusters
from stillflow.runtime.passes.moving_averages import fuse_moving_averages
from stillflow.runtime.passes.norm_folding import fold_normalizations
from stillflow.runtime.passes.normalizations import fuse_normalizations
from stillflow.runtime.passes.summaries import fuse_summaries
from stillflow.runtime.passes.updates_and_gradients import (
    group_updates,
    pair_gradients,
    share_maxima,
)
from stillflow.runtime.schedule.overlap import overlap

if TYPE_CHECKING:
    from stillflow.runtime.plan.trace import Tracer


class Pass(NamedTuple):
    """A rewrite of the steps of a plan.

    Attributes:
      name: what it does, as `explain` shows it.
      apply: edits a graph of steps.
      traced: whether it is for plans too that are traced or watched, which run step by step; the
        others let a compiler or another thread take steps.
      loops: whether it is for the steps of a loop too.
    """

    name: str
    apply: Callable[[StepGraph], None]
    traced: bool = True
    loops: bool = False


PASSES = (
    Pass("remove dead steps", remove_dead_steps),
    Pass("remove no-ops", remove_no_ops, traced=False),
    Pass("fuse summaries", fuse_summaries),
    Pass("fuse accuracies", fuse_accuracies),
    Pass("fuse embedding lookups", fuse_lookups),
    Pass("fuse dropout masks", fuse_dropout_masks),
    Pass("fuse moving averages", fuse_moving_averages),
    Pass("share maxima of pools", share_maxima, loops=True),
    Pass("group updates", group_updates, loops=True),
    Pass("pair gradients of convolutions", pair_gradients, loops=True),
    Pass("fuse restores", fuse_restores, loops=True),
    Pass("fold normalizations", fold_normalizations),
    Pass("fuse normalizations", fuse_normalizations),
    Pass("fuse functions written out", written_out.fuse_written_out),
    Pass("fuse GELUs", fuse_gelus),
    Pass("pack weights", packed_weights.pack_weights),
    Pass("fuse activations", fuse_activations),
    Pass("resize integers", resize_integers),
    Pass("choose matrix products", matrix_products.choose_products),
    Pass("compile clusters", fuse_clusters, traced=False),
    Pass("fuse small steps", small_steps.fuse_small_steps, traced=False),
    Pass("fuse elements", elements.fuse_elements, loops=True),
    Pass("overlap with another thread", overlap, traced=False),
)


def run(graph: StepGraph, traced: bool, report: recording.PlanReport | None = None) -> None:
    """Run all passes over a graph, and note the changes in `report`, if any.

    `traced` is of a plan that is traced or watched step by step.
    """
    if report is not None:
        report.note("trace", [], graph.steps, 0.0)
    for each in _passes_of(graph):
        if traced and not each.traced:
            continue
        before = graph.steps if report is not None else []
        matches, start = graph.matches, time.perf_counter()
        each.apply(graph)
        seconds = time.perf_counter() - start
        if report is not None:
            report.note(each.name, before, graph.steps, seconds, graph.matches - matches)
        if WANTED:
            verify(graph, each.name)
            verify_edges(graph, each.name)


def _passes_of(graph: StepGraph) -> tuple[Pass, ...]:
    """Return the passes over a graph: an engine chooses its regions before steps are fused."""
    wanted = None if graph.facts is None else graph.facts.engine
    if wanted is None:
        return PASSES
    return (PASSES[0], Pass("assign regions to engines", wanted.assign, False), *PASSES[1:])


def in_loop(steps: list[Step], results: Sequence[str], tracer: Tracer) -> list[Step]:
    """Return the steps of one part of a loop after the passes that are for loops.

    `results` are the names of values that are taken elsewhere.
    """
    graph = StepGraph(
        steps, tracer.constants, results, values=tracer.values, memory=tracer.memory,
        facts=tracer.facts, moves=tracer.moves, in_loop=True,
    )  # fmt: skip
    for each in PASSES:
        if each.loops:
            each.apply(graph)
    return graph.steps
