"""Glimpses: windows around given places of images, with noise where they look outside."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.image.sizes import sized
from stillflow.ops.samples import Bad, Sample, Samples

extract_glimpse_op = op(
    """
    ExtractGlimpse(input: float, size: int32, offsets: float) -> glimpse: float
    centered: bool = true
    normalized: bool = true
    uniform_noise: bool = true
    noise: string = "uniform"
    """,
    differentiable=False,
    devices="host",
)


@extract_glimpse_op.shape
def extract_glimpse_shape(node: Node) -> OutputDims:
    image = dims_lib.with_rank(node.dims(0), 4)
    offsets = dims_lib.with_rank(node.dims(2), 2)
    batch = dims_lib.merge_dim(image[0], offsets[0])
    dims_lib.with_value(offsets[1], 2)
    if node.uniform_noise and node.noise not in (b"", b"uniform"):
        raise ValueError("The uniform_noise and noise should not be specified at the same time")
    return sized(node, batch, 1, image[3])


def _noise(kind: bytes, images: Any, height: int, width: int) -> torch.Tensor:
    """Return the filling of glimpses outside of the image; like TF's, a new one every time."""
    sizes = (len(images), height, width, images.shape[-1])
    if kind == b"zero":
        return images.new_zeros(sizes)
    whole = (1, 2, 3)
    if kind == b"uniform":
        low, high = images.amin(whole, True), images.amax(whole, True)
        return low + torch.rand(sizes, device=images.device) * (high - low)
    pixels = (1, 2)
    spread = images.std(pixels, correction=0, keepdim=True)
    normal = images.mean(pixels, True) + torch.randn(sizes, device=images.device) * spread
    return torch.minimum(
        torch.maximum(normal, images.amin(pixels, True)), images.amax(pixels, True)
    )


def _starts(
    offsets: np.ndarray, size: int, window: int, normalized: bool, centered: bool
) -> np.ndarray:
    """Return the starts of windows along one dimension."""
    places = offsets.astype(np.float32)
    if normalized:
        places = places * np.float32(size)
    if centered:
        places = places / np.float32(2) + np.float32(size) / np.float32(2)
    places = places - np.float32(window) / np.float32(2)
    far = np.float32(2.0**40)
    return np.clip(np.nan_to_num(places, nan=-np.inf), -far, far).astype(np.int64)


def _glimpses(
    images: Any, size: Any, offsets: Any, normalized: bool, centered: bool, noise: bytes
) -> torch.Tensor:
    height, width = size.tolist()
    if height < 0 or width < 0:
        raise ValueError(f"Dimension size must be non-negative, got {min(height, width)}")
    batch, rows, columns, depth = images.shape
    if 0 in (batch, height, width, depth):
        return torch.empty((batch, height, width, depth), device=images.device)
    if 0 in (rows, columns):
        return _noise(noise, images, height, width)
    at, how = offsets.cpu().numpy(), (normalized, centered)
    y = _starts(at[:, 0], rows, height, *how)[:, None] + np.arange(height)
    x = _starts(at[:, 1], columns, width, *how)[:, None] + np.arange(width)
    seen = ((y >= 0) & (y < rows))[:, :, None] & ((x >= 0) & (x < columns))[:, None]
    # Every pixel of an image that is looked for outside is one of its corners, which noise covers.
    lines = np.arange(batch)[:, None] * rows + np.clip(y, 0, rows - 1)
    pixels = lines[:, :, None] * columns + np.clip(x, 0, columns - 1)[:, None]
    places = torch.from_numpy(pixels.reshape(-1)).to(images.device)
    found = images.reshape(-1, depth).index_select(0, places).view(batch, height, width, depth)
    partly = np.flatnonzero(~seen.all((1, 2)))
    if partly.size:
        which = torch.from_numpy(partly).to(images.device)
        kept = torch.from_numpy(seen[partly][..., None]).to(images.device)
        drawn = _noise(noise, images.index_select(0, which), height, width)
        found.index_copy_(0, which, torch.where(kept, found.index_select(0, which), drawn))
    return found


@extract_glimpse_op.kernel
def extract_glimpse_kernel(node: Node) -> Kernel:
    noise = node.noise or (b"uniform" if node.uniform_noise else b"gaussian")
    if noise not in (b"uniform", b"gaussian", b"zero"):
        raise ValueError(
            f"The noise could only be uniform, gaussian, or zero, got{noise.decode('latin-1')}"
        )
    return node.call(_glimpses, *node.inputs, node.normalized, node.centered, noise)


@extract_glimpse_op.samples
def extract_glimpse_samples() -> Samples:
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
    return extract_glimpse_op(
        input, size, offsets, centered=centered, normalized=normalized,
        uniform_noise=uniform_noise, name=name,
    )  # fmt: skip
