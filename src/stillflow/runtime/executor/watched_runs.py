"""Runs in which every operation runs by itself and is looked at: for debuggers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.operation import Tensor
from stillflow.ops.debug import summaries
from stillflow.ops.debug.watches import watches_of, writers_of
from stillflow.ops.values import fetch_converter
from stillflow.runtime.devices.placement import Placement
from stillflow.runtime.executor.dataflow import Tag
from stillflow.runtime.ir.request import PlanRequest
from stillflow.runtime.plan.plan import make_plan
from stillflow.runtime.resources import Resources
from stillflow.runtime.tracing.run_metadata import partition_graphs


def run_watched(
    resources: Resources,
    fetches: Any,
    feeds: dict[Tensor, Any],
    see: Callable[[Tensor, np.ndarray, Tag], None],
) -> list[Any]:
    """Run `fetches`, one operation after the other.

    `see` is called with every tensor, its array and the iterations of the loops around it.
    """
    dims = {tensor: array.shape for tensor, array in feeds.items()}

    def look(tensor: Tensor, value: Any, tag: Tag) -> None:
        array = as_array(tensor, value)
        if array is not None:
            see(tensor, array, tag)

    request = PlanRequest(fetches.tensors, fetches.targets, dims, see=look)
    return make_plan(resources, request)(*feeds.values())


def as_array(tensor: Tensor, value: Any) -> np.ndarray | None:
    """Return a copy of a run-time value.

    Return None for other values, such as a queue or an empty variable.
    """
    if tensor.dtype.base_dtype in (dtypes.resource, dtypes.variant):
        return None
    if tensor.dtype._is_ref_dtype and hasattr(value, "value"):
        value = value.value
    if value is None or not hasattr(value, "shape"):
        return None
    convert = fetch_converter(tensor, True)
    return np.asarray(value if convert is None else convert(value))


class WatchedRuns:
    """The watched runs of a session.

    Args:
      resources: the session's state.
      placement: where its operations are.
    """

    def __init__(self, resources: Resources, placement: Placement) -> None:
        self._resources = resources
        self._placement = placement
        self._numbers = itertools.count()

    def run(self, fetches: Any, feeds: Any, options: Any, is_part: bool = False) -> list[Any]:
        """Run `fetches` and write the dumps of `options`, a `DebugOptions`.

        The names of a run that has this part are written by the session's process.

        Raises:
          tf.errors.FailedPreconditionError: if a debug op is not known.
          tf.errors.UnimplementedError: if dumps are to go elsewhere than into files.
        """
        writers = writers_of(options)
        number = next(self._numbers)
        needed = fetches.tensors, fetches.targets, list(feeds)
        graphs = partition_graphs(self._placement, *needed, with_fed=True)
        for writer in writers.values():
            if not is_part:
                writer.core_metadata(
                    number, options.global_step, feeds, fetches.tensors, fetches.targets
                )
            for graph_def in graphs:
                writer.graph(graph_def, graph_def.node[0].device)
        watches = watches_of(options)

        def see(tensor: Tensor, array: np.ndarray, tag: Tag) -> None:
            name, slot = tensor.op.name, tensor.value_index
            found = watches.get((name, slot)) or watches.get(("*", -1), ())
            device = self._placement.device_of(tensor.op)
            for debug_op, attributes, label, url in found:
                value = summaries.DEBUG_OPS[debug_op](array, **attributes)
                if value is not None:
                    writers[url].tensor(device, name, slot, label, value)

        return run_watched(self._resources, fetches, feeds, see)
