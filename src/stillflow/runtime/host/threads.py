"""Number of threads for a plan's kernels.

Two threads that wait for each other cost more than they bring where a step takes a fraction of a
millisecond, and as long as a scheduler's time slice where the machine is busy with something else.
So plans with little to do run in the caller's thread alone, and plans of small kernels on as many
threads as there are processors left by other programs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from math import inf, prod
from pathlib import Path
from typing import Any

import torch

from stillflow import native
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.host.processors import Processors
from stillflow.runtime.ir.facts import Facts

native.share_threads(Path(torch.__file__).parent)

# Up to this many nanoseconds of one thread, a second one is not worth waiting for.
_LITTLE = 300_000
_NANOSECONDS_PER_FLOP = 0.05
# Up to so many for a single kernel, threads had better not wait for each other on a busy machine.
_SMALL = 20_000_000
# Assumed value of an unknown size, such as the batch of a dataset.
_USUAL = 64
# From so many elements on, element-wise kernels share their work; those of Intel's library for
# vectors, and kernels that sort, do so much sooner.
_SHARED = 32_768
_SHARED_SOON = 32
# Nanoseconds for each of some matrices that are decomposed, and for the cube of its size.
_PER_MATRIX, _PER_CUBE = 5_000.0, 1.0

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
    costs = [_cost(op, facts) for op in done]
    shared = [cost for cost, is_shared in costs if is_shared]
    if not shared or "unknown" in kinds:
        return function
    if kinds.isdisjoint(("window", "passes")) and sum(cost for cost, _ in costs) <= _LITTLE:
        return _limited(function, lambda count: 1)
    if inf in shared:
        guesses = [_cost(op, _Guess(facts)) for op in done]
        shared = [cost for cost, is_shared in guesses if is_shared]
    largest = max((cost for cost in shared if cost < inf), default=inf)
    # How sums of many numbers are rounded depends on the number of threads.
    keeps_all = os.environ.get("TF_DETERMINISTIC_OPS") in ("1", "true")
    return function if largest > _SMALL or keeps_all else _limited(function, _left_by_others)


class _Guess:
    """Facts with a usual size in the place of those that are not known."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self.values = facts.values

    def dims(self, tensor: Tensor) -> tuple[int, ...] | None:
        sizes = self._facts.dims(tensor)
        return None if sizes is None else tuple(_USUAL if size is None else size for size in sizes)


def _cost(op: Operation, facts: Facts | _Guess) -> tuple[float, bool]:
    """Return an operation's cost in nanoseconds of one thread, and True if it may be shared."""
    cost, count = op.card.cost, _count(op, facts)
    if cost.kind == "product":
        return count + 2.0 * count * _inner(op, facts) * _NANOSECONDS_PER_FLOP, True
    if cost.kind == "matrices":
        return _matrices(op, facts), True
    if cost.kind == "window":
        tensors = [*op._inputs, *op._outputs]
        answers, filter = (tensors[place] for place in cost.places)
        window = _product((facts.dims(filter) or (None,))[:-1] or (None,))
        return 2.0 * _elements(answers, facts) * window * _NANOSECONDS_PER_FLOP, True
    if cost.kind == "cells":
        return _cells(op, facts), True
    least = _SHARED_SOON if cost.soon else _SHARED
    return count * cost.nanoseconds, count >= least or cost.kind == "passes"


def _cells(op: Operation, facts: Facts | _Guess) -> float:
    """Return the cost of the products of a layer's inputs with the cells' weights."""
    first, *places = op.card.cost.places
    rows = _product((facts.dims(op._inputs[first]) or (None,))[:-1] or (None,))
    weights = sum(_product(facts.dims(op._inputs[place]) or (None,)) for place in places)
    products = 2 if op.type.endswith("Grad") else 1  # by the weights, and for theirs
    return 2.0 * products * rows * weights * _NANOSECONDS_PER_FLOP


def _count(op: Operation, facts: Facts | _Guess) -> float:
    """Return the number of elements of an operation's work, where it is not known before."""
    worked_on, counts = op._outputs, op.card.cost.counts
    if counts == "inputs" or any(tensor.dtype._is_ref_dtype for tensor in worked_on):
        # A variable, of which it may use a part.
        worked_on = [tensor for tensor in op._inputs if not tensor.dtype._is_ref_dtype]
    count = max((_elements(tensor, facts) for tensor in worked_on), default=0.0)
    if count and counts == "first input":
        return _product(facts.dims(op._inputs[0]) or (None,))
    return count


def _matrices(op: Operation, facts: Facts | _Guess) -> float:
    """Return the cost of decomposing the matrices of an operation's first input."""
    sizes = facts.dims(op._inputs[0])
    if sizes is None or None in sizes or len(sizes) < 2:
        return inf
    cube = float(max(size or 0 for size in sizes[-2:])) ** 3
    return _product(sizes[:-2]) * (_PER_MATRIX + _PER_CUBE * cube)


def _elements(tensor: Tensor, facts: Facts | _Guess) -> float:
    """Return the number of computed elements; infinity if unknown."""
    if tensor in facts.values:
        return 0.0
    sizes = facts.dims(tensor)
    if sizes is None:
        return inf
    return _product(sizes)


def _product(sizes: Sequence[int | None]) -> float:
    return prod(inf if size is None else float(size) for size in sizes)


def _inner(op: Operation, facts: Facts | _Guess) -> float:
    """Return the length of the sums of a matrix product."""
    sizes = facts.dims(op._inputs[0])
    transposed = op.attrs.get("transpose_a") or op.attrs.get("adj_x")
    size = sizes[-2 if transposed else -1] if sizes else None
    return inf if size is None else float(size)


@cache
def _processors(most: int) -> Processors:
    return Processors(most)


def _left_by_others(count: int) -> int:
    return min(count, _processors(count).count())


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
