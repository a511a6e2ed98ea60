"""Steps on CUDA captured as a graph: one launch instead of one for every kernel."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial
from typing import Any

import torch

from stillflow.runtime.capture.cuda_graph import NO_ENDS, Ends, Graph, capturing, is_sent
from stillflow.runtime.capture.host_waits import Watch
from stillflow.runtime.plan.regions import Code, Part, lines_of
from stillflow.runtime.schedule.steps import is_of_arrays

# Fewer kernels are launched as quickly one by one.
AT_LEAST = 6
# Libraries choose their kernels and make their workspaces in the first run of a size.
_RUNS_BEFORE = 1
# At most 16 sizes have their own graphs; at most 24 times graphs are recaptured for new variables.
_SIZES, _GRAPHS = 16, 24
# Sizes that are remembered as having run without one.
_SEEN = 256
# Kernels of a graph: long loops are not unrolled.
_LARGEST = 50_000
# Memory that has to be free for a graph, as a multiple of its first run's.
_MARGIN = 2


def is_wanted() -> bool:
    """Return True if steps are captured: the default, unless STILLFLOW_CUDA_GRAPHS=0."""
    return os.environ.get("STILLFLOW_CUDA_GRAPHS", "1") != "0"


class Captured:
    """The function of several steps on one device, replayed as a CUDA graph once it can be.

    Args:
      part: the steps.
      device: where all of it is computed.
      make: makes the code of some steps.
      ends: the transfers before and afterwards.
    """

    def __init__(
        self, part: Part, device: Any, make: type[Code] = Code, ends: Ends = NO_ENDS
    ) -> None:
        self._part, self._device, self._make, self._ends = part, device, make, ends
        self._run: Callable[..., Any] = self._watched
        self._lock = _lock(device)
        self._graphs: dict[Any, Graph] = {}
        self._runs: dict[Any, int] = {}
        self._made = 0
        self._moving: set[int] = set()  # positions of tensors that are not where they were
        self._memory = 0  # bytes that a run takes

    def with_ends(self, ends: Ends) -> Captured:
        """Return the same for some values that come from the host, and some that go there."""
        return Captured(self._part, self._device, self._make, ends)

    @cached_property
    def _code(self) -> Code:
        return self._make(self._part)

    def __call__(self, *values: Any) -> Any:
        if capturing.another:  # a loop's turn, and the whole loop is captured
            return self._moving_ends(self._code, *values)
        return self._run(*values)

    def _moving_ends(self, run: Callable[..., Any], *values: Any) -> Any:
        """Return a function of device values, each transferred separately."""
        given = [
            value.to(self._device, non_blocking=True) if place in self._ends.sent else value
            for place, value in enumerate(values)
        ]
        made = run(*given)
        if not self._ends.brought:
            return made
        if len(self._part.outputs) == 1:
            return made.to("cpu")
        return [
            value.to("cpu") if place in self._ends.brought else value
            for place, value in enumerate(made)
        ]  # fmt: skip

    def _watched(self, *values: Any) -> Any:
        """Return the first run, which shows the steps that cannot be captured."""
        watch = Watch(self._code.filename, self._device)

        def run(*given: Any) -> Any:
            given = tuple([each.to(self._device) if is_sent(each) else each for each in given])
            with capturing, watch:
                return self._code(*given)

        result = self._moving_ends(run, *values)
        waiting = self._code.steps_at(watch.lines)
        if waiting:
            self._run_apart(self._in_parts(waiting))
        elif watch.count <= _LARGEST:
            self._run, self._memory = self._replayed, watch.memory
        else:
            self._run_apart(self._code)
        return result

    def _run_apart(self, run: Callable[..., Any]) -> None:
        """Run without a graph of the whole from now on."""
        self._run = partial(self._moving_ends, run)

    def _in_parts(self, at: set[int]) -> Callable[..., Any]:
        return in_parts(self._part, at, self._device, self._make)

    def _replayed(self, *values: Any) -> Any:
        sizes = tuple([value.shape for value in values if isinstance(value, torch.Tensor)])
        with self._lock:  # the graphs of a device share memory
            graph = self._graph(sizes, values)
            if graph is not None:
                return graph.run(values)
        if self._run != self._replayed:
            return self._run(*values)
        if sizes not in self._runs:
            return self._moving_ends(self._code, *values)
        with capturing:  # the next run is captured as a whole
            return self._moving_ends(self._code, *values)

    def _graph(self, sizes: Any, values: Sequence[Any]) -> Graph | None:
        """Return the graph for such values; None if there is none yet, or never will be."""
        graph = self._graphs.get(sizes)
        if graph is not None:
            moved = graph.moved(values)
            if moved is None:
                return graph
            self._moving |= moved
            del self._graphs[sizes]
        if len(self._runs) == _SEEN:  # hardly any of them came twice
            self._runs.clear()
        if self._made == _GRAPHS or len(self._graphs) == _SIZES or not self._has_room():
            self._runs.clear()
            return None
        runs = self._runs[sizes] = self._runs.get(sizes, 0) + 1
        if runs <= _RUNS_BEFORE:
            return None
        self._made += 1
        try:
            graph = Graph(self._code, self._part, values, self._moving, self._ends, self._device)
        except Exception as error:  # one that is not about capturing the code raises again
            at = self._code.steps_at(lines_of(error, self._code.filename))
            self._run_apart(self._in_parts(at) if at else self._code)
            return None
        self._graphs[sizes] = graph
        return graph

    def _has_room(self) -> bool:
        """Return True if the device has memory for a graph, which keeps its own memory."""
        free, _ = torch.cuda.mem_get_info(self._device)
        held = torch.cuda.memory_reserved(self._device) - torch.cuda.memory_allocated(self._device)
        return self._memory * _MARGIN <= free + held


@cache
def _lock(device: Any) -> threading.RLock:
    return threading.RLock()


def in_parts(part: Part, at: set[int], device: Any, make: type[Code] = Code) -> Callable[..., Any]:
    """Return a function that runs steps one after the other, and captures as many as possible.

    Steps at the positions `at` cannot be captured; `make` makes the code of some steps.
    """
    if any(part.steps[number].kind == "loop" for number in at):  # it takes and gives arrays
        at = at | {number for number, step in enumerate(part.steps) if is_of_arrays(step)}
    alone = {id(part.steps[number]) for number in at}
    parts = part.cut(at)
    last = {name: number for number, each in enumerate(parts) for name in each.inputs}
    work: list[tuple[Part, Callable[..., Any], list[str]]] = []
    for number, each in enumerate(parts):
        calls = [step for step in each.steps if step.kind in ("call", "loop")]
        captures = len(calls) >= AT_LEAST and not any(id(step) in alone for step in calls)
        function = Captured(each, device, make) if captures else make(each)
        dead = [n for n in each.inputs if last[n] == number and n not in part.outputs]
        work.append((each, function, dead))

    def run(*given: Any) -> Any:
        values = dict(zip(part.inputs, given, strict=True))
        for each, function, dead in work:
            made = function(*[values[name] for name in each.inputs])
            values.update(
                zip(each.outputs, [made] if len(each.outputs) == 1 else made or (), strict=True)
            )
            for name in dead:  # it frees its memory
                del values[name]
        outputs = [values[name] for name in part.outputs]
        return outputs[0] if len(outputs) == 1 else outputs

    return run
