"""CUDA graph of some code, with its inputs and outputs on other devices.

A graph computes at the same places of memory each time. Values of variables stay where they are,
and are changed there; all other inputs of the steps are copied to the graph's places, and results
are copied from its places, straight from and to the host's memory if nobody else on the device uses
them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from stillflow.ops.variables.buffer import Buffer
from stillflow.runtime.plan.regions import Code, Part

# The largest values for which the host keeps memory that a device writes to, in bytes.
_PINNED = 16 << 20


@dataclass(frozen=True)
class Ends:
    """Positions of several steps' inputs from the host, and of their outputs to the host."""

    sent: frozenset[int] = frozenset()
    brought: frozenset[int] = frozenset()


NO_ENDS = Ends()


class Capturing(threading.local):
    """Mark of a thread that runs code captured as a whole, or to be captured."""

    another = 0

    def __enter__(self) -> None:
        self.another += 1

    def __exit__(self, *_: object) -> None:
        self.another -= 1


capturing = Capturing()


class Graph:
    """A captured run of some code.

    Args:
      code: the code to capture.
      part: the steps that it is of.
      values: what it takes this time.
      moving: positions of tensors of variables that are copied nevertheless.
      ends: the transfers before and afterwards.
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
        """Return the results of the code for these values."""
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
    """Return True if a value is a host rate that a graph reads from the device."""
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
    with capturing, torch.cuda.device(device):
        with torch.cuda.graph(graph, pool=_pool(device), capture_error_mode="thread_local"):
            outputs = code(*given)
    return graph, [outputs] if isinstance(outputs, torch.Tensor) else list(outputs or ())


def _pool(device: Any) -> tuple[int, ...]:
    """Return the memory for all graphs of a device; none of them needs its old content at a run."""
    return _first_graph(device)[0]


@cache
def _first_graph(device: Any) -> tuple[Any, Any]:
    """Return a pool, and a graph without which it would be gone with the last of the others."""
    pool, graph = torch.cuda.graph_pool_handle(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
        torch.zeros(1, device=device)
    return pool, graph
