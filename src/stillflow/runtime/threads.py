"""How many threads a plan's kernels may use.

Two threads that wait for each other cost more than they bring where a step takes a fraction of a
millisecond, and as long as a scheduler's time slice where the machine is busy with something else.
So plans with little to do run in the caller's thread alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from math import inf, prod
from pathlib import Path
from typing import Any

import torch

from stillflow import native
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.facts import Facts

native.share_threads(Path(torch.__file__).parent)

# Up to this many nanoseconds of one thread, a second one is not worth waiting for.
_LITTLE = 300_000
_NANOSECONDS_PER_FLOP = 0.05
# From so many elements on, element-wise kernels share their work.
_SHARED = 32_768

_PRODUCTS = frozenset(("MatMul", "BatchMatMul", "BatchMatMulV2"))
# Kernels that share work of any size, and whose cost is not that of their elements.
_HEAVY = (
    "Conv", "Depthwise", "MaxPool", "AvgPool", "Fused", "Quantized", "Svd", "Qr", "SelfAdjoint",
    "Matrix", "Cholesky", "FFT", "IFFT", "RFFT", "IRFFT", "LSTM", "GRU", "Block", "Cudnn",
)  # fmt: skip

if hasattr(os, "register_at_fork"):
    # A process that was forked has none of the threads that kernels share their work with, and
    # would wait for them for ever.
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


def alone(
    function: Callable[..., list[Any]], ops: Iterable[Operation | None], facts: Facts
) -> Callable[..., list[Any]]:
    """The plan's function, kept to one thread if it could use several and has little to do."""
    done = {op for op in ops if op is not None}
    return _alone(function) if _has_little_to_do(done, facts) else function


def _has_little_to_do(ops: Iterable[Operation], facts: Facts) -> bool:
    spent, shares = 0.0, False
    for op in ops:
        if op.type.startswith(_HEAVY):
            return False
        count = max((_elements(output, facts) for output in op._outputs), default=0.0)
        spent += count
        shares = shares or count >= _SHARED
        if op.type in _PRODUCTS:
            spent += 2.0 * count * _inner(op, facts) * _NANOSECONDS_PER_FLOP
            shares = True
        if spent > _LITTLE:
            return False
    return shares


def _elements(tensor: Tensor, facts: Facts) -> float:
    """How many numbers are computed; infinitely many where it is not known."""
    if tensor in facts.values:
        return 0.0
    sizes = facts.dims(tensor)
    if sizes is None:
        return inf
    return float(prod(inf if size is None else size for size in sizes))


def _inner(op: Operation, facts: Facts) -> float:
    """The length of the sums of a matrix product."""
    sizes = facts.dims(op._inputs[0])
    transposed = op.attrs.get("transpose_a") or op.attrs.get("adj_x")
    size = sizes[-2 if transposed else -1] if sizes else None
    return inf if size is None else float(size)


def with_room(function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """The plan's function, with one thread less, so that a processor is free for steps beside it.

    A thread of a team that has to wait for its processor holds up the others at every kernel.
    """
    return _limited(function, lambda count: max(1, count - 1))


def _alone(function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    return _limited(function, lambda count: 1)


def _limited(
    function: Callable[..., list[Any]], limit: Callable[[int], int]
) -> Callable[..., list[Any]]:
    get, put = torch.get_num_threads, torch.set_num_threads

    def run(*arrays: Any) -> list[Any]:
        count = get()
        wanted = limit(count)
        if wanted == count:  # threads that begin later take over what was put last
            return function(*arrays)
        put(wanted)
        try:
            return function(*arrays)
        finally:
            put(count)

    return run
