"""Resizing of images."""

from __future__ import annotations

from typing import Any

from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.ops.torch_sources.parts import Text, source_of


@source_of("ResizeBilinear")
def resize_bilinear_source(node: Node, x: Any, size: Any) -> Call | None:
    if size.numbers is None:
        return None
    half = bool(node.op.attrs.get("half_pixel_centers"))
    return node.call(_resize_bilinear, x, Text(size.sizes), node.align_corners, half)


def _source_places(size: int, wanted: int, align: bool, half: bool, device: Any) -> Any:
    """Return the places of a resized image's pixels in the image, along one dimension."""
    scale = (size - 1) / (wanted - 1) if align and wanted > 1 else size / wanted
    places = torch.arange(wanted, device=device, dtype=torch.float32)
    return (places + 0.5) * scale - 0.5 if half else places * scale


def _resize_bilinear(x: Any, size: Any, align: bool, half: bool) -> Any:
    """Bilinear resizing of images [batch, height, width, channels], by TensorFlow's rules."""
    x = x.to(torch.float32)
    for axis, wanted in enumerate(size, 1):
        places = _source_places(x.shape[axis], wanted, align, half, x.device)
        below = places.floor()
        lower = below.clamp(0, x.shape[axis] - 1).long()
        upper = (below + 1).clamp(0, x.shape[axis] - 1).long()
        share = (places - below).view(-1, *[1] * (3 - axis))
        low, high = x.index_select(axis, lower), x.index_select(axis, upper)
        x = low + (high - low) * share
    return x


@source_of("ResizeNearestNeighbor")
def resize_nearest_source(node: Node, x: Any, size: Any) -> Call | None:
    if size.numbers is None:
        return None
    half = bool(node.op.attrs.get("half_pixel_centers"))
    return node.call(_resize_nearest, x, Text(size.sizes), node.align_corners, half)


def _resize_nearest(x: Any, size: Any, align: bool, half: bool) -> Any:
    """Return the nearest pixels of [batch, height, width, channels], by TensorFlow's rules."""
    for axis, wanted in enumerate(size, 1):
        length = x.shape[axis]
        scale = (length - 1) / (wanted - 1) if align and wanted > 1 else length / wanted
        places = torch.arange(wanted, device=x.device, dtype=torch.float32)
        places = (places + 0.5) * scale if half else places * scale
        places = (places + 0.5).floor() if align else places.floor()
        x = x.index_select(axis, places.clamp(0, length - 1).long())
    return x
