"""JPEG files decoded by Pillow to the values that TensorFlow's settings of libjpeg give.

Pillow's decoder has two settings: the accurate inverse transform with interpolated chroma, and the
fast one without. The other two are made of components that Pillow decodes without interpolation
and without conversion of colours; interpolation and conversion are libjpeg's integer arithmetic.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stillflow import native
from stillflow.files import jpeg

Image = np.ndarray[Any, Any]

_END = b"\xff\xd9"
_MODES = {"GRAY": "L", "RGB": "RGB", "CMYK": "CMYK"}
_RAW = {1: "L", 3: "RGB", 4: "CMYK"}  # without a conversion of colours
_FEWEST = 3  # samples of a row that libjpeg interpolates
# Bits that no complete scan reads: an incomplete one has other pixels with them than with none.
_FILLING = b"\xaa\x55\x96" * 4096


class Scale(NamedTuple):
    """A component's samples in an image.

    Attributes:
      across, down: columns and rows of pixels that share a sample.
      width: samples in a row.
    """

    across: int
    down: int
    width: int

    @property
    def interpolates(self) -> bool:
        """Return True if libjpeg can interpolate between its samples."""
        if (self.across, self.down) == (1, 2):
            return True
        return (self.across, self.down) in ((2, 1), (2, 2)) and self.width >= _FEWEST


def decode(
    data: bytes, wanted: str, ratio: int, fancy: bool, fast: bool, strict: bool = False
) -> Image:
    """Return an image, uint8 [height, width, channels], for the arguments of `jpeg.decode`.

    `wanted` is GRAY, RGB or CMYK; JpegError for an incomplete file only if `strict`.
    NotImplementedError: CMYK by a pair of settings that Pillow cannot be given. ImportError if
    Pillow is not installed.
    """
    data = data if data.endswith(_END) else data + _END
    size = _size(data, ratio)
    if strict and _is_cut(data):
        raise jpeg.JpegError("premature end of data")
    scales = _scales(data, ratio)
    between = ratio < 8 and any(scale.interpolates for scale in scales)
    if wanted == "GRAY" or fast != fancy or not between:
        mode = _MODES[wanted]
        return _pillow(data, mode, size, "", ratio, draft=fast)
    parts = samples(data, ratio, fast)
    if fancy:
        image = _with_native_loop(data, parts, scales, wanted)
        if image is not None:
            return image
        for index, scale in enumerate(scales):
            if scale.interpolates:
                parts[..., index] = _interpolated(parts[..., index], scale)
    return _colours(data, parts)


def samples(data: bytes, ratio: int, fast: bool) -> Image:
    """Return the components of every pixel, uint8 [height, width, components], not interpolated.

    JpegError if the file is damaged beyond decoding, ImportError if Pillow is not installed.
    """
    data = data if data.endswith(_END) else data + _END
    size, scales = _size(data, ratio), _scales(data, ratio)
    mode = _RAW[len(scales)]
    found = _pillow(data, mode, size, mode, ratio, draft=fast)
    if fast or ratio == 8 or not any(scale.interpolates for scale in scales):
        return found
    if len(scales) != 3:
        raise NotImplementedError(
            "A JPEG file of CMYK with less chroma is not decoded by dct_method=INTEGER_ACCURATE "
            "without fancy_upscaling."
        )
    wide, across, down = _stretched(data)
    apart = _pillow(wide, "CMYK", _size(wide, ratio), "CMYK", ratio, draft=False)
    for index, scale in enumerate(scales):
        if scale.interpolates:
            found[..., index] = apart[: down * size[1] : down, : across * size[0] : across, index]
    return found


def _size(data: bytes, ratio: int) -> tuple[int, int]:
    found = jpeg.header(data)
    return -(-found.width // ratio), -(-found.height // ratio)


def _pillow(
    data: bytes, mode: str, size: tuple[int, int], stored: str, ratio: int, draft: bool
) -> Image:  # fmt: skip
    """Run Pillow's decoder.

    libjpeg converts into the colours `mode`; `stored` are those of the file, if they are not to be
    those that libjpeg finds. With `draft` the transform is the fast one and nothing is
    interpolated.
    """
    try:
        import PIL.Image
    except ImportError:
        raise ImportError(
            "JPEG files are decoded by Pillow, which is not installed; simplejpeg decodes most of "
            "them, faster. Run: pip install Pillow"
        ) from None
    try:
        image = PIL.Image.frombytes(mode, size, data, "jpeg", (mode, stored, ratio, int(draft)))
    except (OSError, ValueError, SyntaxError, MemoryError) as error:
        raise jpeg.JpegError(str(error)) from None
    array = np.array(image)
    return array if array.ndim == 3 else array[..., None]


def _is_cut(data: bytes) -> bool:
    """Return True if a scan of a file with an end is not complete."""
    size, mode = _size(data, 1), _RAW[jpeg.header(data).components]
    more = data[: -len(_END)] + _FILLING + _END
    plain, filled = (_pillow(bytes_, mode, size, mode, 1, draft=True) for bytes_ in (data, more))
    return not np.array_equal(plain, filled)


def _scales(data: bytes, ratio: int) -> list[Scale]:
    """Return the scale of each component.

    Libjpeg rather makes a smaller image of more of its samples.
    """
    frame = jpeg.frame(data)
    width = int.from_bytes(frame[3:5], "big")
    factors = [(byte >> 4 or 1, byte & 15 or 1) for byte in frame[7::3][: frame[5]]]
    if len(factors) != frame[5]:
        raise jpeg.JpegError("a frame that is cut")
    most_across, most_down = (max(factor[axis] for factor in factors) for axis in (0, 1))
    fewest, found = 8 // ratio, []
    for across, down in factors:
        size = fewest
        while size < 8 and not (most_across * fewest % (across * size * 2)
                                or most_down * fewest % (down * size * 2)):  # fmt: skip
            size *= 2
        found.append(
            Scale(
                most_across * fewest // (across * size), most_down * fewest // (down * size),
                -(-width * across * size // (most_across * 8)),
            )
        )  # fmt: skip
    return found


def _stretched(data: bytes) -> tuple[bytes, int, int]:
    """Return a file with chroma repeated more often than libjpeg interpolates, and the factor.

    A fourth component, of which there is no scan, has the most samples; the others have fewer to a
    pixel then, and all of their blocks are where they were.
    """
    place = next(at for at, kind in jpeg.frames(data))
    length = int.from_bytes(data[place + 2 : place + 4], "big")
    frame = bytearray(data[place + 4 : place + 2 + length])
    factors = [(byte >> 4, byte & 15) for byte in frame[7::3]]
    most = [max(factor[axis] for factor in factors) for axis in (0, 1)]
    across, down = (2, 1) if most[0] == 2 else (1, 2)
    for at, times in ((3, across), (1, down)):
        size = int.from_bytes(frame[at : at + 2], "big") * times
        if size > 65500:
            raise NotImplementedError(
                "A JPEG file of this size is decoded by dct_method=INTEGER_ACCURATE without "
                "fancy_upscaling if simplejpeg is installed. Run: pip install simplejpeg"
            )
        frame[at : at + 2] = size.to_bytes(2, "big")
    name = next(number for number in range(256) if number not in frame[6::3])
    frame += bytes((name, most[0] * across << 4 | most[1] * down, frame[8]))
    frame[5] = 4
    head = data[place : place + 2] + (length + 3).to_bytes(2, "big")
    return data[:place] + head + bytes(frame) + data[place + 2 + length :], across, down


# ---- Interpolation and colours, in libjpeg's integers


def _interpolated(plane: Image, scale: Scale) -> Image:
    """Return a component whose samples are repeated, with values between them."""
    rows, columns = plane.shape
    values = plane[:: scale.down, :: scale.across].astype(np.int32)
    if scale.down == 2:
        values = _between(values, 0)[:rows]
        if scale.across == 1:
            values[::2] += 1
            values[1::2] += 2
            return (values >> 2).astype(np.uint8)
    bits, first, second = (4, 8, 7) if scale.down == 2 else (2, 1, 2)
    values = _between(values, 1)[:, :columns]
    values[:, ::2] += first
    values[:, 1::2] += second
    return (values >> bits).astype(np.uint8)


def _between(values: Image, axis: int) -> Image:
    """Three times each sample, twice, the first time with the one before, then with the next."""
    values = np.moveaxis(values, axis, 0)
    before = np.concatenate([values[:1], values[:-1]])
    after = np.concatenate([values[1:], values[-1:]])
    both = np.stack([3 * values + before, 3 * values + after], 1)
    return np.moveaxis(both.reshape(2 * len(values), *values.shape[1:]), 0, axis)


def _with_native_loop(data: bytes, parts: Image, scales: list[Scale], wanted: str) -> Image | None:
    """Return the usual colours with half the chroma, by the loop in C; None for any other."""
    library: Any = native.library()
    usual = [(1, 1), (2, scales[1].down), (2, scales[1].down)] if len(scales) == 3 else None
    if (
        library is None or wanted != "RGB" or [scale[:2] for scale in scales] != usual
        or not scales[1].interpolates or not jpeg.is_transformed(data)
    ):  # fmt: skip
        return None
    rows, columns = parts.shape[:2]
    image = np.empty((rows, columns, 3), np.uint8)
    library.interpolate_chroma(
        np.ascontiguousarray(parts).ctypes.data, rows, columns, 0, columns, scales[1].down,
        0, 0, rows, columns, image.ctypes.data,
    )  # fmt: skip
    return image


def _colours(data: bytes, parts: Image) -> Image:
    """RGB or CMYK of the components of a file."""
    if not jpeg.is_transformed(data):
        return parts
    image = colours(parts[..., :3])
    if parts.shape[2] == 4:
        return np.concatenate([255 - image, parts[..., 3:]], -1)
    return image


def colours(values: Image) -> Image:
    """YCbCr of [..., 3] as RGB, in libjpeg's integers."""
    values = values.astype(np.int64)
    y, cb, cr = values[..., 0], values[..., 1] - 128, values[..., 2] - 128
    half = 1 << 15
    red = y + ((91881 * cr + half) >> 16)
    green = y + ((-22554 * cb - 46802 * cr + half) >> 16)
    blue = y + ((116130 * cb + half) >> 16)
    return np.clip(np.stack([red, green, blue], -1), 0, 255).astype(np.uint8)
