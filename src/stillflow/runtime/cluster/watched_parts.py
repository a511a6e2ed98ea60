"""Runs of several tasks that are traced, or watched by a debugger: each task tells of its part."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from stillflow.graph.graph import Graph
from stillflow.ops.constants import const_op
from stillflow.runtime.executor.watched_runs import WatchedRuns
from stillflow.runtime.session.fetches import Fetches


def is_watched(options: Any) -> bool:
    """Return True if a `RunOptions`, or None, names tensors to watch."""
    return options is not None and bool(options.debug_options.debug_tensor_watch_opts)


def run(
    resources: Any, placement: Any, ran: Sequence[Any], feeds: dict[Any, Any], options: Any
) -> list[Any]:
    """Run a part, one operation after the other; return the values of its tensors.

    Args:
      resources: the session's state in this task.
      placement: on the devices of the task.
      ran: tensors, then operations.
      feeds: the values of fed tensors.
      options: a `DebugOptions`.
    """
    fetches = Fetches(ran[0].graph, list(ran))
    values = WatchedRuns(resources, placement).run(fetches, feeds, options, is_part=True)
    found: list[Any] = fetches.build(values)
    return found


def add_constants(graph: Graph, stats: Any) -> None:
    """Add the constants of a part, which plans hold, to the `StepStats` of a run, as its begin."""
    by_device = {each.device: each.node_stats for each in stats.dev_stats}
    begins = [node.all_start_micros for nodes in by_device.values() for node in nodes]
    begin = min(begins, default=time.time_ns() // 1000)
    for op in graph.get_operations():
        if op.card is const_op and "/_" not in op.name:  # those are the partition's
            if op.device not in by_device:
                by_device[op.device] = stats.dev_stats.add(device=op.device).node_stats
            label = f"{op.name} = {op.type}()"
            made = by_device[op.device].add(node_name=op.name, timeline_label=label)
            made.scheduled_micros = made.all_start_micros = begin
