"""Fake quantization: real numbers quantized and dequantized.

The range is moved a little so that zero is an integer exactly (padding relies on it). Gradients
pass where the input lies in the range; inputs outside go to the range's ends.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stillflow.graph import dims
from stillflow.graph.card import Card, op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.quantization.linear import floats, single_numbers
from stillflow.ops.quantization.scales import number
from stillflow.ops.samples import Bad, Sample, Samples

_BITS = """
    num_bits: int = 8
    narrow_range: bool = false
"""
_RANGE_AND_BITS = f"""
    min: float = -6
    max: float = 6
    {_BITS}
"""


class Grid(NamedTuple):
    """Evenly spaced real numbers: `low + i * step`, one of them zero (scalars or vectors)."""

    low: Any
    high: Any
    step: Any
    zero: Any


def grid(low: Any, high: Any, node_bits: tuple[int, int]) -> Grid:
    """Return the grid nearest to a range; `node_bits` are the lowest and highest integer."""
    first, last = np.float32(node_bits[0]), np.float32(node_bits[1])
    with np.errstate(all="ignore"):
        step = (high - low) / (last - first)
        zero = np.clip(first - low / step, first, last)
        zero = np.floor(zero) + np.floor((zero - np.floor(zero)) * 2)
        nudged_low, nudged_high = (first - zero) * step, (last - zero) * step
        offset = np.trunc(-nudged_low / step + np.float32(0.5))
    return Grid(nudged_low, nudged_high, step, offset)


def _levels(node: Node) -> tuple[int, int]:
    if not 2 <= node.num_bits <= 16:
        raise ValueError("num_bits must be between 2 and 16, inclusive")
    return int(node.narrow_range), (1 << node.num_bits) - 1


def _snap(values: Any, points: Grid) -> torch.Tensor:
    # Where the ends are the wrong way round, only the first counts.
    is_one = isinstance(points.high, float)
    high = max(points.high, points.low) if is_one else torch.maximum(points.high, points.low)
    moved = values.clamp(points.low, high).sub_(points.low).div_(points.step)
    return moved.add_(0.5).floor_().sub_(points.zero).mul_(points.step)


def _within(values: Any, points: Grid) -> torch.Tensor:
    return (values >= points.low) & (values <= points.high)


def _floats(points: Grid) -> Grid:
    return Grid(*map(float, points))


# --- a range known when the graph is built --------------------------------------------------


def _fixed_grid(node: Node) -> Grid:
    if not node.min < node.max:
        raise ValueError(f"min has to be smaller than max, was: {node.min:g} >= {node.max:g}")
    return _floats(grid(np.float32(node.min), np.float32(node.max), _levels(node)))


fake_quant_with_min_max_args_op = op(
    f"FakeQuantWithMinMaxArgs(inputs: float) -> outputs: float\n{_RANGE_AND_BITS}"
)


@fake_quant_with_min_max_args_op.shape
def fake_quant_with_min_max_args_shape(node: Node) -> OutputDims:
    return node.dims(0)


@fake_quant_with_min_max_args_op.kernel
def fake_quant_with_min_max_args_kernel(node: Node) -> Kernel:
    return node.call(_snap, node.inputs[0], _fixed_grid(node))


def _attributes(node: Node, *names: str) -> dict[str, Any]:
    return {name: node.op.attrs[name] for name in (*names, "num_bits", "narrow_range")}


@fake_quant_with_min_max_args_op.gradient
def fake_quant_with_min_max_args_op_gradient(node: Node, grad: Tensor) -> Gradients:
    return fake_quant_with_min_max_args_gradient_op(
        grad, node.inputs[0], **_attributes(node, "min", "max")
    )


def _values() -> np.ndarray:
    return np.linspace(-7.3, 7.9, 24, dtype=np.float32).reshape(4, 6)


@fake_quant_with_min_max_args_op.samples
def fake_quant_with_min_max_args_samples() -> Samples:
    yield Sample(_values(), grad=False)
    yield Sample(_values(), min=-0.7, max=5.2, num_bits=3, grad=False)
    yield Sample(_values(), min=1.5, max=5.2, num_bits=4, narrow_range=True, grad=False)
    yield Sample(_values(), min=-5.0, max=-1.0, num_bits=16, grad=False)
    yield Sample(_values()[:0], grad=False)
    yield Bad(_values(), min=1.0, max=1.0, match="min has to be smaller than max, was: 1 >= 1")
    yield Bad(_values(), num_bits=17, match="num_bits must be between 2 and 16, inclusive")


fake_quant_with_min_max_args_gradient_op = op(f"""
    FakeQuantWithMinMaxArgsGradient(gradients: float, inputs: float) -> backprops: float
    {_RANGE_AND_BITS}
""")


@fake_quant_with_min_max_args_gradient_op.shape
def fake_quant_with_min_max_args_gradient_shape(node: Node) -> OutputDims:
    return node.dims(0)


@fake_quant_with_min_max_args_gradient_op.check
def fake_quant_with_min_max_args_gradient_check(node: Node) -> None:
    if node.planning and node.dims(0) != node.dims(1):
        first, second = map(dims.to_string, (node.dims(0), node.dims(1)))
        raise ValueError(
            f"Inputs to operation {node.name} of type {node.op.type} must have the same size and "
            f"shape.  Input 0: {first} != input 1: {second}"
        )


def _pass_within(grad: Any, values: Any, points: Grid) -> torch.Tensor:
    return grad * _within(values, points)


@fake_quant_with_min_max_args_gradient_op.kernel
def fake_quant_with_min_max_args_gradient_kernel(node: Node) -> Kernel:
    return node.call(_pass_within, node.inputs[0], node.inputs[1], _fixed_grid(node))


@fake_quant_with_min_max_args_gradient_op.samples
def fake_quant_with_min_max_args_gradient_samples() -> Samples:
    yield Sample(_values() + 10, _values(), grad=False)
    yield Sample(_values() + 10, _values(), min=-0.7, max=5.2, num_bits=3, grad=False)
    yield Bad(_values(), _values()[1:], match="must have the same size and shape")


# --- a range fed at run time ----------------------------------------------------------------


def _fake_quant(values: Any, low: Any, high: Any, bits: tuple[int, int]) -> torch.Tensor:
    low, high = number(low), number(high)
    if low == 0 and high == 0:
        return torch.zeros_like(values)
    return _snap(values, _floats(grid(low, high, bits)))


def _fake_quant_backward(
    grad: Any, values: Any, low: Any, high: Any, bits: tuple[int, int]
) -> tuple[Any, Any, Any]:
    low, high = number(low), number(high)
    if low == 0 and high == 0:
        return grad.clone(), grad.new_zeros(()), grad.new_zeros(())
    points = _floats(grid(low, high, bits))
    below = (grad * (values < points.low)).sum()
    above = (grad * (values > points.high)).sum()
    return grad * _within(values, points), below, above


fake_quant_with_min_max_vars_op = op(f"""
    FakeQuantWithMinMaxVars(inputs: float, min: float, max: float) -> outputs: float
    {_BITS}
""")


@fake_quant_with_min_max_vars_op.shape
def fake_quant_with_min_max_vars_shape(node: Node) -> OutputDims:
    single_numbers(node, 1, 2)
    return node.dims(0)


@fake_quant_with_min_max_vars_op.kernel
def fake_quant_with_min_max_vars_kernel(node: Node) -> Kernel:
    return node.call(_fake_quant, *node.inputs, _levels(node))


def _vars_gradient(node: Node, grad: Tensor, card: Card) -> list[Tensor]:
    return list(card(grad, *node.inputs, **_attributes(node)))


@fake_quant_with_min_max_vars_op.gradient
def fake_quant_with_min_max_vars_op_gradient(node: Node, grad: Tensor) -> Gradients:
    return _vars_gradient(node, grad, fake_quant_with_min_max_vars_gradient_op)


@fake_quant_with_min_max_vars_op.samples
def fake_quant_with_min_max_vars_samples() -> Samples:
    yield Sample(_values(), *floats(-6, 6), grad=False)
    yield Sample(_values(), *floats(-0.7, 5.2), num_bits=3, grad=False)
    yield Sample(_values(), *floats(0.3, 5.2), num_bits=4, narrow_range=True, grad=False)
    yield Sample(_values(), *floats(0, 0), grad=False)
    yield Bad(_values(), np.zeros(2, np.float32), np.float32(1), match="must be rank 0")
    yield Bad(_values(), *floats(-1, 1), num_bits=1, match="num_bits must be between 2 and 16")


fake_quant_with_min_max_vars_gradient_op = op(f"""
    FakeQuantWithMinMaxVarsGradient(gradients: float, inputs: float, min: float, max: float)
        -> (backprops_wrt_input: float, backprop_wrt_min: float, backprop_wrt_max: float)
    {_BITS}
""")


@fake_quant_with_min_max_vars_gradient_op.shape
def fake_quant_with_min_max_vars_gradient_shape(node: Node) -> OutputDims:
    same = dims.merge(node.dims(0), node.dims(1))
    single_numbers(node, 2, 3)
    return [same, (), ()]


def _check_sizes(node: Node) -> None:
    if node.planning and node.dims(0) != node.dims(1):
        raise ValueError("gradient and input must be the same size")


fake_quant_with_min_max_vars_gradient_op.check(_check_sizes)


@fake_quant_with_min_max_vars_gradient_op.kernel
def fake_quant_with_min_max_vars_gradient_kernel(node: Node) -> Kernel:
    return node.call(_fake_quant_backward, *node.inputs, _levels(node))


@fake_quant_with_min_max_vars_gradient_op.samples
def fake_quant_with_min_max_vars_gradient_samples() -> Samples:
    yield Sample(_values() + 10, _values(), *floats(-0.7, 5.2), num_bits=3, grad=False)
    yield Sample(_values() + 10, _values(), *floats(0, 0), grad=False)
    yield Bad(_values(), _values()[1:], *floats(-1, 1), match="same size|must be equal")


# --- a range for each channel ---------------------------------------------------------------


def _grids(low: Any, high: Any, bits: tuple[int, int]) -> tuple[Grid, Any]:
    """Return the grid of each channel, and where both ends are zero."""
    points = grid(low.cpu().numpy(), high.cpu().numpy(), bits)
    empty = (low == 0) & (high == 0)
    on_device = [torch.from_numpy(part).to(low.device).masked_fill(empty, 0) for part in points]
    return Grid(*on_device), empty


def _fake_quant_channels(values: Any, low: Any, high: Any, bits: tuple[int, int]) -> torch.Tensor:
    points, empty = _grids(low, high, bits)
    return _snap(values, points).masked_fill_(empty, 0)


def _fake_quant_channels_backward(
    grad: Any, values: Any, low: Any, high: Any, bits: tuple[int, int]
) -> tuple[Any, Any, Any]:
    points, empty = _grids(low, high, bits)
    rows = list(range(values.dim() - 1))
    outside = (values < points.low, values > points.high)
    below, above = [(grad * each).masked_fill_(empty, 0) for each in outside]
    if rows:
        below, above = below.sum(rows), above.sum(rows)
    return grad * _within(values, points).logical_or_(empty), below, above


fake_quant_with_min_max_vars_per_channel_op = op(f"""
    FakeQuantWithMinMaxVarsPerChannel(inputs: float, min: float, max: float) -> outputs: float
    {_BITS}
""")


@fake_quant_with_min_max_vars_per_channel_op.shape
def fake_quant_with_min_max_vars_per_channel_shape(node: Node) -> OutputDims:
    shape = dims.with_rank_at_least(node.dims(0), 1)
    bounds = [dims.with_rank(node.dims(index), 1) for index in (1, 2)]
    depth = None if shape is None else shape[-1]
    for bound in bounds:
        depth = dims.merge_dim(depth, None if bound is None else bound[0])
    return shape


@fake_quant_with_min_max_vars_per_channel_op.kernel
def fake_quant_with_min_max_vars_per_channel_kernel(node: Node) -> Kernel:
    return node.call(_fake_quant_channels, *node.inputs, _levels(node))


@fake_quant_with_min_max_vars_per_channel_op.gradient
def fake_quant_with_min_max_vars_per_channel_op_gradient(node: Node, grad: Tensor) -> Gradients:
    return _vars_gradient(node, grad, fake_quant_with_min_max_vars_per_channel_gradient_op)


def _channel_ends() -> tuple[np.ndarray, np.ndarray]:
    low = np.array([-6, -0.7, 0, 0.3, -7, -3], np.float32)
    return low, np.array([6, 5.2, 0, 4.1, -1, 2.2], np.float32)


@fake_quant_with_min_max_vars_per_channel_op.samples
def fake_quant_with_min_max_vars_per_channel_samples() -> Samples:
    yield Sample(_values(), *_channel_ends(), num_bits=3, grad=False)
    yield Sample(_values()[1], *_channel_ends(), num_bits=4, narrow_range=True, grad=False)
    yield Sample(_values().reshape(1, 2, 2, 6), *_channel_ends(), grad=False)
    low, high = _channel_ends()
    yield Bad(_values(), low[1:], high, match="must be equal|min has incorrect size")


fake_quant_with_min_max_vars_per_channel_gradient_op = op(f"""
    FakeQuantWithMinMaxVarsPerChannelGradient(
        gradients: float, inputs: float, min: float, max: float
    ) -> (backprops_wrt_input: float, backprop_wrt_min: float, backprop_wrt_max: float)
    {_BITS}
""")


@fake_quant_with_min_max_vars_per_channel_gradient_op.shape
def fake_quant_with_min_max_vars_per_channel_gradient_shape(node: Node) -> OutputDims:
    shape = dims.with_rank_at_most(dims.with_rank_at_least(node.dims(0), 1), 4)
    shape = dims.merge(shape, node.dims(1))
    bounds = dims.merge(dims.with_rank(node.dims(2), 1), (None if shape is None else shape[-1],))
    bounds = dims.merge(node.dims(3), bounds)
    return [shape, bounds, bounds]


fake_quant_with_min_max_vars_per_channel_gradient_op.check(_check_sizes)


@fake_quant_with_min_max_vars_per_channel_gradient_op.kernel
def fake_quant_with_min_max_vars_per_channel_gradient_kernel(node: Node) -> Kernel:
    return node.call(_fake_quant_channels_backward, *node.inputs, _levels(node))


@fake_quant_with_min_max_vars_per_channel_gradient_op.samples
def fake_quant_with_min_max_vars_per_channel_gradient_samples() -> Samples:
    yield Sample(_values() + 10, _values(), *_channel_ends(), num_bits=3, grad=False)
    yield Sample(_values()[0] + 10, _values()[1], *_channel_ends(), grad=False)
    image = _values().reshape(1, 2, 2, 6)
    yield Sample(image + 10, image, *_channel_ends(), grad=False)
    low, high = _channel_ends()
    yield Bad(_values(), _values(), low[1:], high, match="must be equal|incorrect size")


# --- public functions -----------------------------------------------------------------------


@export("quantization.fake_quant_with_min_max_args", "fake_quant_with_min_max_args")
def fake_quant_with_min_max_args(
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Snaps numbers to a grid of `2 ** num_bits` values over a fixed range.

    Args:
      inputs: float32 tensor.
      min, max: ends of the range; moved a little so that zero is on the grid.
      num_bits: 2 to 16.
      narrow_range: whether the lowest integer is left out.

    Returns:
      A tensor of the same shape.
    """
    return fake_quant_with_min_max_args_op(
        inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )


@export(
    "quantization.fake_quant_with_min_max_args_gradient", "fake_quant_with_min_max_args_gradient"
)
def fake_quant_with_min_max_args_gradient(
    gradients: Any,
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the gradient of `fake_quant_with_min_max_args`: it passes inside the range."""
    return fake_quant_with_min_max_args_gradient_op(
        gradients,
        inputs,
        min=min,
        max=max,
        num_bits=num_bits,
        narrow_range=narrow_range,
        name=name,
    )


@export("quantization.fake_quant_with_min_max_vars", "fake_quant_with_min_max_vars")
def fake_quant_with_min_max_vars(
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Snaps numbers to a grid of `2 ** num_bits` values over a range that may be trained.

    Args:
      inputs: float32 tensor.
      min, max: scalars, ends of the range.
      num_bits: 2 to 16.
      narrow_range: whether the lowest integer is left out.
    """
    return fake_quant_with_min_max_vars_op(
        inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )


@export(
    "quantization.fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_gradient",
)
def fake_quant_with_min_max_vars_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """Return the gradients of `fake_quant_with_min_max_vars` by inputs, min and max."""
    attrs = {"num_bits": num_bits, "narrow_range": narrow_range}
    return fake_quant_with_min_max_vars_gradient_op(gradients, inputs, min, max, name=name, **attrs)


@export(
    "quantization.fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel",
)
def fake_quant_with_min_max_vars_per_channel(
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Snaps numbers to grids of `2 ** num_bits` values, one for each element of the last axis.

    Args:
      inputs: float32 tensor [..., depth].
      min, max: [depth], ends of the ranges.
      num_bits: 2 to 16.
      narrow_range: whether the lowest integer is left out.
    """
    return fake_quant_with_min_max_vars_per_channel_op(
        inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )


@export(
    "quantization.fake_quant_with_min_max_vars_per_channel_gradient",
    "fake_quant_with_min_max_vars_per_channel_gradient",
)
def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """Return the gradients of `fake_quant_with_min_max_vars_per_channel` by inputs, min and max."""
    attrs = {"num_bits": num_bits, "narrow_range": narrow_range}
    return fake_quant_with_min_max_vars_per_channel_gradient_op(
        gradients, inputs, min, max, name=name, **attrs
    )
