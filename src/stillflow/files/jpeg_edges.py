"""Edges of a part that is cut out of a JPEG while it is decoded.

Chroma of half the width is interpolated between neighbours. libjpeg, asked for a part only, takes
that for the whole: the last column, and a first one where it began to decode, get the chroma of
their own sample alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import native
from stillflow.files import jpeg, jpeg_pillow

Image = np.ndarray[Any, Any]

# Adobe's segment: three components, not transformed.
_PLAIN = b"\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00"
_ROUNDING = {"first": 8, "last": 7}  # of sixteenths


def correct(
    image: Image, data: bytes, left: int, width: int, ratio: int = 1, fast: bool = True
) -> None:
    """Give the edges of a part the colours of libjpeg; at most two columns are changed.

    `image` is the whole, uint8 [height, width, 3], as `jpeg.decode` gives it with interpolated
    chroma; the part begins at column `left`.
    """
    rows = _rows_to_a_sample(data, ratio)
    edges = _edges(left, left + width, image.shape[1], 16 // ratio) if rows else {}
    if not edges:
        return
    samples = _samples(data, ratio, fast)
    for column, edge in edges.items():
        values = samples[:, column].astype(np.int64)
        if rows == 2 and edge in _ROUNDING:
            values[:, 1:] = (4 * _between_rows(values[:, 1:]) + _ROUNDING[edge]) >> 4
        image[:, column] = jpeg_pillow.colours(values)


def decode_part(
    data: bytes, window: tuple[int, int, int, int], channels: int = 0, ratio: int = 1,
    fancy_upscaling: bool = True, recover_truncated: bool = False, fast: bool = True,
) -> Image:  # fmt: skip
    """Return a part of an image, as libjpeg decodes it without the rest; see `jpeg.decode`.

    `window` is the first row and column, height and width; JpegError if it is not inside.
    ImportError as of `jpeg.decode`.
    """
    found, wanted = jpeg.check(data, channels, ratio)
    rows, columns = -(-found.height // ratio), -(-found.width // ratio)
    top, left, height, width = window
    if min(top, left, height - 1, width - 1) < 0 or top + height > rows or left + width > columns:
        raise jpeg.JpegError("no such part")
    upper = jpeg.shortened(data, (top + height) * ratio)
    has_loop = native.library() is not None and jpeg.is_ended(data, found.scan)
    if has_loop and fancy_upscaling and wanted == "RGB":
        part = _interpolated(upper, window, columns, ratio, fast)
        if part is not None:
            return part
    image = jpeg.decode(upper, channels, ratio, fancy_upscaling, recover_truncated, fast)
    if fancy_upscaling and image.shape[2] == 3:
        correct(image, upper, left, width, ratio, fast)
    return image[top : top + height, left : left + width]


def _interpolated(
    data: bytes, window: tuple[int, int, int, int], columns: int, ratio: int, fast: bool
) -> Image | None:
    """Return a part whose edges are not those of the whole, from one decoding.

    None for any other.
    """
    top, left, height, width = window
    rows_to_each, block = _rows_to_a_sample(data, ratio), 16 // ratio
    edges = _edges(left, left + width, columns, block) if rows_to_each else {}
    library: Any = native.library()
    if not edges or "alone" in edges.values():
        return None
    try:
        samples = _samples(data, ratio, fast)
    except (ValueError, RuntimeError):  # which the other way will tell
        return None
    part = np.empty((height, width, 3), np.uint8)
    end = left + width if left + width < columns else columns
    library.interpolate_chroma(
        samples.ctypes.data, *samples.shape[:2], left // block * block, end, rows_to_each,
        top, left, height, width, part.ctypes.data,
    )  # fmt: skip
    return part


def _edges(left: int, end: int, width: int, block: int) -> dict[int, str]:
    """Return the columns in [`left`, `end`) that differ from the whole image."""
    if (width + 1) // 2 <= 2:  # nothing is interpolated
        return {}
    start = left // block * block
    if end - start <= 2:  # one sample: rows are not interpolated either
        return dict.fromkeys(range(left, end), "alone")
    found = {}
    if 0 < left == start:
        found[left] = "first"
    if end < width and end % 2 == 0:
        found[end - 1] = "last"
    return found


def _rows_to_a_sample(data: bytes, ratio: int) -> int | None:
    """Return the number of rows per chroma sample.

    None unless two columns share one, interpolated.
    """
    frame = jpeg.frame(data)
    factors = [(byte >> 4, byte & 15) for byte in frame[7::3]]
    if len(factors) != 3 or ratio > 4 or not jpeg.is_transformed(data):
        return None
    if factors[0] == (2, 1) and factors[1:] == [(1, 1)] * 2:
        return 1
    # A smaller image has chroma of its own width in this case.
    return 2 if factors[0] == (2, 2) and factors[1:] == [(1, 1)] * 2 and ratio == 1 else None


def _samples(data: bytes, ratio: int, fast: bool) -> Image:
    """Y, Cb and Cr of every pixel without interpolation."""
    try:
        import simplejpeg
    except ImportError:
        return jpeg_pillow.samples(data, ratio, fast)
    size = jpeg.header(data)
    dropped = [
        slice(place, place + 4 + len(segment))
        for place, segment in jpeg.segments(data)
        if segment[:5] in (b"JFIF\0", b"Adobe")
    ]
    plain = bytearray(data)
    for part in reversed(dropped):
        del plain[part]
    plain[2:2] = _PLAIN
    found: Image = simplejpeg.decode_jpeg(
        bytes(plain), "RGB", fastdct=fast, fastupsample=True, strict=False,
        min_height=-(-size.height // ratio), min_width=-(-size.width // ratio), min_factor=ratio,
    )  # fmt: skip
    return found


def _between_rows(values: Image) -> Image:
    """Three times each row's sample and that of the next row that has another, [rows, ...]."""
    above = np.concatenate([values[:1], values[:-1]])
    below = np.concatenate([values[1:], values[-1:]])
    is_upper = (np.arange(len(values)) % 2 == 0)[:, None]
    return 3 * values + np.where(is_upper, above, below)
