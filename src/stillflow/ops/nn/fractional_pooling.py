"""Pools with windows of uneven size: FractionalMaxPool, FractionalAvgPool."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.kernels import type_of
from stillflow.ops.memory_limits import require_room
from stillflow.ops.random.permutation import permutation
from stillflow.ops.random.philox import Philox
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.util.deprecation import deprecated

_ATTRS = """
    pooling_ratio: list(float) >= 4
    pseudo_random: bool = false
    overlapping: bool = false
    deterministic: bool = false
    seed: int = 0
    seed2: int = 0
    T: {float, double, int32, int64}
"""


# ---- where the windows lie


def _output_size(size: int, ratio: float) -> int:
    """`floor(size / ratio)` in single precision, as TF computes it."""
    return math.floor(np.float32(size) / np.float32(ratio))


def pooling_sequence(stream: Philox, size: int, count: int, pseudo_random: bool) -> np.ndarray:
    """Return the starts of `count` windows over `size` elements, and the end of the last one."""
    steps = (_pseudo_random_steps if pseudo_random else _random_steps)(stream, size, count)
    return np.concatenate([[0], np.cumsum(steps)]).astype(np.int64)


def _pseudo_random_steps(stream: Philox, size: int, count: int) -> np.ndarray:
    """Return steps of `ceil(alpha * (i + u))`, with u so small that they are k or k + 1."""
    alpha, k = size / count, size // count
    limit = min((k + 2) / alpha - 1, (size + 1 - k) / alpha - (count - 1))
    words = stream.reserve(1).words(4)
    high, low = int(words[0]) & 0xFFFFF, int(words[1])
    u = ((high << 32) | low) / 2.0**52 * limit
    places = [1, *(math.ceil(alpha * (i + u)) for i in range(1, count)), size + 1]
    return np.diff(places)


def _random_steps(stream: Philox, size: int, count: int) -> np.ndarray:
    """Return steps of k and k + 1 in random order."""
    steps = np.full(count, size // count, np.int64)
    steps[: size % count] += 1
    own = stream.reserve((count + 3) // 4)
    return steps[permutation(own, count)] if count > 1 else steps


def _spans(sequence: Any, size: int, overlapping: bool) -> tuple[list[int], list[int]]:
    """Return the first and last element of every window; overlapping ones share their borders."""
    edges = sequence.reshape(-1).tolist()
    if edges and min(edges) < 0:
        raise ValueError(f"Pooling sequence values must not be negative, got {edges}")
    if len(edges) < 2 or edges[-1] > size or any(a >= b for a, b in itertools.pairwise(edges)):
        raise ValueError(f"Pooling sequence {edges} does not ascend to {size}")
    stops = [min(edge if overlapping else edge - 1, size - 1) for edge in edges[1:]]
    return edges[:-1], stops


# ---- kernels


def _offsets(starts: list[int], stops: list[int], device: Any) -> Iterator[tuple[Any, Any]]:
    """Yield for each offset into the windows the elements there, and the windows they belong to."""
    first = torch.tensor(starts, device=device)
    last = torch.tensor(stops, device=device)
    for offset in range(max((b - a + 1 for a, b in zip(starts, stops)), default=0)):
        place = first + offset
        yield torch.minimum(place, last), place <= last


def _max(image: Any, rows: Any, columns: Any, overlapping: bool) -> tuple[Any, Any]:
    """Maxima over the windows, and where in the image each first stands."""
    row_spans = _spans(rows, image.shape[1], overlapping)
    column_spans = _spans(columns, image.shape[2], overlapping)
    best = where = None
    for row, row_valid in _offsets(*row_spans, image.device):
        for column, column_valid in _offsets(*column_spans, image.device):
            value = image[:, row][:, :, column]
            place = (row[:, None] * image.shape[2] + column)[None, :, :, None].expand(value.shape)
            if best is None:
                best, where = value, place
                continue
            better = (value > best) & (row_valid[:, None] & column_valid)[..., None]
            best, where = torch.where(better, value, best), torch.where(better, place, where)
    return best, where


def _require_windows(shape: Sequence[int], grad: Any, rows: Any, columns: Any) -> None:
    """Raise an error for a gradient that is not of a pool of `shape` with these windows."""
    expected = (shape[0], len(rows) - 1, len(columns) - 1, shape[3])
    if tuple(grad.shape) != expected:
        raise ValueError(
            f"out_backprop of shape {dims.to_string(tuple(grad.shape))} does not go with the "
            f"pooling sequences, which make {dims.to_string(expected)}"
        )


def _max_grad(image: Any, grad: Any, rows: Any, columns: Any, overlapping: bool) -> torch.Tensor:
    _require_windows(image.shape, grad, rows, columns)
    _, where = _max(image, rows, columns, overlapping)
    batch, height, width, depth = image.shape
    start = torch.arange(batch, device=image.device)[:, None, None, None] * (height * width)
    index = (start + where) * depth + torch.arange(depth, device=image.device)
    result = grad.new_zeros(image.numel())
    return result.index_add_(0, index.reshape(-1), grad.reshape(-1)).view(image.shape)


def _indicator(spans: tuple[list[int], list[int]], size: int, like: Any) -> torch.Tensor:
    """Return a matrix with a row per window that has ones at the window's elements."""
    place = torch.arange(size, device=like.device)
    first, last = (torch.tensor(edge, device=like.device)[:, None] for edge in spans)
    return ((place >= first) & (place <= last)).to(like.dtype)


def _avg(image: Any, rows: Any, columns: Any, overlapping: bool) -> torch.Tensor:
    total = 0
    row_spans = _spans(rows, image.shape[1], overlapping)
    column_spans = _spans(columns, image.shape[2], overlapping)
    for row, row_valid in _offsets(*row_spans, image.device):
        for column, column_valid in _offsets(*column_spans, image.device):
            inside = (row_valid[:, None] & column_valid)[..., None]
            total = total + image[:, row][:, :, column] * inside
    counts = _counts(row_spans, column_spans, image)
    if image.is_floating_point():
        return total / counts
    return torch.div(total, counts, rounding_mode="trunc")


def _counts(rows: Any, columns: Any, like: Any) -> torch.Tensor:
    heights, widths = (
        torch.tensor([b - a + 1 for a, b in zip(*spans)], dtype=like.dtype, device=like.device)
        for spans in (rows, columns)
    )
    return (heights[:, None] * widths)[..., None]


def _avg_grad(
    shape: Sequence[int], grad: Any, rows: Any, columns: Any, overlapping: bool
) -> torch.Tensor:
    _require_windows(shape, grad, rows, columns)
    row_spans = _spans(rows, shape[1], overlapping)
    column_spans = _spans(columns, shape[2], overlapping)
    wide = grad.double()
    wide = wide / _counts(row_spans, column_spans, wide)
    by_row = _indicator(row_spans, shape[1], wide)
    by_column = _indicator(column_spans, shape[2], wide)
    return torch.einsum("brcd,rh,cw->bhwd", wide, by_row, by_column).to(grad.dtype)


# ---- shared parts of the cards


def fractional_pool_shape(node: Node) -> list[tuple[int | None, ...]]:
    image = dims.with_rank(node.dims(0), 4)
    if len(node.pooling_ratio) != 4:
        raise ValueError("pooling_ratio field must specify 4 dimensions")
    output = []
    for axis, (size, ratio) in enumerate(zip(image, node.pooling_ratio)):
        if not ratio >= 1:
            raise ValueError(f"pooling_ratio cannot be smaller than 1, got: {ratio:g}")
        found = None if size is None else _output_size(size, ratio)
        if found is not None and found < 0:
            raise ValueError(f"Size computed for dim {axis} is negative: {found}")
        output.append(found)
    # TF's rule forgets the end of the last window; a plan has to know the true length.
    more = 1 if node.planning else 0
    return [tuple(output), *[(dims.add(output[axis], more),) for axis in (1, 2)]]


def _check(node: Node) -> None:
    if not node.deterministic and (node.seed or node.seed2):
        raise ValueError("Both seed and seed2 should be 0 if deterministic is false.")


def _sequences(node: Node) -> Callable[..., Any]:
    """Return a function from the image to the rows' and columns' sequences.

    Deterministic ops draw the same ones in every run, the others new ones.
    """
    ratios, pseudo_random = node.pooling_ratio, node.pseudo_random
    seeds = (node.seed, node.seed2)
    if node.deterministic and not any(seeds):
        fixed = Philox.from_seeds(0, 0)
        seeds = node.own_state(lambda: tuple(int(word) for word in fixed.words(2)))

    def draw(image: Any) -> list[np.ndarray]:
        for axis, (size, ratio) in enumerate(zip(image.shape, ratios)):
            if size < ratio:
                raise ValueError(
                    "Pooling ratio is higher than input dimension size for dimension "
                    f"{axis}. Input dim size: {size} pooling ratio: {ratio:g}"
                )
        stream = Philox.from_seeds(*seeds)
        return [
            pooling_sequence(
                stream, image.shape[axis], _output_size(image.shape[axis], ratios[axis]),
                pseudo_random,
            )
            for axis in (1, 2)
        ]  # fmt: skip

    return draw


def _pool_kernel(node: Node, pool: Any) -> Callable[..., Any]:
    _check(node)
    draw, overlapping = _sequences(node), node.overlapping

    def run(image: Any) -> tuple[Any, Any, Any]:
        rows, columns = draw(image)
        result = pool(image, rows, columns, overlapping)
        return result, *[torch.from_numpy(each).to(image.device) for each in (rows, columns)]

    return run


def fractional_pool_samples() -> Samples:
    image = np.random.RandomState(1).permutation(2 * 7 * 9 * 2).reshape(2, 7, 9, 2)
    ratio = [1.0, 1.5, 2.2, 1.0]
    for pseudo_random in (False, True):
        for overlapping in (False, True):
            yield Sample(
                image.astype(np.float32), pooling_ratio=ratio, pseudo_random=pseudo_random,
                overlapping=overlapping, deterministic=True, seed=11, seed2=7, grad=False,
            )  # fmt: skip
    yield Bad(image[0].astype(np.float32), pooling_ratio=ratio, match="must be rank 4")


# ---- the cards

fractional_max_pool_op = op(
    f"""
    FractionalMaxPool(value: T)
        -> (output: T, row_pooling_sequence: int64, col_pooling_sequence: int64)
    {_ATTRS}
""",
    effect="state",
    devices="host",
)
fractional_max_pool_op.shape(fractional_pool_shape)
fractional_max_pool_op.samples(fractional_pool_samples)


@fractional_max_pool_op.kernel
def fractional_max_pool_kernel(node: Node) -> Kernel:
    return _pool_kernel(node, lambda *args: _max(*args)[0])


@fractional_max_pool_op.gradient
def fractional_max_pool_gradient(node: Node, grad: Tensor, *_: Any) -> Gradients:
    output, rows, columns = node.outputs
    return fractional_max_pool_grad_op(
        node.inputs[0], output, grad, rows, columns, overlapping=node.overlapping
    )


fractional_avg_pool_op = op(
    f"""
    FractionalAvgPool(value: T)
        -> (output: T, row_pooling_sequence: int64, col_pooling_sequence: int64)
    {_ATTRS}
""",
    effect="state",
    devices="host",
)
fractional_avg_pool_op.shape(fractional_pool_shape)
fractional_avg_pool_op.samples(fractional_pool_samples)


@fractional_avg_pool_op.kernel
def fractional_avg_pool_kernel(node: Node) -> Kernel:
    return _pool_kernel(node, _avg)


@fractional_avg_pool_op.gradient
def fractional_avg_pool_gradient(node: Node, grad: Tensor, *_: Any) -> Gradients:
    rows, columns = node.outputs[1:]
    return fractional_avg_pool_grad_op(
        node.inputs[0].shape, grad, rows, columns, overlapping=node.overlapping
    )


fractional_max_pool_grad_op = op(
    """
    FractionalMaxPoolGrad(orig_input: T, orig_output: T, out_backprop: T,
        row_pooling_sequence: int64, col_pooling_sequence: int64) -> output: T
    overlapping: bool = false
    T: {float, double, int32, int64}
""",
    devices="host",
)


@fractional_max_pool_grad_op.shape
def fractional_max_pool_grad_shape(node: Node) -> OutputDims:
    return dims.with_rank(node.dims(0), 4)


@fractional_max_pool_grad_op.kernel
def fractional_max_pool_grad_kernel(node: Node) -> Kernel:
    image, _, grad, rows, columns = node.inputs
    return node.call(_max_grad, image, grad, rows, columns, node.overlapping)


_ROWS, _COLUMNS = np.array([0, 2, 3, 5], np.int64), np.array([0, 1, 4], np.int64)


@fractional_max_pool_grad_op.samples
def fractional_max_pool_grad_samples() -> Samples:
    image = (np.arange(40) * 7 % 11).reshape(1, 5, 4, 2).astype(np.float32)
    grad = np.arange(12, dtype=np.float32).reshape(1, 3, 2, 2)
    for overlapping in (False, True):
        yield Sample(image, grad, grad, _ROWS, _COLUMNS, overlapping=overlapping, grad=False)


fractional_avg_pool_grad_op = op(
    """
    FractionalAvgPoolGrad(orig_input_tensor_shape: int64, out_backprop: T,
        row_pooling_sequence: int64, col_pooling_sequence: int64) -> output: T
    overlapping: bool = false
    T: {float, double, int32, int64}
""",
    devices="host",
)


@fractional_avg_pool_grad_op.shape
def fractional_avg_pool_grad_shape(node: Node) -> OutputDims:
    sizes = node.shape_value(0)
    return (None,) * 4 if sizes is None else sizes


@fractional_avg_pool_grad_op.kernel
def fractional_avg_pool_grad_kernel(node: Node) -> Kernel:
    overlapping = node.overlapping

    def spread(sizes: Any, grad: Any, rows: Any, columns: Any) -> torch.Tensor:
        shape = sizes.tolist()
        if len(shape) != 4:
            raise ValueError("original input tensor shape must be1-dimensional and 4 elements")
        require_room(shape, type_of(grad))
        for size, name in zip(shape, ("Batch", "Rows", "Columns", "Depth")):
            if size == 0:
                raise ValueError(f"{name} dimension of input must not be 0")
        return _avg_grad(shape, grad, rows, columns, overlapping)

    return spread


@fractional_avg_pool_grad_op.samples
def fractional_avg_pool_grad_samples() -> Samples:
    grad = np.arange(12, dtype=np.float32).reshape(1, 3, 2, 2)
    for overlapping in (False, True):
        yield Sample(
            np.array([1, 5, 4, 2], np.int64),
            grad,
            _ROWS,
            _COLUMNS,
            overlapping=overlapping,
            grad=False,
            fixed=(0, 2, 3),
        )


# ---- public functions


def _public(card: Any, name: str, what: str) -> Any:
    def pool(
        value: Any,
        pooling_ratio: Sequence[float],
        pseudo_random: bool = False,
        overlapping: bool = False,
        deterministic: bool = False,
        seed: int = 0,
        seed2: int = 0,
        name: str | None = None,
    ) -> Any:
        return card(
            value, pooling_ratio=pooling_ratio, pseudo_random=pseudo_random,
            overlapping=overlapping, deterministic=deterministic, seed=seed, seed2=seed2,
            name=name,
        )  # fmt: skip

    pool.__doc__ = f"""{what} over windows whose sizes differ by one.

    So the ratio of input and output sizes need not be a whole number.

    Args:
      value: [batch, height, width, channels].
      pooling_ratio: input size over output size, for every dimension.
      pseudo_random: draw the windows' sizes evenly spread instead of at random.
      overlapping: windows share their borders.
      deterministic: draw the same windows in every run, by `seed` and `seed2`.

    Returns:
      A named tuple (output, row_pooling_sequence, col_pooling_sequence).
    """
    pool.__name__ = pool.__qualname__ = name
    advice = f"`seed2` and `deterministic` args are deprecated.  Use {name}_v2."
    return deprecated(None, advice)(pool)


fractional_max_pool = export("nn.fractional_max_pool")(
    _public(fractional_max_pool_op, "fractional_max_pool", "Maxima")
)
fractional_avg_pool = export("nn.fractional_avg_pool")(
    _public(fractional_avg_pool_op, "fractional_avg_pool", "Averages")
)
