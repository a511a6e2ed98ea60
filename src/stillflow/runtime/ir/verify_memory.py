"""Check how a plan uses memory: aliases, devices and types of values, and where names are freed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from stillflow.graph.dtypes import DType, resource, variant
from stillflow.graph.lazy import torch
from stillflow.graph.operation import Tensor
from stillflow.runtime.ir.aliasing import kept_arguments
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Memory, Name, Step, Value, all_taken, is_plain, may_meet
from stillflow.runtime.ir.verify import fail

_PLACED = "placing in memory"
_HANDLES = (resource, variant)  # of things that are where they are


def verify_edges(graph: StepGraph, after: str) -> None:
    """Check that plain calls take values of their operation's types, on its device.

    Args:
      graph: the steps of a plan.
      after: the pass that ran last, for the message.

    Raises:
      BrokenPlan: if an argument has another type, or is on a GPU that the operation is not on.
    """
    types = _types(graph.values)
    for step in graph:
        if not is_plain(step) or step.op is None or len(step.arguments) != len(step.op._inputs):
            continue
        wanted = {tensor.dtype.base_dtype for tensor in step.op._inputs}  # kernels choose the order
        for argument in step.arguments:
            if not isinstance(argument, Name):
                continue
            found = types.get(str(argument))
            if found is not None and not _is_taken(step, found, wanted):
                names = ", ".join(sorted(each.name for each in wanted))
                fail(after, step, f"takes {argument} of {found.name}, not of {names}")
            place, target = graph.place_of(argument), graph.device_of(step.op)
            if place is None or place in (target, _host(place)) or found in _HANDLES:
                continue
            if not (step.op.card.metadata or step.op.card.anywhere or step.op.card.reads_on_host):
                fail(after, step, f"takes {argument} on {place}, not on {target}")


def _is_taken(step: Step, found: DType, wanted: Collection[DType]) -> bool:
    """Return True for a type that is wanted; for any where a kernel moves or counts elements."""
    assert step.op is not None
    free = step.op.card.view or (found.is_integer and any(each.is_integer for each in wanted))
    return found in wanted or free


def _host(device: Any) -> torch.device:
    return type(device)("cpu")


def _types(values: Mapping[Tensor, Value]) -> dict[str, Any]:
    """Return the types of values by name; None for a name with several."""
    found: dict[str, Any] = {}
    for tensor, value in values.items():
        dtype = tensor.dtype.base_dtype
        found[value.name] = dtype if found.get(value.name, dtype) == dtype else None
    return found


def verify_memory(
    steps: Sequence[Step], roots: Mapping[str, frozenset[int]], memory: Memory,
    results: Collection[str],
) -> None:  # fmt: skip
    """Check that nothing is written to memory which another value still shows.

    Args:
      steps: in the order in which they run, placed in memory.
      roots: the memory of every value, by its name.
      memory: of the plan.
      results: names of the values that the plan returns.

    Raises:
      BrokenPlan: if a value is taken after its memory was written over, or after an operation kept
        it; or if a value that was read through a resource is taken after a write to the variable.
    """
    by_root: dict[int, list[str]] = {}
    stale: dict[str, Step] = {}
    for step in steps:
        for root in _changed_roots(step, memory):
            stale.update(dict.fromkeys(by_root.get(root, ()), step))
        for name in all_taken(step):
            if name in stale:
                _stale(step, name, stale[name])
        gone = [str(step.arguments[at]) for at in kept_arguments(step)]
        gone += [str(step.arguments[0])] if step.overwrites else []
        for name in gone:
            for root in roots.get(name, ()):
                stale.update(dict.fromkeys(by_root.get(root, ()), step))
            stale[name] = step
        for name in step.outputs:
            stale.pop(name, None)
            for root in roots.get(name, ()):
                by_root.setdefault(root, []).append(name)
    for name in results:
        if name in stale:
            _stale(None, name, stale[name])


def _changed_roots(step: Step, memory: Memory) -> Iterator[int]:
    """Yield the memory of values that must not show what a step writes to its variables."""
    for root in memory.snapshots if step.writes else ():
        written = may_meet(step.writes, (memory.buffers[root],))
        if written and not memory.readers[root].copies:
            yield root


def _stale(step: Step | None, name: str, writer: Step) -> None:
    by = ", ".join(writer.outputs) or "a write"
    fail(_PLACED, step, f"takes {name}, whose memory the {writer.kind} of {by} changed")


class Lifetimes:
    """Names that an emitter has freed, while it writes a function."""

    def __init__(self) -> None:
        self._freed: set[str] = set()

    def step(self, step: Step) -> None:
        """Check that a step takes nothing that was freed.

        Raises:
          BrokenPlan: if it does.
        """
        for name in all_taken(step) & self._freed:
            fail("emitting", step, f"takes {name}, which was freed")
        self._freed.difference_update(step.outputs)

    def free(self, step: Step, names: Collection[str]) -> None:
        """Check that names are not freed a second time.

        Raises:
          BrokenPlan: if one is.
        """
        for name in self._freed.intersection(names):
            fail("emitting", step, f"frees {name}, which was freed")
        self._freed.update(names)

    def results(self, names: Collection[str]) -> None:
        """Check that no result was freed.

        Raises:
          BrokenPlan: if one was.
        """
        for name in self._freed.intersection(names):
            fail("emitting", None, f"takes {name}, which was freed")
