"""Poisson draws: RandomPoisson and RandomPoissonV2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.card import Card, op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.random_seed import get_seed
from stillflow.graph.traits import Cost
from stillflow.ops.random import native_kernels
from stillflow.ops.random.arguments import read_sizes, set_static_shape, shape_argument, shape_sizes
from stillflow.ops.random.draws import unit_doubles
from stillflow.ops.random.gamma import first_blocks
from stillflow.ops.random.philox import LARGEST_RUN, Philox, gather_blocks
from stillflow.ops.random.streams import narrowed, op_stream
from stillflow.ops.random.threads import in_pieces
from stillflow.ops.samples import Bad, Sample, Samples

# Below this rate uniform factors are counted; from it on, candidates are accepted or rejected.
_SMALL_RATE = 10.0


def poisson(
    stream: Philox, rate: np.ndarray, samples: int, largest: float, threads: int = 1
) -> np.ndarray:
    """Draw `samples` numbers from each Poisson distribution of `rate`, float64 [samples, n].

    Every output has blocks of its own, whose second numbers are used first. NaN stands where the
    rate is not finite; `largest` is the largest value of the result's final type.
    """
    drawn = native_kernels.poisson(stream, rate, samples, largest, threads)
    return _drawn(stream, rate, samples, largest, threads) if drawn is None else drawn


def _drawn(
    stream: Philox, rate: np.ndarray, samples: int, largest: float, threads: int
) -> np.ndarray:
    result = np.empty((len(rate), samples))
    flat = result.reshape(-1)

    def work(start: int, stop: int) -> None:
        outputs = np.arange(start, stop)
        rates = rate[outputs // samples]
        finite = np.isfinite(rates)
        flat[outputs[~finite]] = np.nan
        small = finite & (rates < _SMALL_RATE)
        if small.any():
            flat[outputs[small]] = _count_factors(stream, outputs[small], rates[small])
        large = finite & ~small
        if large.any():
            flat[outputs[large]] = _Rejection(rates[large], largest).draw(stream, outputs[large])

    in_pieces(flat.size, LARGEST_RUN // 2, threads, work)
    return result.T


def _count_factors(stream: Philox, outputs: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Knuth's method: how many uniform factors take their product to exp(-rate), less one."""
    result = np.zeros(len(outputs))
    bound = np.exp(-rate)
    pending, product = np.arange(len(outputs)), np.ones(len(outputs))
    block = first_blocks(outputs)
    while len(pending):
        units = unit_doubles(gather_blocks(stream, block))
        product *= units[1]
        first = product > bound
        product *= units[0]
        both = first & (product > bound)
        result[pending] += first
        pending, product, bound = pending[both], product[both], bound[both]
        block = block[both] + np.uint64(1)
        result[pending] += 1
    return result


class _Rejection:
    """Hörmann's "transformed rejection method for generating Poisson random variables" (1993)."""

    def __init__(self, rate: np.ndarray, largest: float) -> None:
        self.rate = rate
        self.largest = largest
        self.log_rate = np.log(rate)
        self.b = 0.931 + 2.53 * np.sqrt(rate)
        self.a = -0.059 + 0.02483 * self.b
        self.inverse_alpha = 1.1239 + 1.1328 / (self.b - 3.4)

    def draw(self, stream: Philox, outputs: np.ndarray) -> np.ndarray:
        block = first_blocks(outputs)
        pending = np.arange(len(outputs))
        with np.errstate(divide="ignore", invalid="ignore"):
            v, u = unit_doubles(gather_blocks(stream, block))
            result, accepted = self.attempt(slice(None), u - 0.5, v)
            while not accepted.all():
                pending = pending[~accepted]
                block = block[~accepted] + np.uint64(1)
                v, u = unit_doubles(gather_blocks(stream, block))
                k, accepted = self.attempt(pending, u - 0.5, v)
                result[pending[accepted]] = k[accepted]
        return result

    def attempt(self, which: Any, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidates that u and v give, and whether they are accepted."""
        a, b = self.a[which], self.b[which]
        shifted = 0.5 - np.abs(u)
        k = np.floor((2 * a / shifted + b) * u + self.rate[which] + 0.43)
        possible = k <= self.largest
        accepted = possible & (shifted >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
        hopeless = (k < 0) | ((shifted < 0.013) & (v > shifted))
        unsure = np.nonzero(possible & ~accepted & ~hopeless)[0]
        a, b, shifted = a[unsure], b[unsure], shifted[unsure]
        scale = self.inverse_alpha[which][unsure]
        s = np.log(v[unsure] * scale / (a / (shifted * shifted) + b))
        log_factorial = torch.lgamma(torch.from_numpy(k[unsure] + 1)).numpy()
        rate, log_rate = self.rate[which][unsure], self.log_rate[which][unsure]
        t = -rate + k[unsure] * log_rate - log_factorial
        accepted[unsure] = s <= t
        return k, accepted


def _poisson_shape(node: Node) -> Any:
    return dims.concat(shape_argument(node), node.dims(1))


def _poisson_kernel(node: Node) -> Callable[..., Any]:
    stream, known, device = op_stream(node), shape_sizes(node), node.device
    dtype = node.op.attrs["dtype"]
    numpy_type = dtype.as_numpy_dtype
    limits = np.iinfo(numpy_type) if dtype.is_integer else np.finfo(numpy_type)

    def run(shape: Any, rate: Any) -> torch.Tensor:
        sizes = known if known is not None else read_sizes(shape)
        samples = int(np.prod(sizes, dtype=np.int64))
        rates = rate.reshape(-1).to("cpu", torch.float64).numpy()
        if samples == 0:
            values = np.empty((0, len(rates)))
        else:
            start = stream.reserve_for(samples * len(rates))
            largest = float(limits.max)
            values = poisson(start, rates, samples, largest, torch.get_num_threads())
        return narrowed(values, (*sizes, *rate.shape), dtype.torch_name, device)

    return run


def _poisson_card(text: str) -> Card:
    card = op(text, devices="host", cost=Cost(nanoseconds=50.0, soon=True))
    card.shape(_poisson_shape)
    card.kernel(_poisson_kernel)
    return card


random_poisson_op = _poisson_card("""
    RandomPoisson(shape: S, rate: dtype) -> output: dtype
    seed: int = 0
    seed2: int = 0
    S: {int32, int64}
    dtype: {half, float, double}
    flags: stateful
""")
random_poisson_v2_op = _poisson_card("""
    RandomPoissonV2(shape: S, rate: R) -> output: dtype
    seed: int = 0
    seed2: int = 0
    S: {int32, int64}
    R: {half, float, double, int32, int64} = double
    dtype: {half, float, double, int32, int64} = int64
    flags: stateful
""")


@random_poisson_v2_op.samples
def random_poisson_v2_samples() -> Samples:
    rate = np.array([[0.0, 0.5], [3.0, 50.0]], np.float32)
    yield Sample([3], rate, dtype="int32", seed=3, seed2=4, fixed=(0,), grad=False)
    yield Sample([3], rate, dtype="float64", seed=3, seed2=4, fixed=(0,), grad=False)
    yield Bad([[2]], rate, match="Shape must be rank 1 but is rank 2")


@export("random.poisson", "random_poisson")
def random_poisson(
    lam: Any,
    shape: Any,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws from Poisson distributions.

    Args:
      lam: the rates, of any shape.
      shape: integer vector, the shape of the draws for each rate.
      dtype: of the draws: half, float32, float64, int32 or int64.
      seed: the operation's seed; see `tf.set_random_seed`.
      name: of the operation.

    Returns:
      A tensor whose shape is `shape` followed by that of `lam`.
    """
    with name_scope(name, "random_poisson", [lam, shape]):
        size = convert_to_tensor(shape, dtypes.int32, "shape")
        seeds: dict[str, Any] = dict(zip(("seed", "seed2"), get_seed(seed), strict=True))
        drawn: Tensor = random_poisson_v2_op(size, lam, dtype=dtype, **seeds)
        if not drawn.shape.is_fully_defined():
            set_static_shape(drawn, size, drawn.op.inputs[1].shape)
        return drawn
