"""PNG images: reading them as libpng gives them with TensorFlow's settings."""

from __future__ import annotations

import io
import zlib
from typing import Any, NamedTuple

import numpy as np

MAGIC = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_PASSES = (
    (0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2),
    (1, 0, 2, 1),
)  # fmt: skip
# The shares of red, green and blue in grey, of 2**15.
_GREY = (9797, 19234, 3737)


class PngError(ValueError):
    """A file that cannot be decoded; `part` says whether its header is bad, its size or data."""

    def __init__(self, part: str, message: str) -> None:
        super().__init__(message)
        self.part = part


class Header(NamedTuple):
    """The IHDR chunk, palette and transparency."""

    width: int
    height: int
    depth: int
    colour: int
    interlaced: bool
    palette: np.ndarray[Any, Any]
    transparent: bytes | None
    data: bytes  # compressed


def _chunks(data: bytes) -> Any:
    place = len(MAGIC)
    while place + 8 <= len(data):
        length = int.from_bytes(data[place : place + 4], "big")
        kind, content = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        crc = data[place + 8 + length : place + 12 + length]
        if len(crc) < 4:
            # Without this chunk the file has no pixels; with it, they are truncated.
            if kind == b"IDAT":
                yield kind, content
            return
        place += 12 + length
        # A needed chunk must be whole before the reader continues past it.
        if zlib.crc32(content, zlib.crc32(kind)) != int.from_bytes(crc, "big"):
            if kind[0] & 0x20:
                continue
            return
        yield kind, content


def read(data: bytes) -> Header:
    """Read all chunks; PngError for a bad header, size or data."""
    if not data.startswith(MAGIC):
        raise PngError("header", "not a PNG file")
    sizes, palette, transparent, parts, ended = None, b"", None, [], False
    for kind, content in _chunks(data):
        if sizes is None:
            if kind != b"IHDR" or len(content) != 13:
                break
            sizes = content
        elif kind == b"PLTE":
            palette = content
        elif kind == b"tRNS":
            transparent = content
        elif kind == b"IDAT":
            parts.append(content)
        elif kind == b"IEND":
            ended = True
            break
    if sizes is None:
        raise PngError("header", "no IHDR")
    width, height = int.from_bytes(sizes[:4], "big"), int.from_bytes(sizes[4:8], "big")
    depth, colour = sizes[8], sizes[9]
    if depth not in _DEPTHS.get(colour, ()) or sizes[10] or sizes[11] or sizes[12] > 1:
        raise PngError("header", "bad IHDR")
    if not 0 < width < 2**31 or not 0 < height < 2**31:
        raise PngError("header", "bad size")
    if not parts or (colour == 3 and not palette):
        raise PngError("header", "no data")
    if width >= 1 << 27 or height >= 1 << 27 or width * height >= 1 << 29:
        raise PngError("size", f"{width} by {height}")
    if not ended:
        raise PngError("data", "no IEND")
    table = np.zeros((256, 3), np.uint8)
    count = min(len(palette) // 3, 256)
    table[:count] = np.frombuffer(palette[: 3 * count], np.uint8).reshape(-1, 3)
    return Header(
        width, height, depth, colour, bool(sizes[12]), table, transparent, b"".join(parts)
    )


def decode(data: bytes, channels: int = 0, bits: int = 8) -> np.ndarray[Any, Any]:
    """Return the image, [height, width, channels], as uint8 or uint16, by `bits`, or PngError.

    `channels`: 1 (grey), 2 (and alpha), 3 (RGB), 4 (and alpha), or 0: as in the file.
    """
    found = read(data)
    values = _samples(data, found)
    depth = 16 if values.dtype == np.uint16 else 8
    top = (1 << depth) - 1
    alpha = None
    if found.colour == 3:
        alpha = np.full(256, 255, np.uint8)
        given = (found.transparent or b"")[:256]
        alpha[: len(given)] = np.frombuffer(given, np.uint8)
        alpha = alpha[values] if found.transparent is not None else None
        values = found.palette[values[..., 0]]
    elif found.colour in (4, 6):
        values, alpha = values[..., :-1], values[..., -1:]
    elif found.transparent is not None:
        alpha = _keyed(found, values) * np.array(top, values.dtype)
    if not channels:
        own = {3: 4 if found.transparent is not None else 3}
        channels = own.get(found.colour, _CHANNELS[found.colour])
    values = _as_colours(values, 3 if channels >= 3 else 1)
    if channels in (2, 4):
        if alpha is None:
            filler = min((1 << found.depth) - 1, top)
            alpha = np.full((*values.shape[:2], 1), filler, values.dtype)
        values = np.concatenate([values, alpha.astype(values.dtype)], -1)
    if bits == 8 and values.dtype == np.uint16:
        return (values >> 8).astype(np.uint8)
    if bits == 16 and values.dtype == np.uint8:
        return values.astype(np.uint16) * np.uint16(257)
    return np.ascontiguousarray(values)


def _as_colours(values: np.ndarray[Any, Any], count: int) -> np.ndarray[Any, Any]:
    if values.shape[-1] == count:
        return values
    if count == 3:
        return np.repeat(values, 3, -1)
    wide = values.astype(np.int64)
    red, green, blue = wide[..., 0], wide[..., 1], wide[..., 2]
    half = 16384 if values.dtype == np.uint16 else 0
    mixed = (_GREY[0] * red + _GREY[1] * green + _GREY[2] * blue + half) >> 15
    return np.where((red == green) & (green == blue), red, mixed)[..., None].astype(values.dtype)


def _keyed(found: Header, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return 1 where the colour is not the transparent one, else 0."""
    key = np.frombuffer(found.transparent or b"", ">u2")[: values.shape[-1]].astype(np.int64)
    if found.depth < 8:
        key = key * 255 // ((1 << found.depth) - 1)
    return (values != key).any(-1, keepdims=True)


def _samples(data: bytes, found: Header) -> np.ndarray[Any, Any]:
    """Return the samples as they are stored; grey of less than 8 bits is spread to 8."""
    values = _with_pillow(data, found)
    return _unpacked(found) if values is None else values


def _with_pillow(data: bytes, found: Header) -> np.ndarray[Any, Any] | None:
    """Return the same from Pillow, which is faster, where it is installed and keeps the samples."""
    try:
        from PIL import Image
    except ImportError:
        return None
    if found.depth != 8:
        return None
    try:
        values = np.array(Image.open(io.BytesIO(data), formats=["PNG"]))
    except (OSError, ValueError, SyntaxError) as error:
        raise PngError("data", str(error)) from None
    return values if values.ndim == 3 else values[..., None]


def _unpacked(found: Header) -> np.ndarray[Any, Any]:
    channels = _CHANNELS[found.colour]
    steps = _PASSES if found.interlaced else ((0, 0, 1, 1),)
    dtype = np.uint16 if found.depth == 16 else np.uint8
    image = np.zeros((found.height, found.width, channels), dtype)
    bits = channels * found.depth
    parts = [image[top::down, left::across] for top, left, down, across in steps]
    sizes = [(p.shape[0], -(-p.shape[1] * bits // 8)) for p in parts]
    needed = sum(rows * (length + 1) for rows, length in sizes if length)
    try:
        raw = zlib.decompressobj().decompress(found.data, needed)
    except zlib.error as error:
        raise PngError("data", str(error)) from None
    if len(raw) < needed:
        raise PngError("data", "not enough image data")
    place = 0
    for part, (rows, length) in zip(parts, sizes, strict=True):
        if not rows or not length:
            continue
        size = rows * (length + 1)
        lines = np.frombuffer(raw, np.uint8, size, place).reshape(rows, length + 1)
        place += size
        part[...] = _split(_unfiltered(lines, max(1, bits // 8)), found, part.shape)
    return image


def _split(lines: np.ndarray[Any, Any], found: Header, shape: Any) -> np.ndarray[Any, Any]:
    """Bytes as samples of the file's depth."""
    if found.depth == 16:
        return lines.view(">u2").reshape(shape)
    if found.depth == 8:
        return lines.reshape(shape)
    per_byte = 8 // found.depth
    shifts = np.arange(per_byte - 1, -1, -1, dtype=np.uint8) * found.depth
    largest = (1 << found.depth) - 1
    spread = (lines[..., None] >> shifts & largest).reshape(len(lines), -1)[:, : shape[1]]
    if found.colour == 0:
        spread = spread * np.uint8(255 // largest)
    return spread.reshape(shape)


def _unfiltered(lines: np.ndarray[Any, Any], step: int) -> np.ndarray[Any, Any]:
    """Rows as they were before each was written as differences; `step` bytes are a pixel."""
    length = lines.shape[1] - 1
    rows = np.zeros((len(lines), length), np.uint8)
    above = np.zeros(length, np.uint8)
    for kind, line, row in zip(lines[:, 0].tolist(), lines[:, 1:], rows, strict=True):
        if kind == 0:
            row[:] = line
        elif kind == 1:
            for start in range(step):
                np.cumsum(line[start::step], out=row[start::step], dtype=np.uint8)
        elif kind == 2:
            np.add(line, above, out=row)
        elif kind in (3, 4):
            _predicted(kind, line.tolist(), above.tolist(), row, step)
        else:
            raise PngError("data", "bad adaptive filter value")
        above = row
    return rows


def _predicted(
    kind: int, line: list[int], above: list[int], row: np.ndarray[Any, Any], step: int
) -> None:
    """Undoes the filters that look to the left and above: the mean, and Paeth's."""
    out = [0] * len(line)
    for index, value in enumerate(line):
        up = above[index]
        left = out[index - step] if index >= step else 0
        if kind == 3:
            guess = (left + up) >> 1
        else:
            corner = above[index - step] if index >= step else 0
            a, b, c = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
            guess = left if a <= b and a <= c else up if b <= c else corner
        out[index] = (value + guess) & 255
    row[:] = out
