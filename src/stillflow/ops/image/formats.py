"""File formats of strings, and the errors for undecodable ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.errors import InternalError, internal
from stillflow.files import gif, jpeg, jpeg_edges, png_reader
from stillflow.graph import dims as dims_lib
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.summarize import escape
from stillflow.ops.input_ranks import kernel_ranks

_CHANNELS = "channels must be 0, 1, 3, or 4, got {}"


contents_rank = kernel_ranks((0, 0, "contents must be scalar, got shape {}"))
image_rank = kernel_ranks((0, 3, "image must be 3-dimensional{}"))


def decoded_shape(node: Node) -> tuple[int | None, ...]:
    """[height, width, channels], of which channels may be known."""
    dims_lib.with_rank(node.dims(0), 0)
    if node.channels < 0:
        raise ValueError(f"channels must be non-negative, got {node.channels}")
    return (None, None, node.channels or None)


def encoded_shape(node: Node) -> Any:
    """One string, of an image of three dimensions."""
    dims_lib.with_rank(node.dims(0), 3)
    return ()


def check_channels(channels: int) -> None:
    if channels not in (0, 1, 3, 4):
        raise ValueError(_CHANNELS.format(channels))


def content(value: Any) -> bytes:
    """Return the bytes of a scalar string."""
    data: Any = np.asarray(value, object)[()]
    return data


def tensor(image: np.ndarray, device: Any) -> Any:
    return torch.from_numpy(np.ascontiguousarray(image)).to(device)


def internal_error(message: str) -> InternalError:
    return internal(message)


def kind_of(data: bytes) -> str:
    """Return "JPEG", "PNG" or "GIF"; ValueError says what other bytes begin with."""
    for name, magic in (("JPEG", jpeg.MAGIC), ("PNG", png_reader.MAGIC), ("GIF", gif.MAGIC)):
        if data.startswith(magic):
            return name
    seen = f"unknown format starting with '{escape(data[:16])}'" if data else "empty file"
    raise ValueError(f"Expected image (JPEG, PNG, or GIF), got {seen}")


def decode_jpeg(
    data: bytes, channels: int, window: tuple[int, int, int, int] | None = None, **how: Any
) -> np.ndarray:
    if channels not in (0, 1, 3):
        raise ValueError(f"channels must be 0, 1, or 3 for JPEG, got {channels}")
    try:
        if window is not None:
            return jpeg_edges.decode_part(data, window, channels, **how)
        return jpeg.decode(data, channels, **how)
    except jpeg.JpegError:
        raise ValueError(f"Invalid JPEG data or crop window, data size {len(data)}") from None


def decode_png(data: bytes, channels: int, bits: int = 8) -> np.ndarray:
    try:
        return png_reader.decode(data, channels, bits)
    except png_reader.PngError as error:
        if error.part == "size":
            raise ValueError(f"PNG size too large for int: {error}") from None
        where = " header, data size" if error.part == "header" else " data, size"
        raise ValueError(f"Invalid PNG{where} {len(data)}") from None


def decode_gif(data: bytes, channels: int) -> np.ndarray:
    if channels not in (0, 3):
        raise ValueError(f"channels must be 0 or 3 for GIF, got {channels}")
    try:
        return gif.decode(data)
    except gif.GifError as error:
        raise ValueError(f"Invalid GIF data (size {len(data)}), {error}") from None


def one_frame(frames: np.ndarray) -> np.ndarray:
    if len(frames) != 1:
        raise ValueError(
            f"Got {len(frames)} frames, but animated gifs can only be decoded by "
            "tf.image.decode_gif or tf.image.decode_image"
        )
    first: np.ndarray = frames[0]
    return first
