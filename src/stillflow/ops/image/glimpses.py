"""Glimpses: windows around given places of images, with noise where they look outside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.ops.image.sizes import sized
from stillflow.ops.samples import Bad, Sample

extract_glimpse_op = op(
    """
    ExtractGlimpse(input: float, size: int32, offsets: float) -> glimpse: float
    centered: bool = true
    normalized: bool = true
    uniform_noise: bool = true
    noise: string = "uniform"
    """,
    differentiable=False,
)


@extract_glimpse_op.shape
def extract_glimpse_shape(node: Node) -> Any:
    image = dims_lib.with_rank(node.dims(0), 4)
    offsets = dims_lib.with_rank(node.dims(2), 2)
    batch = dims_lib.merge_dim(image[0], offsets[0])
    dims_lib.with_value(offsets[1], 2)
    if node.uniform_noise and node.noise not in (b"", b"uniform"):
        raise ValueError("The uniform_noise and noise should not be specified at the same time")
    return sized(node, batch, 1, image[3])


def _noise(kind: bytes, image: Any, height: int, width: int) -> Any:
    """What a glimpse shows where there is no image; like TF's, it is another one every time."""
    depth = image.shape[-1]
    sizes = (height, width, depth)
    if kind == b"zero":
        return torch.zeros(sizes, device=image.device)
    if kind == b"uniform":
        low = image.min()
        return low + torch.rand(sizes, device=image.device) * (image.max() - low)
    flat = image.reshape(-1, depth)
    spread = flat.std(0, correction=0)
    normal = flat.mean(0) + torch.randn(sizes, device=image.device) * spread
    return torch.minimum(torch.maximum(normal, flat.amin(0)), flat.amax(0))


def _start(offset: Any, size: int, window: int, normalized: bool, centered: bool) -> int:
    """Where a window begins, along one dimension."""
    place = np.float32(offset)
    if normalized:
        place = place * np.float32(size)
    if centered:
        place = place / np.float32(2) + np.float32(size) / np.float32(2)
    place = place - np.float32(window) / np.float32(2)
    return int(np.clip(np.nan_to_num(place, nan=-np.inf), -(2.0**40), 2.0**40))


def _overlap(start: int, size: int, window: int) -> tuple[slice, slice, bool]:
    """Which part of the glimpse shows which part of the image, and whether that is not all."""
    if start < 0:
        length = max(0, window + start)
        base = window - length
        length = min(length, size)
        return slice(base, base + length), slice(0, length), True
    if start + window >= size:
        length = max(0, size - start)
        return slice(0, length), slice(start, start + length), True
    return slice(0, window), slice(start, start + window), False


def _glimpses(
    images: Any, size: Any, offsets: Any, normalized: bool, centered: bool, noise: bytes
) -> Any:
    height, width = size.tolist()
    if height < 0 or width < 0:
        raise ValueError(f"Dimension size must be non-negative, got {min(height, width)}")
    batch, rows, columns, depth = images.shape
    glimpses = torch.empty((batch, height, width, depth), device=images.device)
    if glimpses.numel() == 0:
        return glimpses
    for glimpse, image, (y, x) in zip(glimpses, images, offsets.cpu().numpy(), strict=True):
        down = _overlap(_start(y, rows, height, normalized, centered), rows, height)
        across = _overlap(_start(x, columns, width, normalized, centered), columns, width)
        if down[2] or across[2]:
            glimpse.copy_(_noise(noise, image, height, width))
        glimpse[down[0], across[0]] = image[down[1], across[1]]
    return glimpses


@extract_glimpse_op.kernel
def extract_glimpse_kernel(node: Node) -> Any:
    noise = node.noise or (b"uniform" if node.uniform_noise else b"gaussian")
    if noise not in (b"uniform", b"gaussian", b"zero"):
        raise ValueError(
            f"The noise could only be uniform, gaussian, or zero, got{noise.decode('latin-1')}"
        )
    return node.call(_glimpses, *node.inputs, node.normalized, node.centered, noise)


@extract_glimpse_op.samples
def extract_glimpse_samples() -> Iterator[Any]:
    image = np.arange(120, dtype=np.float32).reshape(2, 6, 5, 2)
    offsets = np.array([[0, 0], [0.1, -0.2]], np.float32)
    yield Sample(image, [2, 3], offsets, fixed=(1,), grad=False)
    zero = {"uniform_noise": False, "noise": "zero"}
    yield Sample(image, [8, 3], offsets * 5, fixed=(1,), grad=False, **zero)
    yield Sample(image, [3, 3], offsets * 20, fixed=(1,), grad=False, normalized=False, **zero)
    yield Bad(image, [2, 3], offsets[:1], match="2 and 1")
    yield Bad(image, [2, 3], offsets, match="at the same time", noise="zero")


@export("image.extract_glimpse")
def extract_glimpse(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """Windows around given places of images.

    Args:
      input: `[batch, height, width, channels]`, single precision.
      size: height and width of the windows.
      offsets: `[batch, 2]`: for each image the middle of its window, y and x.
      centered: whether offsets count from the middle of the image, -1 and 1 being its ends.
      normalized: whether offsets are parts of the image's size.
      uniform_noise: whether pixels outside are drawn uniformly between the image's smallest and
        largest value; otherwise they are normal, with each channel's mean and deviation.
      name: of the operation.
    """
    return extract_glimpse_op(  # type: ignore[no-any-return]
        input, size, offsets, centered=centered, normalized=normalized,
        uniform_noise=uniform_noise, name=name,
    )  # fmt: skip
