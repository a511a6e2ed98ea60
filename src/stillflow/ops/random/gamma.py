"""Gamma draws: RandomGamma and the derivative of its draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.random_seed import get_seed
from stillflow.graph.traits import Cost
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones, zeros_like
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.math import incomplete_gamma
from stillflow.ops.math.binary import maximum
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.random import native_kernels
from stillflow.ops.random.arguments import read_sizes, set_static_shape, shape_argument, shape_sizes
from stillflow.ops.random.draws import RESERVED_BLOCKS, polar_normals, unit_doubles
from stillflow.ops.random.philox import LARGEST_RUN, Philox, fill_blocks, gather_blocks
from stillflow.ops.random.streams import narrowed, op_stream
from stillflow.ops.random.threads import in_pieces
from stillflow.ops.samples import Bad, Sample, Samples


def gamma(stream: Philox, alpha: np.ndarray, samples: int, threads: int = 1) -> np.ndarray:
    """Draw `samples` numbers from each gamma distribution of shape `alpha`, float64 [samples, n].

    Marsaglia and Tsang's method, "A simple method for generating gamma variables" (2000): a
    candidate takes a normal and a uniform number, and is drawn again until it is accepted. Every
    output has blocks of its own, so all are worked on at once. Of the two numbers in a block the
    second is used first.
    """
    drawn = native_kernels.gamma(stream, alpha, samples, threads)
    return _drawn(stream, alpha, samples, threads) if drawn is None else drawn


def _drawn(stream: Philox, alpha: np.ndarray, samples: int, threads: int) -> np.ndarray:
    result = np.empty((len(alpha), samples))
    flat = result.reshape(-1)

    def work(start: int, stop: int) -> None:
        shapes = alpha[np.arange(start, stop) // samples]
        exponential = shapes == 1.0
        flat[start:stop] = _Piece(stream, start, shapes).draw(exponential)
        if exponential.any():
            chosen = start + np.flatnonzero(exponential)
            units = unit_doubles(gather_blocks(stream, first_blocks(chosen)))
            flat[chosen] = -np.log(1.0 - units[1])

    in_pieces(flat.size, LARGEST_RUN // 2, threads, work)
    return result.T


def first_blocks(outputs: np.ndarray) -> np.ndarray:
    """Return the first of the blocks that belong to each output."""
    return outputs.astype(np.uint64) * np.uint64(RESERVED_BLOCKS)


class _Pairs:
    """Each output's last block: two numbers, and the count of unused ones."""

    def __init__(self, values: np.ndarray, left: np.ndarray) -> None:
        self.values = values
        self.left = left


class _Piece:
    """Draws of consecutive outputs. First candidates are made for all; few are rejected."""

    def __init__(self, stream: Philox, start: int, alpha: np.ndarray) -> None:
        self.stream = stream
        self.alpha = alpha
        self.start = start
        # A shape below one is drawn from the shape that is one larger, then made smaller.
        self.small = alpha < 1.0
        self.d = alpha + np.where(self.small, 2.0 / 3, -1.0 / 3)
        with np.errstate(invalid="ignore"):
            self.c = 1.0 / 3 / np.sqrt(self.d)

    def draw(self, skipped: np.ndarray) -> np.ndarray:
        """All outputs but those `skipped`, which get any value."""
        polar = np.stack(polar_normals(self.block(0)))
        units = unit_doubles(self.block(1))
        with np.errstate(invalid="ignore", divide="ignore"):
            x = polar[0] * np.cos(polar[1])
            v = 1.0 + self.c * x
            positive = ~(v <= 0)
            v = v * v * v
            accepted = _accepted(x, v, units[1], self.d)
            result: np.ndarray = self.d * v
            if self.small.any():
                result[self.small] *= units[0][self.small] ** (1 / self.alpha[self.small])
            rest = np.flatnonzero(~((accepted & positive) | skipped))
            if len(rest):
                # A candidate that is not positive has used no uniform number.
                kept = positive[rest].astype(np.int8)
                normals = _Pairs(polar[:, rest], np.ones(len(rest), np.int8))
                again = _Redrawn(self, rest, normals, _Pairs(units[:, rest], kept))
                result[rest] = again.draw()
        return result

    def block(self, number: int) -> np.ndarray:
        """Return the words of that block of every output."""
        words = np.empty((4, len(self.alpha)), np.uint32)
        fill_blocks(self.stream, self.start * RESERVED_BLOCKS + number, RESERVED_BLOCKS, words)
        return words


def _accepted(x: np.ndarray, v: np.ndarray, u: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return True for the accepted candidates d * v, given their normals and uniforms."""
    square = x * x
    accepted: np.ndarray = u < 1 - 0.0331 * square * square
    unsure = np.flatnonzero(~accepted)
    y = v[unsure]
    bound = 0.5 * square[unsure] + d[unsure] * (1 - y + np.log(y))
    accepted[unsure] = np.log(u[unsure]) < bound
    return accepted


class _Redrawn:
    """Draws of outputs whose first candidates were rejected, from the remaining numbers."""

    def __init__(self, piece: _Piece, rest: np.ndarray, normals: _Pairs, uniforms: _Pairs) -> None:
        self.stream = piece.stream
        self.alpha, self.c, self.d = piece.alpha[rest], piece.c[rest], piece.d[rest]
        self.normals, self.uniforms = normals, uniforms
        self.next_block = first_blocks(piece.start + rest) + np.uint64(1)
        self.next_block += uniforms.left.astype(np.uint64)

    def draw(self) -> np.ndarray:
        result = np.empty(len(self.alpha))
        pending = np.arange(len(self.alpha))
        while len(pending):
            x = self.normal(pending)
            v = 1.0 + self.c[pending] * x
            positive = ~(v <= 0)
            chosen, x, v = pending[positive], x[positive], v[positive]
            v = v * v * v
            d = self.d[chosen]
            accepted = _accepted(x, v, self.uniform(chosen), d)
            done = chosen[accepted]
            result[done] = (d * v)[accepted]
            small = done[self.alpha[done] < 1.0]
            if len(small):
                result[small] *= self.uniform(small) ** (1 / self.alpha[small])
            rejected = np.ones(len(self.alpha), bool)
            rejected[done] = False
            pending = pending[rejected[pending]]
        return result

    def blocks(self, which: np.ndarray) -> np.ndarray:
        words = gather_blocks(self.stream, self.next_block[which])
        self.next_block[which] += np.uint64(1)
        return words

    def normal(self, which: np.ndarray) -> np.ndarray:
        pairs = self.normals
        empty = which[pairs.left[which] == 0]
        if len(empty):
            pairs.values[0][empty], pairs.values[1][empty] = polar_normals(self.blocks(empty))
            pairs.left[empty] = 2
        pairs.left[which] -= 1
        radius, angle = pairs.values[:, which]
        second = pairs.left[which] == 1
        if second.all():
            return radius * np.cos(angle)
        return radius * np.where(second, np.cos(angle), np.sin(angle))

    def uniform(self, which: np.ndarray) -> np.ndarray:
        pairs = self.uniforms
        empty = which[pairs.left[which] == 0]
        if len(empty):
            pairs.values[:, empty] = unit_doubles(self.blocks(empty))
            pairs.left[empty] = 2
        pairs.left[which] -= 1
        return pairs.values[pairs.left[which], which]


random_gamma_op = op(
    """
    RandomGamma(shape: S, alpha: T) -> output: T
    seed: int = 0
    seed2: int = 0
    S: {int32, int64}
    T: {half, float, double}
    flags: stateful
""",
    devices="host",
    cost=Cost(nanoseconds=100.0, soon=True),
)


@random_gamma_op.shape
def random_gamma_shape(node: Node) -> OutputDims:
    return dims.concat(shape_argument(node), node.dims(1))


@random_gamma_op.kernel
def random_gamma_kernel(node: Node) -> Kernel:
    stream, known, device = op_stream(node), shape_sizes(node), node.device
    dtype = node.T.torch_name

    def run(shape: Any, alpha: Any) -> torch.Tensor:
        sizes = known if known is not None else read_sizes(shape)
        samples = int(np.prod(sizes, dtype=np.int64))
        shapes = alpha.reshape(-1).to("cpu", torch.float64).numpy()
        start = stream.reserve_for(samples * len(shapes))
        values = gamma(start, shapes, samples, torch.get_num_threads())
        return narrowed(values, (*sizes, *alpha.shape), dtype, device)

    return run


@random_gamma_op.samples
def random_gamma_samples() -> Samples:
    alpha = np.array([0.5, 1.0, 3.0], np.float32)
    yield Sample([4], alpha, seed=3, seed2=4, fixed=(0,), grad=False)
    yield Sample([2, 0], alpha, seed=3, seed2=4, fixed=(0,), grad=False)
    yield Bad([[2]], alpha, match="Shape must be rank 1 but is rank 2")


random_gamma_grad_op = op(
    """
    RandomGammaGrad(alpha: T, sample: T) -> output: T
    T: {float, double}
""",
    cost=Cost(nanoseconds=200.0, soon=True),
)


@random_gamma_grad_op.shape
def random_gamma_grad_shape(node: Node) -> OutputDims:
    alpha, sample = node.dims(0), node.dims(1)
    try:
        return dims.broadcast(alpha, sample)
    except ValueError:
        if not node.planning:
            raise
        both = f"{dims.to_string(alpha)} vs. {dims.to_string(sample)}"
        raise ValueError(f"Incompatible shapes: {both}") from None


@random_gamma_grad_op.kernel
def random_gamma_grad_kernel(node: Node) -> Kernel:
    return node.call(incomplete_gamma.draw_slope, *node.inputs)


@random_gamma_grad_op.samples
def random_gamma_grad_samples() -> Samples:
    alpha = np.array([[0.3], [1.0], [4.0], [40.0]], np.float32)
    yield Sample(alpha, np.array([0.01, 0.7, 5.0, 45.0], np.float32), grad=False)


def add_leading_unit_dimensions(x: Any, num_dimensions: Any) -> Tensor:
    """Reshapes `x` to have that many dimensions of size one in front."""
    leading = ones([num_dimensions], dtype=dtypes.int32)
    return reshape(x, concat([leading, shape_of(x)], axis=0))


@random_gamma_op.gradient
def random_gamma_gradient(node: Node, grad: Tensor) -> Gradients:
    shape, alpha = node.inputs
    with control_dependencies([grad]):
        rank = shape_of(shape)[0]
        partial = random_gamma_grad_op(add_leading_unit_dimensions(alpha, rank), node.outputs[0])
        return [None, reduce_sum(grad * partial, axis=range_(rank))]


@export("random.gamma", "random_gamma")
def random_gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws from gamma distributions; the draws are differentiable in alpha and beta.

    Args:
      shape: integer vector, the shape of the draws for each pair of alpha and beta.
      alpha: the shape parameters, broadcast with `beta`.
      beta: the inverse scales, 1 by default.
      dtype: of alpha, beta and the draws: half, float32 or float64.
      seed: the operation's seed; see `tf.set_random_seed`.
      name: of the operation.

    Returns:
      A tensor whose shape is `shape` followed by that of `alpha + beta`. Draws that round to zero
      become the smallest positive normal number.
    """
    with name_scope(name, "random_gamma", [shape, alpha, beta]):
        shape = convert_to_tensor(shape, name="shape", dtype=dtypes.int32)
        alpha = convert_to_tensor(alpha, name="alpha", dtype=dtype)
        beta = convert_to_tensor(1 if beta is None else beta, name="beta", dtype=dtype)
        broadcast = alpha + zeros_like(beta)
        seed1, seed2 = get_seed(seed)
        smallest = np.finfo(alpha.dtype.as_numpy_dtype).tiny
        drawn = random_gamma_op(shape, broadcast, seed=seed1, seed2=seed2)
        result = maximum(smallest, drawn / beta)
        set_static_shape(result, shape, broadcast.shape)
        return result
