"""Pools with windows of uneven size: FractionalMaxPool, FractionalAvgPool."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
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
from stillflow.ops.nn import native_kernels
from stillflow.ops.random.permutation import permutation
from stillflow.ops.random.philox import Philox
from stillflow.ops.samples import Bad, Sample, Samples

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


def _pool(how: str, image: Any, rows: Any, columns: Any, overlapping: bool) -> torch.Tensor:
    """Return the "largest" numbers or the "average" of each window, [batch, rows, columns, depth].

    Gradients of these take those of the windows for `image`'s, which they give.
    """
    counts = (len(rows) - 1, len(columns) - 1)
    out = image.new_empty((image.shape[0], *counts, image.shape[3]))
    return _over_windows(how, image, (rows, columns, overlapping), None, out)


def _over_windows(how: str, image: Any, windows: Any, grad: Any, out: Any) -> torch.Tensor:
    rows, columns, overlapping = windows
    spans = [_spans(each, image.shape[n], overlapping) for n, each in ((1, rows), (2, columns))]
    counts = [len(each[0]) for each in spans]
    edges = ([0], [0]), *spans
    if native_kernels.pool_windows(how, image[:, None], edges, grad, out):
        return out
    for place in np.ndindex(*counts):
        (a, b), (c, d) = ([edge[n] for edge in each] for each, n in zip(spans, place))
        box, each = (slice(None), slice(a, b + 1), slice(c, d + 1)), (slice(None), *place)
        count = (b - a + 1) * (d - c + 1)
        numbers = image[box].flatten(1, 2)
        if how == "average":
            total = numbers.sum(1, dtype=image.dtype)
            mode = None if image.is_floating_point() else "trunc"
            out[each] = torch.div(total, count, rounding_mode=mode)
        elif how == "average gradient":
            out[box] += (grad[each] / count)[:, None, None]
        else:
            keys = numbers
            if image.is_floating_point():  # NaN is the largest where it comes first
                keys = numbers.masked_fill(numbers.isnan(), -torch.inf)
                keys[:, 0].masked_fill_(numbers[:, 0].isnan(), torch.inf)
            where = keys.argmax(1, keepdim=True)
            if how == "largest":
                out[each] = numbers.gather(1, where)[:, 0]
            else:
                numbers = out[box].flatten(1, 2)
                out[box] = numbers.scatter_add(1, where, grad[each][:, None]).view(out[box].shape)
    return out


def _require_windows(shape: Sequence[int], grad: Any, rows: Any, columns: Any) -> None:
    """Raise an error for a gradient that is not of a pool of `shape` with these windows."""
    expected = (shape[0], len(rows) - 1, len(columns) - 1, shape[3])
    if tuple(grad.shape) != expected:
        raise ValueError(
            f"out_backprop of shape {dims.to_string(tuple(grad.shape))} does not go with the "
            f"pooling sequences, which make {dims.to_string(expected)}"
        )


def _gradient(
    how: str, image: Any, grad: Any, rows: Any, columns: Any, overlapping: bool
) -> torch.Tensor:
    _require_windows(image.shape, grad, rows, columns)
    windows = (rows, columns, overlapping)
    return _over_windows(how, image, windows, grad, torch.zeros_like(image))


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
    return _pool_kernel(node, partial(_pool, "largest"))


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
    return _pool_kernel(node, partial(_pool, "average"))


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
    function = partial(_gradient, "largest gradient")
    return node.call(function, image, grad, rows, columns, node.overlapping)


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
        image = grad.new_zeros(shape, dtype=torch.float64)
        how = "average gradient"
        return _gradient(how, image, grad.double(), rows, columns, overlapping).to(grad.dtype)

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
    return pool


fractional_max_pool = export("nn.fractional_max_pool")(
    _public(fractional_max_pool_op, "fractional_max_pool", "Maxima")
)
fractional_avg_pool = export("nn.fractional_avg_pool")(
    _public(fractional_avg_pool_op, "fractional_avg_pool", "Averages")
)
