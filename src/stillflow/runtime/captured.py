"""Steps on CUDA captured as a graph: one launch in place of one for every kernel.

A graph computes at the same places of memory each time. What variables hold stays where it is, and
is changed there; everything else that the steps take is copied to where the graph expects it, and
what they give is copied from where it left it, straight from and to the host's memory if nobody
else on the device takes it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import torch

from stillflow.ops.variables.buffer import Buffer
from stillflow.runtime.host_first import is_of_arrays
from stillflow.runtime.host_waits import Watch
from stillflow.runtime.parts import Code, Part, lines_of

# Fewer kernels are launched as quickly one by one.
AT_LEAST = 6
# Libraries choose their kernels and make their workspaces in the first run of a size.
_RUNS_BEFORE = 1
# So many sizes have graphs of their own, and so often graphs are made anew for other variables.
_SIZES, _GRAPHS = 16, 24
# Sizes that are remembered as having run without one.
_SEEN = 256
# Kernels of a graph: loops of many turns are not unrolled.
_LARGEST = 50_000
# Memory that has to be free for a graph, as a multiple of what its first run took.
_MARGIN = 2
# The largest values for which the host keeps memory that a device writes to, in bytes.
_PINNED = 16 << 20


def is_wanted() -> bool:
    """Whether steps are captured: unless the environment has STILLFLOW_CUDA_GRAPHS=0."""
    return os.environ.get("STILLFLOW_CUDA_GRAPHS", "1") != "0"


@dataclass(frozen=True)
class Ends:
    """Positions of what several steps take from the host, and of what they give to the host."""

    sent: frozenset[int] = frozenset()
    brought: frozenset[int] = frozenset()


class Captured:
    """The function of several steps on one device, replayed as a CUDA graph once it can be.

    Args:
      part: the steps.
      device: where all of it is computed.
      make: what makes the code of some steps.
      ends: what is moved before and afterwards.
    """

    def __init__(
        self, part: Part, device: Any, make: type[Code] = Code, ends: Ends = Ends()
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
        """The same for some values that come from the host, and some that go there."""
        return Captured(self._part, self._device, self._make, ends)

    @cached_property
    def _code(self) -> Code:
        return self._make(self._part)

    def __call__(self, *values: Any) -> Any:
        if _within.another:  # a loop's turn, and the whole loop is captured
            return self._moving_ends(self._code, *values)
        return self._run(*values)

    def _moving_ends(self, run: Callable[..., Any], *values: Any) -> Any:
        """What a function of values of the device gives, each moved by itself."""
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
        """The first run, which shows what cannot be captured."""
        watch = Watch(self._code.filename, self._device)

        def run(*given: Any) -> Any:
            given = tuple([each.to(self._device) if is_sent(each) else each for each in given])
            with _within, watch:
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
        """From now on runs without a graph of the whole."""
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
        with _within:  # the next run is captured as a whole
            return self._moving_ends(self._code, *values)

    def _graph(self, sizes: Any, values: Sequence[Any]) -> Graph | None:
        """The graph for such values; None if there is none yet, or never will be."""
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
        """Whether the device has memory for a graph, which keeps what it takes to itself."""
        free, _ = torch.cuda.mem_get_info(self._device)
        held = torch.cuda.memory_reserved(self._device) - torch.cuda.memory_allocated(self._device)
        return self._memory * _MARGIN <= free + held


class _Within(threading.local):
    """Notes that a thread runs what is captured as a whole, or will be."""

    another = 0

    def __enter__(self) -> None:
        self.another += 1

    def __exit__(self, *_: object) -> None:
        self.another -= 1


_within = _Within()


class Graph:
    """A captured run of some code.

    Args:
      code: what to capture.
      part: the steps that it is of.
      values: what it takes this time.
      moving: positions of tensors of variables that are copied nevertheless.
      ends: what is moved before and afterwards.
      device: where it runs.

    Raises:
      Exception: if it cannot be captured.
    """

    def __init__(
        self, code: Code, part: Part, values: Sequence[Any], moving: set[int],
        ends: Ends, device: Any,
    ) -> None:  # fmt: skip
        self._kept: list[tuple[int, Any]] = []  # tensors that have to be the same ones
        self._variables: list[tuple[Buffer, Any]] = []
        self._equal: list[tuple[int, Any]] = []
        self._copied: list[int] = []
        self._sent: list[int] = []
        given = list(values)
        for place, (name, value) in enumerate(zip(part.inputs, values, strict=True)):
            if isinstance(value, Buffer):
                self._variables.append((value, _defined(value)))
            elif isinstance(value, torch.Tensor) and value.is_cuda:
                if name in part.held and place not in moving:
                    self._kept.append((place, value))
                else:
                    self._copied.append(place)
                    given[place] = value.clone()
            elif place in ends.sent or is_sent(value):
                self._sent.append(place)
                given[place] = value.to(device)
            else:
                self._equal.append((place, value))
        self._into_copied = _by_type([(place, given[place]) for place in self._copied])
        self._into_sent = [given[place] for place in self._sent]
        variables = [*self._variables, *((r, _defined(r)) for r in part.constant_buffers())]
        self._variables = variables
        self._graph, self._outputs = _captured(code, given, device)
        self._replay = code.replayed(self._graph)
        self._device = device
        changed = [variable for variable, value in variables if variable.value is not value]
        for variable, value in variables:
            variable.value = value
        if changed or not all(isinstance(v, torch.Tensor) and v.is_cuda for v in self._outputs):
            raise ValueError("a graph can only give tensors, and change variables where they are")
        outputs = list(enumerate(self._outputs))
        self._found = _by_type([each for each in outputs if each[0] not in ends.brought])
        self._brought = [
            (place, found, _pinned(found)) for place, found in outputs if place in ends.brought
        ]  # fmt: skip

    def moved(self, values: Sequence[Any]) -> set[int] | None:
        """None if the graph goes with these values, else positions of tensors that moved."""
        for variable, value in self._variables:
            if variable.value is not value:
                return set()
        for place, value in self._equal:
            if not _same(values[place], value):
                return set()
        moved = {place for place, value in self._kept if values[place] is not value}
        return moved or None

    def run(self, values: Sequence[Any]) -> Any:
        """What the code gives for these values."""
        for places, there in self._into_copied:
            torch._foreach_copy_(there, [values[place] for place in places])
        for there, place in zip(self._into_sent, self._sent, strict=True):
            there.copy_(values[place], non_blocking=True)
        self._replay()
        # The next run writes over them.
        outputs: list[Any] = list(self._outputs)
        for places, found in self._found:
            copies = [torch.empty_like(output) for output in found]
            torch._foreach_copy_(copies, found)
            for place, copy in zip(places, copies, strict=True):
                outputs[place] = copy
        if self._brought:
            self._bring(outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def _bring(self, outputs: list[Any]) -> None:
        """Brings values to the host, for all of which it waits once."""
        for place, found, pinned in self._brought:
            if pinned is None:
                outputs[place] = found.to("cpu")
            else:
                pinned.copy_(found, non_blocking=True)
        torch.cuda.current_stream(self._device).synchronize()
        for place, _, pinned in self._brought:
            if pinned is not None:
                outputs[place] = pinned.clone()


def _pinned(value: Any) -> Any:
    """Memory of the host that a device writes to; None where it would be too much."""
    if value.nbytes > _PINNED:
        return None
    return torch.empty(value.shape, dtype=value.dtype, device="cpu", pin_memory=True)


def _by_type(tensors: Sequence[tuple[int, Any]]) -> list[tuple[list[int], list[Any]]]:
    """Numbered tensors in groups that torch copies by one kernel: of one type, with no gaps."""
    groups: dict[Any, tuple[list[int], list[Any]]] = {}
    for place, tensor in tensors:
        if not isinstance(tensor, torch.Tensor):
            continue
        pairs = zip(tensor.shape, tensor.stride(), strict=True)
        reach = sum((size - 1) * stride for size, stride in pairs) + 1
        places, group = groups.setdefault((tensor.dtype, reach == tensor.numel()), ([], []))
        places.append(place)
        group.append(tensor)
    return list(groups.values())


def is_sent(value: Any) -> bool:
    """Whether a value is a rate of the host that a graph takes from the device."""
    return isinstance(value, torch.Tensor) and not value.is_cuda and value.is_floating_point()


def _defined(variable: Buffer) -> Any:
    if not isinstance(variable.value, torch.Tensor) or not variable.value.is_cuda:
        raise ValueError(f"{variable.name} has no value on a device")
    return variable.value


def _same(value: Any, other: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return isinstance(other, torch.Tensor) and torch.equal(value, other)
    return value is other or (isinstance(value, (bool, int, float)) and value == other)


def _captured(code: Code, given: list[Any], device: Any) -> tuple[Any, list[Any]]:
    graph = torch.cuda.CUDAGraph()
    with _within, torch.cuda.device(device):
        with torch.cuda.graph(graph, pool=_pool(device), capture_error_mode="thread_local"):
            outputs = code(*given)
    return graph, [outputs] if isinstance(outputs, torch.Tensor) else list(outputs or ())


@cache
def _lock(device: Any) -> threading.RLock:
    return threading.RLock()


def _pool(device: Any) -> Any:
    """Memory for all graphs of a device; none of them needs what it left there when it ran."""
    return _first_graph(device)[0]


@cache
def _first_graph(device: Any) -> tuple[Any, Any]:
    """A pool, and a graph without which it would be gone with the last of the others."""
    pool, graph = torch.cuda.graph_pool_handle(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
        torch.zeros(1, device=device)
    return pool, graph


def in_parts(part: Part, at: set[int], device: Any, make: type[Code] = Code) -> Callable[..., Any]:
    """A function that runs steps one after the other, and captures what it can of them.

    Args:
      part: the steps.
      at: positions of those that cannot be captured.
      device: where the others are.
      make: what makes the code of some steps.
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
