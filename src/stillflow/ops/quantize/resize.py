"""Resizing quantized images: QuantizedResizeBilinear."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.ops.quantize.linear import quantized, scalars
from stillflow.ops.samples import Bad, Sample

quantized_resize_bilinear_op = op("""
    QuantizedResizeBilinear(images: T, size: int32, min: float, max: float)
        -> (resized_images: T, out_min: float, out_max: float)
    T: {quint8, qint32, float}
    align_corners: bool = false
    half_pixel_centers: bool = false
""")

# How many bits of a weight follow the point.
_BITS = {"quint8": 7, "qint32": 30}


@quantized_resize_bilinear_op.shape
def quantized_resize_bilinear_shape(node: Node) -> Any:
    image = dims.with_rank(node.dims(0), 4)
    (count,) = dims.with_rank(node.dims(1), 1)
    dims.with_value(count, 2)
    size = node.value(1)
    sizes = (None, None) if size is None else tuple(size.tolist())
    if size is not None and min(sizes) <= 0:
        raise ValueError("output dimensions must be positive")
    scalars(node, 2, 3)
    return [(image[0], *sizes, image[3]), (), ()]


class Weights(NamedTuple):
    """For each output along one dimension: its neighbours, and how far it is from the first."""

    lower: Any
    upper: Any
    fraction: Any


def weights(size: int, wanted: int, align_corners: bool, half_pixel_centers: bool) -> Weights:
    """Where the outputs along one dimension lie among the inputs."""
    one = np.float32(1)
    scale = one * size / np.float32(wanted)
    if align_corners and wanted > 1:
        scale = one * (size - 1) / np.float32(wanted - 1)
    place = np.arange(wanted, dtype=np.float32)
    half = np.float32(0.5)
    place = (place + half) * scale - half if half_pixel_centers else place * scale
    floor = np.floor(place)
    lower = np.maximum(floor, 0).astype(np.int64)
    upper = np.minimum(np.ceil(place), size - 1).astype(np.int64)
    return Weights(lower, upper, place - floor)


def _along(parts: Weights, axis: int, bits: int | None, device: Any) -> tuple[Any, Any, Any]:
    fraction = parts.fraction
    if bits is not None:
        fraction = (fraction * np.float32(1 << bits)).astype(np.int64)
    shape = [1, 1, 1, 1]
    shape[axis] = -1
    lower, upper = (torch.from_numpy(places).to(device) for places in parts[:2])
    return lower, upper, torch.from_numpy(fraction).to(device).view(shape)


def _mix(image: Any, rows: Any, columns: Any) -> Any:
    top, bottom = image[:, rows[0]], image[:, rows[1]]

    def across(part: Any) -> Any:
        left, right = part[:, :, columns[0]], part[:, :, columns[1]]
        return left + (right - left) * columns[2]

    start = across(top)
    return start + (across(bottom) - start) * rows[2]


def _mix_integers(image: Any, rows: Any, columns: Any, bits: int) -> Any:
    """Weights are integers; divisions drop fractions."""
    one = 1 << bits
    top, bottom = image[:, rows[0]], image[:, rows[1]]

    def across(part: Any) -> Any:
        left, right = part[:, :, columns[0]], part[:, :, columns[1]]
        return left * one + (right - left) * columns[2]

    def divide(values: Any) -> Any:
        return torch.div(values, one, rounding_mode="trunc")

    start = across(top)
    return divide(start + divide(across(bottom) - start) * rows[2] + one // 2)


def _resize(
    image: Any, size: Any, low: Any, high: Any, bits: int | None, align: bool, centers: bool
) -> Any:
    ends = low.clone(), high.clone()
    height, width = size.tolist()
    if height <= 0 or width <= 0:
        raise ValueError("output dimensions must be positive")
    if image.shape[1] == 0 or image.shape[2] == 0:
        raise ValueError("input image must be of non-zero size")
    if (height, width) == tuple(image.shape[1:3]):
        return image.clone(), *ends
    rows, columns = (
        _along(weights(image.shape[axis], wanted, align, centers), axis, bits, image.device)
        for axis, wanted in ((1, height), (2, width))
    )
    if bits is None:
        return _mix(image, rows, columns), *ends
    # TF reads 32-bit numbers in single precision here, which keeps 24 bits of them.
    mixed = _mix_integers(image.to(torch.float32).to(torch.int64), rows, columns, bits)
    return mixed.to(image.dtype), *ends


@quantized_resize_bilinear_op.kernel
def quantized_resize_bilinear_kernel(node: Node) -> Any:
    bits = _BITS.get(node.T.name)
    return node.call(_resize, *node.inputs, bits, node.align_corners, node.half_pixel_centers)


@quantized_resize_bilinear_op.samples
def quantized_resize_bilinear_samples() -> Iterator[Any]:
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
