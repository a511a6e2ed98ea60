"""Normal draws within bounds that each batch may choose: ParameterizedTruncatedNormal."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from stillflow.errors import internal
from stillflow.graph import dims, dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.random_seed import get_seed
from stillflow.ops.random.arguments import (
    read_sizes,
    set_static_shape,
    shape_argument,
    shape_sizes,
    shape_tensor,
)
from stillflow.ops.random.distributions import NORMAL, UNIFORM, Distribution
from stillflow.ops.random.philox import Philox
from stillflow.ops.random.sharding import host_threads, shards
from stillflow.ops.random.streams import op_stream, to_tensor
from stillflow.ops.samples import Bad, Sample, Samples

_MAX_ITERATIONS = 1000
# Where all batches share their parameters, batches of this size are made.
_BATCH_SIZE = 100
# TF's estimates of the cost of a batch and a draw, in cycles.
_BATCH_COST, _DRAW_COST = 59, 134
# Normals are drawn and rejected where a bound is at least this many deviations away.
_FAR_BOUND = 1.3


class Bounds(NamedTuple):
    """A normal distribution and the interval to which it is cut, in the type of the draws."""

    mean: Any
    deviation: Any
    low: Any
    high: Any


class _Proposal:
    """Proposal distribution for one set of bounds, with its test of acceptance.

    Robert, "Simulation of truncated normal variables" (1995): candidates are normal, uniform or
    exponential, whichever is accepted most often. A *unit* is one round's draws.
    """

    def __init__(self, bounds: Bounds, dtype: str) -> None:
        mean, deviation, low, high = bounds
        if not (deviation > 0 and low < high and (np.isfinite(low) or np.isfinite(high))):
            raise ValueError("Invalid parameters")
        if (np.isinf(low) and low < 0) or high < mean:
            low, high, deviation = high, low, -deviation
        kind = type(mean)
        self.dtype, self.kind = dtype, kind
        self.mean, self.deviation = mean, deviation
        self.low, self.high = (low - mean) / deviation, (high - mean) / deviation
        root = np.sqrt(self.low * self.low + kind(4))
        cutoff = (
            kind(2) * _exp(kind(0.5) + (self.low * (self.low - root)) / kind(4)) / (self.low + root)
        )
        self.width = self.high - self.low
        far = kind(_FAR_BOUND)
        if (self.low < -far and self.high >= 0) or (self.high > far and self.low <= 0):
            self.candidates, self.blocks, self.name = self.normal, 1, "randn"
        elif self.width < cutoff:
            self.candidates, self.blocks, self.name = self.uniform, 2, "uniform"
        else:
            self.candidates, self.blocks, self.name = self.exponential, 1, "exponential"
            self.rate = (self.low + root) / kind(2)

    def units(self, stream: Philox, count: int, what: Distribution) -> np.ndarray:
        """Return the draws of `count` units, one row each."""
        per_block = 2 if self.kind is np.float64 else 4
        size = count * self.blocks * per_block
        return what.on_host(stream, size, self.dtype, 1).astype(self.kind).reshape(count, -1)

    def normal(self, stream: Philox, count: int) -> tuple[np.ndarray, np.ndarray]:
        z = self.units(stream, count, NORMAL)
        return z, (z >= self.low) & (z <= self.high)

    def uniform(self, stream: Philox, count: int) -> tuple[np.ndarray, np.ndarray]:
        first, second = np.split(self.units(stream, count, UNIFORM), 2, axis=1)
        z = first * self.width + self.low
        offset = self.kind(0) if self.low < 0 else self.low * self.low
        return z, second <= _exp((offset - z * z) / self.kind(2))

    def exponential(self, stream: Philox, count: int) -> tuple[np.ndarray, np.ndarray]:
        units = self.units(stream, count, UNIFORM)
        first, second = units[:, 0::2], units[:, 1::2]
        z = -_log(first) / self.rate + self.low
        x = self.rate - z if self.low < self.rate else self.low - self.rate
        return z, (second <= _exp(-x * x / self.kind(2))) & (z < self.high)

    def finished(self, z: np.ndarray) -> np.ndarray:
        result: np.ndarray = z * self.deviation + self.mean
        return result


def _exp(x: Any) -> Any:
    """exp, rounded from double to single precision, and from there to half."""
    return np.exp(np.float64(x)).astype(np.promote_types(x.dtype, np.float32)).astype(x.dtype)


def _log(x: np.ndarray) -> np.ndarray:
    exact = np.log(x.astype(np.float64))
    return exact.astype(np.promote_types(x.dtype, np.float32)).astype(x.dtype)


def bounded_normal(stream: Philox, proposal: _Proposal, sizes: list[int]) -> list[np.ndarray]:
    """Draws batches of the given sizes one after another; `stream` moves behind the last.

    A batch starts with the unit after the one that completed the batch before it. Units are drawn
    ahead, many at a time, and cut into batches afterwards.
    """
    batches: list[np.ndarray] = []
    ahead = 64
    while len(batches) < len(sizes):
        ahead = max(ahead, min(sum(sizes[len(batches) :]) // 2, 1 << 14))
        z, accepted = proposal.candidates(stream, ahead)
        values = proposal.finished(z[accepted])
        totals = np.cumsum(accepted.sum(axis=1))
        used = 0
        while len(batches) < len(sizes) and used < ahead:
            begin = int(totals[used - 1]) if used else 0
            end = begin + sizes[len(batches)]
            last = int(np.searchsorted(totals, end))
            if last == ahead:
                break
            batches.append(values[begin:end])
            used = last + 1
        if not used:
            if _longest_gap(accepted) >= _MAX_ITERATIONS:
                raise internal(_FAILURES[proposal.name])
            ahead *= 4
        stream.skip(used * proposal.blocks)
    return batches


def _longest_gap(accepted: np.ndarray) -> int:
    hits = np.concatenate([[-1], np.flatnonzero(accepted), [accepted.size]])
    return int(np.diff(hits).max()) - 1


_FAILURES = {
    "randn": "TruncatedNormal randn rejection sampler failed to accept a sample.",
    "uniform": "TruncatedNormal uniform rejection sampler failed to  accept a sample.",
    "exponential": "TruncatedNormal exponential distribution rejection sampler failed to accept"
    " a sample.",
}


parameterized_truncated_normal_op = op(
    """
    ParameterizedTruncatedNormal(shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype) -> output: dtype
    seed: int = 0
    seed2: int = 0
    dtype: {half, bfloat16, float, double}
    T: {int32, int64}
    flags: stateful
    """,  # noqa: E501 - a signature is one line
    differentiable=False,
    numbers=("shape",),
)
_PARAMETERS = ("means", "stddevs", "minvals", "maxvals")


@parameterized_truncated_normal_op.shape
def parameterized_truncated_normal_shape(node: Node) -> OutputDims:
    for index in range(1, 5):
        dims.with_rank_at_most(node.dims(index), 1)
    return shape_argument(node)


@parameterized_truncated_normal_op.kernel
def parameterized_truncated_normal_kernel(node: Node) -> Kernel:
    stream, known, device = op_stream(node), shape_sizes(node), node.device
    dtype = node.op.attrs["dtype"].torch_name

    def run(shape: Any, *parameters: Any) -> torch.Tensor:
        sizes = known if known is not None else read_sizes(shape)
        if not sizes:
            raise ValueError("Input shape should have at least one element")
        rows, columns, total = sizes[0], prod(sizes[1:]), prod(sizes)
        shared = all(p.numel() == 1 for p in parameters[:2]) and all(
            p.ndim == 0 for p in parameters[2:]
        )
        if shared:
            rows, columns = -(-total // _BATCH_SIZE), _BATCH_SIZE
        else:
            _check_lengths(parameters, rows)
        reserved = _int32(rows * 2 * _MAX_ITERATIONS * (columns + 3))
        start = stream.reserve(int(reserved / 4))
        batches = _Batches(_bounds(parameters, 1 if shared else rows), dtype, columns, total)
        return to_tensor(batches.draw(start, rows), sizes, dtype, device)

    return run


class _Batches:
    """Draws of all batches of an execution, shard by shard."""

    def __init__(self, bounds: list[Bounds], dtype: str, columns: int, total: int) -> None:
        self.bounds, self.dtype, self.columns, self.total = bounds, dtype, columns, total

    def draw(self, stream: Philox, rows: int) -> np.ndarray:
        if not self.total:
            return np.empty(0, np.float32)
        parts: list[np.ndarray] = []
        cost = _BATCH_COST + _DRAW_COST * self.columns
        for start, stop in shards(rows, cost, host_threads()):
            shard = stream.copy()
            shard.skip(start * 2 * _MAX_ITERATIONS * (self.columns + 3) // 4)
            if len(self.bounds) == 1:
                sizes = [self.size(row) for row in range(start, stop)]
                parts += bounded_normal(shard, _Proposal(self.bounds[0], self.dtype), sizes)
                continue
            for row in range(start, stop):
                proposal = _Proposal(self.bounds[row], self.dtype)
                parts += bounded_normal(shard, proposal, [self.columns])
        return np.concatenate(parts)

    def size(self, row: int) -> int:
        """Return the number of draws of the batch; the last one may be shorter."""
        return min(self.columns, self.total - row * self.columns)


def _check_lengths(parameters: Any, rows: int) -> None:
    for name, parameter in zip(_PARAMETERS, parameters, strict=True):
        if parameter.ndim == 1 and parameter.shape[0] not in (1, rows):
            raise ValueError(
                f"Input {name} should have length 1 or shape[0], got shape: [{parameter.shape[0]}]"
            )


def _int32(value: int) -> int:
    """Return the value that 32-bit arithmetic leaves of it."""
    return (value + 2**31) % 2**32 - 2**31


def _bounds(parameters: Any, rows: int) -> list[Bounds]:
    columns = []
    for parameter in parameters:
        flat = parameter.reshape(-1).cpu().numpy()
        columns.append(np.broadcast_to(flat, (rows,)))
    return [Bounds(*row) for row in zip(*columns, strict=True)]


@parameterized_truncated_normal_op.samples
def parameterized_truncated_normal_samples() -> Samples:
    zero, one, two = np.float32(0), np.float32(1), np.float32(2)
    yield Sample([3, 4], zero, one, -two, two, seed=7, seed2=8, fixed=(0,), grad=False)
    means = np.array([0.0, 5.0], np.float32)
    yield Sample([2, 3], means, one, -two, two, seed=7, seed2=8, fixed=(0,), grad=False)
    yield Bad([2, 3], means[None], one, -two, two, match="Shape must be at most rank 1")


def parameterized_truncated_normal(
    shape: Any,
    means: Any = 0.0,
    stddevs: Any = 1.0,
    minvals: Any = -2.0,
    maxvals: Any = 2.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw from normal distributions, each cut to an interval.

    The first size of `shape` is the number of batches. The parameters are scalars, or one number
    per batch, of `dtype` (half, float32 or float64); one end of an interval may be infinite.
    """
    values = [shape, means, stddevs, minvals, maxvals]
    with name_scope(name, "parameterized_truncated_normal", values):
        sizes = shape_tensor(shape)
        parameters = [
            convert_to_tensor(value, dtype=dtype, name=kind)
            for value, kind in zip(values[1:], _PARAMETERS)
        ]
        seed1, seed2 = get_seed(seed)
        drawn: Tensor = parameterized_truncated_normal_op(
            sizes, *parameters, seed=seed1, seed2=seed2
        )
        set_static_shape(drawn, shape)
        return drawn
