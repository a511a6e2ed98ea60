"""JPEG files, as `libjpeg` decodes them with TensorFlow's settings.

Decoding uses simplejpeg where it is installed, which has all of these settings; Pillow, which
encodes, decodes to the same values, slower (jpeg_pillow.py). Both are optional.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from stillflow import native

MAGIC = b"\xff\xd8\xff"
_END = b"\xff\xd9"
_LARGEST = 1 << 29
_WITHOUT_LENGTH = frozenset((0x01, *range(0xD0, 0xDA)))
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_SCAN = 0xDA
_SEQUENTIAL = frozenset((0xC0, 0xC1))
_MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")
_UNKNOWN = frozenset((*range(0x02, 0xC0), 0xDE, 0xDF, *range(0xF0, 0xFE)))


class JpegError(ValueError):
    """A file that cannot be decoded."""


class Header(NamedTuple):
    """Facts in the header of a JPEG file."""

    height: int
    width: int
    components: int
    adobe: bool
    transform: int  # Adobe's: 0 RGB or CMYK, 1 YCbCr, 2 YCCK
    scan: int  # where the first scan begins


def segments(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield place and content of each segment before the first scan; JpegError if there is none."""
    for place, _, segment in _segments(data):
        yield place, segment


def _segments(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield place, kind and content of each segment up to the head of the first scan."""
    if not data.startswith(b"\xff\xd8"):
        raise JpegError("no start of image")
    place, kind = 2, 0
    while kind != _SCAN:
        place = data.find(b"\xff", place)
        if place < 0 or place + 4 > len(data):
            raise JpegError("no scan")
        kind = data[place + 1]
        if kind in (0x00, 0xFF) or kind in _WITHOUT_LENGTH:
            place += 1 if kind == 0xFF else 2
            continue
        length = int.from_bytes(data[place + 2 : place + 4], "big")
        yield place, kind, data[place + 4 : place + 2 + length]
        place += 2 + max(length, 2)


def frame(data: bytes) -> bytes:
    """Return precision, height, width and components from the frame header, or raise JpegError."""
    return _frame(_segments(data))


def frames(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the head of each frame begins, and its kind."""
    for place, kind, _ in _segments(data):
        if kind in _FRAMES:
            yield place, kind


def is_transformed(data: bytes) -> bool:
    """Return True if a file of several components has YCbCr or YCCK, as libjpeg guesses."""
    found = {segment[:5]: segment for _, segment in segments(data)}
    names, adobe = frame(data)[6::3], found.get(b"Adobe", b"")
    transform = adobe[11] if len(adobe) >= 12 else None
    if len(names) == 4:
        return bool(transform)
    if b"JFIF\0" in found:
        return True
    return transform != 0 if transform is not None else names != b"RGB"


def _frame(found: Iterable[tuple[int, int, bytes]]) -> bytes:
    heads = [segment for _, kind, segment in found if kind in _FRAMES and len(segment) >= 6]
    if not heads:
        raise JpegError("no frame")
    return heads[-1]


def header(data: bytes) -> Header:
    """Read the segments before the first scan; JpegError if there is none, or no frame."""
    found = list(_segments(data))
    head, transform = _frame(found), -1
    for _, kind, segment in found:
        if kind == 0xEE and segment.startswith(b"Adobe") and len(segment) >= 12:
            transform = segment[11]
    height, width = int.from_bytes(head[1:3], "big"), int.from_bytes(head[3:5], "big")
    return Header(height, width, head[5], transform >= 0, transform, found[-1][0])


def is_ended(data: bytes, scan: int) -> bool:
    """Return True if a file has an end marker after its first scan begins."""
    return data.rfind(_END, scan) >= 0  # mostly the last two bytes


def shortened(data: bytes, rows: int) -> bytes:
    """Return a file with only the first rows of another one, so that the others are not decoded.

    Only files of one scan, and with an end, are made shorter; a few rows more than `rows` are left,
    with which libjpeg interpolates.
    """
    place, segment = 0, b""
    for at, kind, found in _segments(data):
        if kind in _SEQUENTIAL:
            place, segment = at, found
    if not place or len(segment) < 6 + 3 * segment[5] or not is_ended(data, place):
        return data
    unit = 8 * max((factors & 15 for factors in segment[7::3]), default=1)
    left = (-(-rows // unit) + 1) * unit
    head, size = place + 5, int.from_bytes(segment[1:3], "big")
    if len(found) < 1 or found[0] != segment[5] or left >= size:
        return data
    return data[:head] + left.to_bytes(2, "big") + data[head + 2 :]


def decode(
    data: bytes, channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True,
    recover_truncated: bool = False, fast: bool = True,
) -> np.ndarray[Any, Any]:  # fmt: skip
    """Return the image as uint8 [height, width, channels].

    `channels` are 1 (grey), 3 (RGB), or 0: as in the file, CMYK becoming RGB. `ratio` is 1, 2, 4 or
    8, the divisor of the size. Chroma is interpolated by `fancy_upscaling`; missing rows are made
    up by `recover_truncated`; `fast` is the inverse transform. JpegError for files damaged beyond
    decoding, ImportError without simplejpeg and Pillow.
    """
    found, wanted = check(data, channels, ratio)
    how = (wanted, ratio, fancy_upscaling, fast)
    image: np.ndarray[Any, Any]
    if is_ended(data, found.scan):
        image = _decode(data, *how, strict=False)
    else:
        try:
            image = _decode(data + _END, *how, strict=True)
        except JpegError:
            if not recover_truncated:
                raise
            image = _decode(data, *how, strict=False)
    return _from_cmyk(image, found.adobe) if wanted == "CMYK" else image


def check(data: bytes, channels: int, ratio: int) -> tuple[Header, str]:
    """Return a file's header and its decoded colours, GRAY, RGB or CMYK, or raise JpegError."""
    found = header(data)
    size = -(-found.height // ratio) * -(-found.width // ratio) * found.components
    if found.height <= 0 or found.width <= 0 or size >= _LARGEST:
        raise JpegError("bad size")
    if found.components not in (1, 3, 4):
        raise JpegError(f"{found.components} components")
    channels = channels or min(found.components, 3)
    wanted = "GRAY" if channels == 1 else "RGB" if found.components < 4 else "CMYK"
    if found.components == 4 and channels == 1:
        raise JpegError("CMYK cannot be decoded as grey")
    _check_markers(data, found.scan)
    return found, wanted


def _check_markers(data: bytes, scan: int) -> None:
    """Raise an error for markers that libjpeg does not know, which the decoders ignore."""
    place = _next_marker(data, scan)
    while place >= 0:
        kind = data[place + 1]
        if kind in _UNKNOWN:
            raise JpegError(f"Unsupported marker type 0x{kind:02x}")
        if kind == _END[1]:
            return
        length = int.from_bytes(data[place + 2 : place + 4], "big")
        place = _next_marker(data, place + 2 + max(length, 2))


def _next_marker(data: bytes, place: int) -> int:
    """Return the place of the next marker that is neither data, filling nor a restart.

    -1 if none.
    """
    library = native.library()
    if library is not None:
        return library.next_marker(data, len(data), place)
    match = _MARKER.search(data, place)
    return match.start() if match else -1


def _decode(
    data: bytes, wanted: str, ratio: int, fancy: bool, fast: bool, strict: bool
) -> np.ndarray[Any, Any]:
    from stillflow.files import jpeg_pillow

    try:
        import simplejpeg
    except ImportError:
        return jpeg_pillow.decode(data, wanted, ratio, fancy, fast, strict)
    smaller: dict[str, Any] = {}
    if ratio > 1:
        size = header(data)
        if (
            max(size.height, size.width) <= ratio
        ):  # simplejpeg makes no single pixel of fewer samples
            return jpeg_pillow.decode(data, wanted, ratio, fancy, fast, strict)
        smaller = {
            "min_height": -(-size.height // ratio), "min_width": -(-size.width // ratio),
            "min_factor": ratio,
        }  # fmt: skip
    try:
        image: np.ndarray[Any, Any] = simplejpeg.decode_jpeg(
            data, wanted, fastdct=fast, fastupsample=not fancy, strict=strict, **smaller
        )
    except (ValueError, RuntimeError, MemoryError) as error:
        if "subsampling" in str(error):  # it knows the usual ones only
            return jpeg_pillow.decode(data, wanted, ratio, fancy, fast, strict)
        raise JpegError(str(error)) from None
    return image


def _from_cmyk(image: np.ndarray[Any, Any], inverted: bool) -> np.ndarray[Any, Any]:
    """Inks as colours; Adobe writes how much of each ink is missing."""
    inks = image.astype(np.int32)
    if not inverted:
        inks = 255 - inks
    return (inks[..., :3] * inks[..., 3:] // 255).astype(np.uint8)


def encode(
    image: np.ndarray[Any, Any], quality: int = 95, progressive: bool = False,
    optimize: bool = False, downsample: bool = True, density_unit: int = 1,
    density: tuple[int, int] = (300, 300), xmp: bytes = b"",
) -> bytes:  # fmt: skip
    """Return an image, uint8 [height, width, 1 or 3], as a JPEG file; ImportError without Pillow.

    `quality` is 0 to 100; `progressive` files have several scans; `optimize` gives the file Huffman
    tables of its own; `downsample` halves the resolution of chroma. `density_unit` is 1 for dots
    per inch, 2 per centimetre; `xmp` is metadata to embed.
    """
    from PIL import Image

    picture = Image.fromarray(image[..., 0] if image.shape[2] == 1 else image)
    out = io.BytesIO()
    picture.save(
        out, "JPEG", quality=max(quality, 1), progressive=progressive, optimize=optimize,
        subsampling=2 if downsample and image.shape[2] == 3 else 0, dpi=density,
    )  # fmt: skip
    data = bytearray(out.getvalue())
    # The JFIF segment comes first: its unit and densities, as they were asked for.
    data[13] = density_unit
    data[14:18] = b"".join((value & 0xFFFF).to_bytes(2, "big") for value in density)
    if xmp:
        packet = b"http://ns.adobe.com/xap/1.0/\0" + xmp
        if len(packet) > 0xFFFD:
            raise JpegError("metadata too long")
        data[20:20] = b"\xff\xe1" + (len(packet) + 2).to_bytes(2, "big") + packet
    return bytes(data)
