"""Binomial draws from a generator variable's stream: StatefulRandomBinomial."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.random.arguments import read_sizes, shape_argument, shape_sizes
from stillflow.ops.random.draws import unit_doubles
from stillflow.ops.random.generator_state import draw_from_variable
from stillflow.ops.random.philox import Philox, fill_blocks
from stillflow.ops.random.sharding import host_threads, shards
from stillflow.ops.random.streams import narrowed

# Where all batches share their parameters, batches of this size are made.
_BATCH_SIZE = 100
# Below this many expected successes, waiting times are added up.
_FEW = 10
# TF's estimates of the cost of a draw and a batch, in cycles.
_DRAW_COST, _BATCH_COST = 607, 59
_LARGEST_RUN = 1 << 14


def _blocks(stream: Philox, count: int) -> np.ndarray:
    words = np.empty((4, count), np.uint32)
    fill_blocks(stream, 0, 1, words)
    return unit_doubles(words)


def binomial(stream: Philox, count: Any, probability: Any, samples: int) -> np.ndarray:
    """Draw `samples` numbers of successes in `count` trials; advance `stream` by the used numbers.

    `count` and `probability` are numpy scalars of one floating-point type, which decides between
    methods. Returns float64 [samples], NaN if the probability is.
    """
    kind = type(probability)
    trials = float(count)
    if trials <= 0 or probability <= 0:
        return np.zeros(samples)
    if probability >= 1:
        return np.full(samples, trials)
    if np.isnan(probability):
        return np.full(samples, np.nan)
    likelier = probability > kind(0.5)
    rarer = kind(1) - probability if likelier else probability
    method = _by_rejection if count * rarer >= kind(_FEW) else _by_waiting
    drawn = method(stream, trials, float(rarer), samples)
    return trials - drawn if likelier else drawn


def _by_waiting(stream: Philox, trials: float, p: float, samples: int) -> np.ndarray:
    """Return the number of geometric waiting times that fit into the trials.

    A draw starts with a block of its own and takes as many as it needs. Where it would end is
    found for every block at once, then the ends are followed from draw to draw.
    """
    result = np.empty(samples)
    done = 0
    ahead = 64
    while done < samples:
        ahead = min(max(ahead, (samples - done) * (int(trials * p) // 2 + 2)), _LARGEST_RUN)
        units = _blocks(stream, ahead)[::-1].T.reshape(-1)
        with np.errstate(divide="ignore"):
            waits = np.minimum(np.ceil(np.log(units) / np.log1p(-p)), trials + 1)
        passed = np.cumsum(waits)
        before = np.concatenate([[0.0], passed[1:-1:2]])
        ends = np.searchsorted(passed, before + trials, side="right").tolist()
        used = 0
        while done < samples and used < ahead and ends[used] < 2 * ahead:
            result[done] = ends[used] - 2 * used
            done += 1
            used = ends[used] // 2 + 1
        stream.skip(used)
        if not used:
            ahead *= 4
            if ahead > _LARGEST_RUN:
                raise ValueError("the numbers of trials and of successes are too large to draw")
    return result


# log k! - Stirling's approximation of it, for k = 0 to 9.
_TAILS = np.array(
    [
        0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
        0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
        0.00925546218271273, 0.00833056343336287,
    ]
)  # fmt: skip


def _stirling_tail(k: Any) -> Array:
    k = np.asarray(k, np.float64)
    square = (k + 1) * (k + 1)
    series = (1.0 / 12 - (1.0 / 360 + 1.0 / 1260 / square) / square) / (k + 1)
    return np.where(k <= 9, _TAILS[np.clip(k, 0, 9).astype(np.int64)], series)


def _by_rejection(stream: Philox, trials: float, p: float, samples: int) -> np.ndarray:
    """Hörmann, "The generation of binomial random variates" (1993). A candidate takes a block."""
    accepts = _acceptance(trials, p)
    parts: list[np.ndarray] = []
    missing = samples
    while missing:
        ahead = min(max(64, missing + missing // 3), _LARGEST_RUN)
        v, u = _blocks(stream, ahead)
        k, accepted = accepts(u - 0.5, v)
        hits = np.flatnonzero(accepted)[:missing]
        parts.append(k[hits])
        missing -= len(hits)
        stream.skip(ahead if missing else int(hits[-1]) + 1)
    return np.concatenate(parts) if parts else np.empty(0)


def _acceptance(trials: float, p: float) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Return the function that gives candidates and which of them are accepted."""
    deviation = np.sqrt(trials * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = trials * p + 0.5
    odds = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = np.floor((trials + 1) * p)

    def accepts(u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        shifted = 0.5 - np.abs(u)
        with np.errstate(divide="ignore", invalid="ignore"):
            k = np.floor((2 * a / shifted + b) * u + c)
        accepted = (shifted >= 0.07) & (v <= 0.92 - 4.2 / b)
        unsure = np.flatnonzero(~accepted & (k >= 0) & (k <= trials))
        x, s = k[unsure], shifted[unsure]
        with np.errstate(divide="ignore", invalid="ignore"):
            height = np.log(v[unsure] * alpha / (a / (s * s) + b))
            bound = (
                (mode + 0.5) * np.log((mode + 1) / (odds * (trials - mode + 1)))
                + (trials + 1) * np.log((trials - mode + 1) / (trials - x + 1))
                + (x + 0.5) * np.log(odds * (trials - x + 1) / (x + 1))
                + _stirling_tail(mode)
                + _stirling_tail(trials - mode)
                - _stirling_tail(x)
                - _stirling_tail(trials - x)
            )
        accepted[unsure] = height <= bound
        return k, accepted

    return accepts


def _batches(
    stream: Philox,
    counts: np.ndarray,
    probabilities: np.ndarray,
    rows: int,
    columns: int,
    total: int,
) -> np.ndarray:
    """Draws rows of `columns` numbers, `total` in all, shard by shard."""
    result = np.empty(total)
    shared = len(counts) == len(probabilities) == 1
    cost = _BATCH_COST + _DRAW_COST * columns
    for start, stop in shards(rows, cost, host_threads()):
        part = stream.copy()
        part.skip(start * 2 * 3 * (columns + 3) // 4)
        # Rows that share their parameters follow one another without a seam.
        step = stop - start if shared else 1
        for row in range(start, stop, step):
            begin, end = row * columns, min((row + step) * columns, total)
            count = counts[0 if len(counts) == 1 else row]
            probability = probabilities[0 if len(probabilities) == 1 else row]
            result[begin:end] = binomial(part, count, probability, end - begin)
    return result


stateful_random_binomial_op = op("""
    StatefulRandomBinomial(resource: resource, algorithm: int64, shape: S, counts: T, probs: T) -> output: dtype
    S: {int32, int64}
    T: {half, float, double, int32, int64} = double
    dtype: {half, float, double, int32, int64} = int64
    flags: stateful
""")  # noqa: E501 - a signature is one line


@stateful_random_binomial_op.shape
def stateful_random_binomial_shape(node: Node) -> OutputDims:
    dims.with_rank_at_most(node.dims(3), 1)
    dims.with_rank_at_most(node.dims(4), 1)
    return shape_argument(node, 2)


@stateful_random_binomial_op.kernel
def stateful_random_binomial_kernel(node: Node) -> Kernel:
    known, device = shape_sizes(node, 2), node.device
    dtype = node.op.attrs["dtype"].torch_name

    def run(handle: Any, algorithm: Any, shape: Any, counts: Any, probs: Any) -> torch.Tensor:
        sizes = known if known is not None else read_sizes(shape)
        if not sizes:
            raise ValueError("Input shape should have at least one element")
        rows, columns, total = sizes[0], prod(sizes[1:]), prod(sizes)
        if counts.numel() == 1 and probs.numel() == 1:
            rows, columns = -(-total // _BATCH_SIZE), _BATCH_SIZE
        for name, parameter in (("counts", counts), ("probs", probs)):
            if parameter.ndim == 1 and parameter.shape[0] not in (1, rows):
                raise ValueError(
                    f"Input {name} should have length 1 or shape[0], got shape: "
                    f"[{parameter.shape[0]}]"
                )
        stream = draw_from_variable(handle, int(algorithm), rows * 2 * 100 * (columns + 3) // 4)
        trials, chances = (p.reshape(-1).cpu().numpy() for p in (counts, probs))
        values = _batches(stream, trials, chances, rows, columns, total)
        return narrowed(values, sizes, dtype, device)

    return run
