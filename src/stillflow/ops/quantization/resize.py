"""Resizing quantized images: QuantizedResizeBilinear."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import native
from stillflow.graph import dims, dtypes
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops import native_calls
from stillflow.ops.memory_limits import require_room
from stillflow.ops.nn.interpolation import (
    Weights,
    along,
    interpolate,
    interpolate_integers,
    weights,
)
from stillflow.ops.quantization.linear import quantized, single_numbers
from stillflow.ops.samples import Bad, Sample, Samples

quantized_resize_bilinear_op = op(
    """
    QuantizedResizeBilinear(images: T, size: int32, min: float, max: float)
        -> (resized_images: T, out_min: float, out_max: float)
    T: {quint8, qint32, float}
    align_corners: bool = false
    half_pixel_centers: bool = false
""",
    devices="host",
    cost=Cost("unknown"),
)

# How many bits of a weight follow the point.
_BITS = {"quint8": 7, "qint32": 30}


@quantized_resize_bilinear_op.shape
def quantized_resize_bilinear_shape(node: Node) -> OutputDims:
    image = dims.with_rank(node.dims(0), 4)
    (count,) = dims.with_rank(node.dims(1), 1)
    dims.with_value(count, 2)
    size = node.value(1)
    sizes = (None, None) if size is None else tuple(size.tolist())
    if size is not None and min(sizes) <= 0:
        raise ValueError("output dimensions must be positive")
    single_numbers(node, 2, 3)
    return [(image[0], *sizes, image[3]), (), ()]


def _resize(
    image: Any, size: Any, low: Any, high: Any, dtype: Any, align: bool, centers: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    bits = _BITS.get(dtype.name)
    ends = low.clone(), high.clone()
    height, width = size.tolist()
    if height <= 0 or width <= 0:
        raise ValueError("output dimensions must be positive")
    if image.shape[1] == 0 or image.shape[2] == 0:
        raise ValueError("input image must be of non-zero size")
    require_room((image.shape[0], height, width, image.shape[3]), dtype)
    if (height, width) == tuple(image.shape[1:3]):
        return image.clone(), *ends
    found = [weights(image.shape[1], height, align, centers)]
    found.append(weights(image.shape[2], width, align, centers))
    if bits is None:
        return interpolate(image, *found), *ends
    if native_calls.reach(image):
        return _by_loop(image, [_axis(*pair, bits) for pair in zip(image.shape[1:3], found)]), *ends
    rows, columns = (along(w, axis, image.device, bits) for axis, w in enumerate(found, 1))
    # TensorFlow reads 32-bit numbers in single precision here, which keeps 24 bits of them.
    mixed = interpolate_integers(image.to(torch.float32).to(torch.int64), rows, columns, bits)
    return mixed.to(image.dtype), *ends


def _axis(size: int, parts: Weights, bits: int) -> Any:
    """Return the `Axis` of native/quantized.c, as an array, and what its addresses are of."""
    fraction = (parts.fraction * np.float32(1 << bits)).astype(np.int64)
    used = parts.lower, parts.upper, fraction
    return np.array([*(each.ctypes.data for each in used), size, len(fraction)], np.int64), used


def _by_loop(image: Any, axes: Any) -> torch.Tensor:
    library: Any = native.library()
    batch, _, _, channels = image.shape
    counts = [numbers[-1] for numbers, _ in axes]
    result = torch.empty((batch, *counts, channels), dtype=image.dtype)
    library.resize_quantized(
        image.data_ptr(), image.dtype is torch.uint8, batch, channels,
        *(numbers.ctypes.data for numbers, _ in axes), result.data_ptr(),
    )  # fmt: skip
    return result


@quantized_resize_bilinear_op.kernel
def quantized_resize_bilinear_kernel(node: Node) -> Kernel:
    return node.call(_resize, *node.inputs, node.T, node.align_corners, node.half_pixel_centers)


@quantized_resize_bilinear_op.samples
def quantized_resize_bilinear_samples() -> Samples:
    ends = (np.float32(-1), np.float32(2))
    for kind in (dtypes.quint8, dtypes.qint32):
        image = quantized(kind, 1, 3, 4, 2)
        yield Sample(image, [5, 7], *ends, fixed=(1,))
        yield Sample(image[:, ::-1].copy(), [2, 9], *ends, fixed=(1,), align_corners=True)
        yield Sample(image, [7, 3], *ends, fixed=(1,), half_pixel_centers=True)
        yield Sample(image, [3, 4], *ends, fixed=(1,))
    image = np.sin(np.arange(24, dtype=np.float32)).reshape(1, 3, 4, 2)
    yield Sample(image, [5, 7], *ends, fixed=(1,), grad=False)
    yield Bad(image, [5, 0], *ends, match="must be positive")
    yield Bad(image[0], [5, 7], *ends, match="must be rank 4")
