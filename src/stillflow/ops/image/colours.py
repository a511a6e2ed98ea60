"""Colours as hue, saturation and value: RGBToHSV and HSVToRGB."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel
from stillflow.ops.arrays.stack import stack
from stillflow.ops.image.adjusting import hue_of
from stillflow.ops.math.binary import add
from stillflow.ops.math.cast import cast
from stillflow.ops.math.division import div_no_nan
from stillflow.ops.math.unary import square
from stillflow.ops.samples import Bad, Sample, Samples

_TYPES = "{half, bfloat16, float, double} = float"

rgb_to_hsv_op = op(f"""
    RGBToHSV(images: T) -> output: T
    T: {_TYPES}
""")
hsv_to_rgb_op = op(
    f"""
    HSVToRGB(images: T) -> output: T
    T: {_TYPES}
    """,
    differentiable=False,
)


def colours_check(node: Node) -> None:
    """Raise an error for invalid images, with kernels' messages."""
    images = node.dims(0)
    if not node.planning or images is None:
        return
    if not images:
        raise ValueError("input must be at least 1D[]")
    if images[-1] not in (3, None):
        raise errors.FailedPreconditionError(
            node.op.node_def, node.op,
            f"input must have 3 channels but input only has {images[-1]} channels.",
        )  # fmt: skip


def colours_shape(node: Node) -> tuple[int | None, ...] | None:
    image = dims_lib.with_rank_at_least(node.dims(0), 1)
    channels = dims_lib.with_value(dims_lib.dim(image, -1), 3)
    return dims_lib.replace_dim(image, -1, channels)


rgb_to_hsv_op.shape(colours_shape)
hsv_to_rgb_op.shape(colours_shape)
rgb_to_hsv_op.check(colours_check)
hsv_to_rgb_op.check(colours_check)


def _to_hsv(images: Any) -> torch.Tensor:
    red, green, blue = images.unbind(-1)
    value = torch.maximum(red, torch.maximum(green, blue))
    spread = value - torch.minimum(red, torch.minimum(green, blue))
    saturation = torch.where(value > 0, spread / value, torch.zeros_like(value))
    return torch.stack([hue_of(red, green, blue, value, spread), saturation, value], -1)


def _to_rgb(images: Any) -> torch.Tensor:
    hue, saturation, value = images.unbind(-1)
    around = hue * 6
    shares = (
        ((around - 3).abs() - 1).clamp(0, 1),
        (2 - (around - 2).abs()).clamp(0, 1),
        (2 - (around - 4).abs()).clamp(0, 1),
    )
    rest = 1 - saturation
    return torch.stack([(rest + saturation * share) * value for share in shares], -1)


@rgb_to_hsv_op.kernel
def rgb_to_hsv_kernel(node: Node) -> Kernel:
    return node.call(_to_hsv, node.inputs[0])


@hsv_to_rgb_op.kernel
def hsv_to_rgb_kernel(node: Node) -> Kernel:
    return node.call(_to_rgb, node.inputs[0])


# ---- The gradient of RGBToHSV

# For each channel the two others, in the order in which their terms are added.
_OTHERS = {"r": "gb", "g": "rb", "b": "gr"}
# The numerator of a channel's part of the hue where the channel is the largest.
_NEXT = {"r": "gb", "g": "br", "b": "rg"}
# The other parts of the hue's derivative: largest channel, smallest channel, the part's factor (-1,
# the difference of two channels, or nothing), the difference it is divided by; with two channels as
# factors, it is divided by the square.
_HUE_PARTS = {
    "r": (("g", "r", "bg", "rg"), ("g", "b", "-", "gb"),
          ("b", "r", "bg", "br"), ("b", "g", "", "bg")),
    "g": (("r", "g", "rb", "rg"), ("r", "b", "", "rb"),
          ("b", "g", "rb", "bg"), ("b", "r", "-", "br")),
    "b": (("r", "b", "gr", "rb"), ("r", "g", "-", "rg"),
          ("g", "b", "gr", "gb"), ("g", "r", "", "gr")),
}  # fmt: skip


def _reciprocal(x: Any) -> Tensor:
    return div_no_nan(1.0, x)


class _Channels:
    """Red, green and blue of the images, and where each is the largest and the smallest."""

    def __init__(self, images: Any) -> None:
        r, g, b = (images[..., index] for index in range(3))
        self.of = {"r": r, "g": g, "b": b}

    def find(self) -> None:
        r, g, b = self.of.values()
        self.biggest = {
            "r": _mask((r >= b) & (r >= g)),
            "g": _mask((g > r) & (g >= b)),
            "b": _mask((b > r) & (b > g)),
        }
        self.smallest = {
            "r": _mask((r < b) & (r < g)),
            "g": _mask((g <= r) & (g < b)),
            "b": _mask((b <= r) & (b <= g)),
        }

    def positive(self, one: str) -> Tensor:
        return _mask(self.of[one] > 0)

    def difference(self, pair: str) -> Tensor:
        return self.of[pair[0]] - self.of[pair[1]]


def _mask(condition: Any) -> Tensor:
    return cast(condition, dtypes.float32)


def _saturation_slope(channels: _Channels, one: str) -> Tensor:
    first, second = list(_OTHERS[one])
    of, biggest, smallest = channels.of, channels.biggest, channels.smallest
    return channels.positive(one) * add(
        biggest[one]
        * add(smallest[first] * of[first], smallest[second] * of[second])
        * _reciprocal(square(of[one])),
        smallest[one]
        * -1
        * _reciprocal((biggest[first] * of[first]) + (biggest[second] * of[second])),
    )


def _hue_slope(channels: _Channels, one: str, saturation: Any, value: Any) -> Tensor:
    biggest, smallest = channels.biggest, channels.smallest
    parts = [
        60
        * (
            channels.positive(one)
            * biggest[one]
            * -1
            * channels.difference(_NEXT[one])
            * _reciprocal(square(saturation))
            * _reciprocal(square(value))
        )
    ]
    for largest, least, factor, divisor in _HUE_PARTS[one]:
        part = channels.positive(largest) * biggest[largest] * smallest[least]
        if factor == "-":
            part = part * -1
        elif factor:
            part = part * channels.difference(factor)
        below = channels.difference(divisor)
        parts.append(60 * (part * _reciprocal(square(below) if len(factor) == 2 else below)))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total / 360


@rgb_to_hsv_op.gradient
def rgb_to_hsv_gradient(node: Node, grad: Any) -> Gradients:
    channels = _Channels(node.inputs[0])
    saturation, value = node.outputs[0][..., 1], node.outputs[0][..., 2]
    channels.find()
    by_value = list(channels.biggest.values())
    by_saturation = [_saturation_slope(channels, one) for one in "rgb"]
    by_hue = [_hue_slope(channels, one, saturation, value) for one in "rgb"]
    sums = [
        stack([grad[..., index] * slope for slope in slopes], axis=-1)
        for index, slopes in ((2, by_value), (1, by_saturation), (0, by_hue))
    ]
    return add(add(sums[0], sums[1]), sums[2])


@rgb_to_hsv_op.samples
def rgb_to_hsv_samples() -> Samples:
    values = np.abs(np.sin(np.arange(36) * 1.3)).astype(np.float32)
    yield Sample(values.reshape(2, 3, 2, 3), grad=False)
    yield Sample(np.array([[0, 0, 0], [0.5, 0.5, 0.5], [0.2, 0.7, 0.7]], np.float32), grad=False)
    yield Bad(values.reshape(9, 4), match="must be 3|must have 3 channels")


@hsv_to_rgb_op.samples
def hsv_to_rgb_samples() -> Samples:
    values = np.abs(np.sin(np.arange(36) * 1.3)).astype(np.float32)
    yield Sample(values.reshape(2, 3, 2, 3), grad=False)
    yield Bad(np.float32(1), match="at least rank 1|at least 1D")


# ---- Public functions


@export("image.rgb_to_hsv")
def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """Hue, saturation and value, each in [0, 1], of colours.

    Args:
      images: `[..., 3]`, floating point: red, green and blue in [0, 1].
      name: of the operation.
    """
    return rgb_to_hsv_op(images, name=name)


@export("image.hsv_to_rgb")
def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Red, green and blue of colours given as hue, saturation and value, `[..., 3]` in [0, 1].

    Args:
      images: floating point.
      name: of the operation.
    """
    return hsv_to_rgb_op(images, name=name)
