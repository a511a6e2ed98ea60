"""Number of threads for a plan's kernels.

Two threads that wait for each other cost more than they bring where a step takes a fraction of a
millisecond, and as long as a scheduler's time slice where the machine is busy with something else.
So plans with little to do run in the caller's thread alone, and plans of small kernels on as many
threads as there are processors left by other programs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

import torch

from stillflow import native
from stillflow.graph.costs import Guess, cost_of
from stillflow.graph.operation import Operation
from stillflow.runtime.host.processors import Processors
from stillflow.runtime.ir.facts import Facts

native.share_threads(Path(torch.__file__).parent)

# Up to this many nanoseconds of one thread, a second one is not worth waiting for.
_LITTLE = 300_000
# Up to so many for a single kernel, threads had better not wait for each other on a busy machine.
_SMALL = 20_000_000
if hasattr(os, "register_at_fork"):
    # A process that was forked has none of the threads that kernels share their work with, and
    # would wait for them for ever.
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


def with_at_most(function: Callable[..., Any], most: int) -> Callable[..., Any]:
    """Return the function of a plan on that many threads at most; 0: no limit."""
    return _limited(function, lambda count: min(count, most)) if most > 0 else function


def with_few_threads(
    function: Callable[..., Any], ops: Iterable[Operation | None], facts: Facts
) -> Callable[..., Any]:
    """Return the function of a plan, or of one operation, on as many threads as do it good.

    One that has little to do keeps to the caller's. One whose kernels are small leaves processors
    to other programs, if these run; large kernels gain by a second thread even then.
    """
    done = {op for op in ops if op is not None}
    kinds = {op.card.cost.kind for op in done}
    costs = [cost_of(op, facts) for op in done]
    shared = [cost for cost, is_shared in costs if is_shared]
    if not shared or "unknown" in kinds:
        return function
    if kinds.isdisjoint(("window", "passes")) and sum(cost for cost, _ in costs) <= _LITTLE:
        return _limited(function, lambda count: 1)
    if inf in shared:
        guess = Guess(facts)
        guesses = [cost_of(op, guess) for op in done]
        shared = [cost for cost, is_shared in guesses if is_shared]
    largest = max((cost for cost in shared if cost < inf), default=inf)
    # How sums of many numbers are rounded depends on the number of threads.
    keeps_all = os.environ.get("TF_DETERMINISTIC_OPS") in ("1", "true")
    if largest > _SMALL or keeps_all:
        return function
    return _limited(function, lambda count: min(count, _processors(count).count()))


@cache
def _processors(most: int) -> Processors:
    return Processors(most)


def with_room(function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Return the plan's function with one thread less: a processor for asynchronous steps.

    A thread of a team that has to wait for its processor holds up the others at every kernel.
    """
    return _limited(function, lambda count: max(1, count - 1))


def _limited(function: Callable[..., Any], limit: Callable[[int], int]) -> Callable[..., Any]:
    get, put = torch.get_num_threads, torch.set_num_threads

    def run(*arrays: Any) -> Any:
        count = get()
        wanted = limit(count)
        if wanted == count:  # threads that begin later apply the last setting
            return function(*arrays)
        put(wanted)
        try:
            return function(*arrays)
        finally:
            put(count)

    return run
