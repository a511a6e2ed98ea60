"""Hue, saturation and value, changed all at once by a linear map of colours in YIQ space."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.image.sizes import same_with_rank_at_least
from stillflow.ops.samples import Bad, Sample, Samples

adjust_hsv_in_yiq_op = op("""
    AdjustHsvInYiq(images: T, delta_h: float, scale_s: float, scale_v: float) -> output: T
    T: {uint8, int8, int16, int32, int64, half, float, double}
""")

_TO_YIQ = np.array(
    [[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]], np.float32
)
_FROM_YIQ = np.array(
    [[1, 0.95617069, 0.62143257], [1, -0.2726886, -0.64681324], [1, -1.103744, 1.70062309]],
    np.float32,
)


@adjust_hsv_in_yiq_op.shape
def adjust_hsv_in_yiq_shape(node: Node) -> OutputDims:
    return same_with_rank_at_least(node, 3)


def _adjust(images: Any, turn: Any, saturation: Any, value: Any) -> torch.Tensor:
    for name, number in (("delta_h", turn), ("scale_s", saturation), ("scale_v", value)):
        if number.dim() != 0:
            raise ValueError(f"{name} must be scalar: {list(number.shape)}")
    if images.shape[-1] != 3:
        raise ValueError(f"input must have 3 channels but instead has {images.shape[-1]} channels.")
    scale, strength = float(value), float(value) * float(saturation)
    u, w = strength * math.cos(turn), strength * math.sin(turn)
    change = np.array([[scale, 0, 0], [0, u, -w], [0, w, u]], np.float32)
    matrix = torch.from_numpy(_FROM_YIQ @ change @ _TO_YIQ).to(images.device)
    return (images.to(torch.float32) @ matrix.T).to(images.dtype)


@adjust_hsv_in_yiq_op.kernel
def adjust_hsv_in_yiq_kernel(node: Node) -> Kernel:
    return node.call(_adjust, *node.inputs)


@adjust_hsv_in_yiq_op.samples
def adjust_hsv_in_yiq_samples() -> Samples:
    image = np.linspace(0, 1, 24, dtype=np.float32).reshape(2, 4, 3)
    yield Sample(image, 0.3, 1.5, 0.9, grad=False)
    yield Bad(image[..., :2], 0.3, 1.5, 0.9, match="3 channels but instead has 2")
    yield Bad(image, [0.3], 1.5, 0.9, match="delta_h must be scalar")
    yield Bad(image[0], 0.3, 1.5, 0.9, match="at least rank 3")
