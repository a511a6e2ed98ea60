"""The image functions of ``scipy.misc``, on Pillow, and its numerical derivative.

They scale any array that is not uint8 so that its smallest value becomes 0 and its largest 255.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_CHANNELS = (3, 4)


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("scipy.misc works with images by Pillow: pip install Pillow") from error
    return Image


def _resample(interp: str) -> Any:
    kinds = _pillow().Resampling
    return {
        "nearest": kinds.NEAREST,
        "lanczos": kinds.LANCZOS,
        "bilinear": kinds.BILINEAR,
        "bicubic": kinds.BICUBIC,
        "cubic": kinds.BICUBIC,
    }[interp]


def bytescale(
    data: Any, cmin: float | None = None, cmax: float | None = None, high: int = 255, low: int = 0
) -> np.ndarray:
    """Scale values between `cmin` and `cmax` (by default those found) to [low, high] as uint8."""
    data = np.asarray(data)
    if data.dtype == np.uint8:
        return data
    if data.dtype == np.bool_:
        data = data.astype(np.float64)
    if high > 255:
        raise ValueError("`high` should be less than or equal to 255.")
    if low < 0:
        raise ValueError("`low` should be greater than or equal to 0.")
    if high < low:
        raise ValueError("`high` should be greater than or equal to `low`.")
    smallest = data.min() if cmin is None else cmin
    largest = data.max() if cmax is None else cmax
    spread = largest - smallest
    if spread < 0:
        raise ValueError("`cmax` should be larger than `cmin`.")
    scaled = (data - smallest) * (float(high - low) / (spread or 1)) + low
    rounded: np.ndarray = (scaled.clip(low, high) + 0.5).astype(np.uint8)
    return rounded


def toimage(
    arr: Any,
    high: int = 255,
    low: int = 0,
    cmin: float | None = None,
    cmax: float | None = None,
    pal: Any = None,
    mode: str | None = None,
    channel_axis: int | None = None,
) -> Any:
    """Make a Pillow image of an array [height, width] or one with 3 or 4 channels on some axis."""
    data = np.asarray(arr)
    if np.iscomplexobj(data):
        raise ValueError("Cannot convert a complex-valued array.")
    is_color = data.ndim == 3 and any(size in _CHANNELS for size in data.shape)
    if data.ndim != 2 and not is_color:
        raise ValueError("'arr' does not have a suitable array shape for any mode.")
    if data.ndim == 2:
        return _gray(data, high, low, cmin, cmax, pal, mode)
    if channel_axis is None:
        wanted = 3 if 3 in data.shape else 4
        channel_axis = data.shape.index(wanted)
    elif data.shape[channel_axis] not in _CHANNELS:
        raise ValueError("Channel axis dimension is not valid.")
    pixels = np.moveaxis(bytescale(data, cmin, cmax, high, low), channel_axis, 2)
    channels = pixels.shape[2]
    mode = mode or {3: "RGB", 4: "RGBA"}[channels]
    if {"RGB": 3, "YCbCr": 3, "RGBA": 4, "CMYK": 4}.get(mode) != channels:
        raise ValueError("Invalid array shape for mode.")
    size = (pixels.shape[1], pixels.shape[0])
    return _pillow().frombytes(mode, size, np.ascontiguousarray(pixels).tobytes())


def _gray(
    data: np.ndarray,
    high: int,
    low: int,
    cmin: float | None,
    cmax: float | None,
    pal: Any,
    mode: str | None,
) -> Any:
    new = _pillow().frombytes
    size = (data.shape[1], data.shape[0])
    if mode == "F":
        return new("F", size, data.astype(np.float32).tobytes())
    if mode == "1":
        return new("1", size, np.packbits(bytescale(data, high=255, low=0) > 128, axis=1).tobytes())
    if mode == "I":
        smallest = data.min() if cmin is None else cmin
        largest = data.max() if cmax is None else cmax
        scaled = (data * 1.0 - smallest) * (high - low) / (largest - smallest) + low
        return new("I", size, scaled.astype(np.uint32).tobytes())
    if mode not in (None, "L", "P"):
        raise ValueError("Mode is unknown or incompatible with input array shape.")
    image = new("L", size, bytescale(data, cmin, cmax, high, low).tobytes())
    if pal is not None or mode == "P":
        colors = np.arange(256).repeat(3) if pal is None else np.asarray(pal)
        image.putpalette(colors.astype(np.uint8).tobytes())
    return image


def fromimage(im: Any, flatten: bool = False, mode: str | None = None) -> np.ndarray:
    """Return a Pillow image as an array; `flatten` turns colors into gray levels (float32)."""
    if mode is not None:
        im = im.convert(mode) if mode != im.mode else im
    elif im.mode == "P":
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    if flatten:
        im = im.convert("F")
    elif im.mode == "1":
        im = im.convert("L")
    return np.array(im)


def imread(name: Any, flatten: bool = False, mode: str | None = None) -> np.ndarray:
    """Read an image from a file or a file object as an array [height, width(, channels)]."""
    with _pillow().open(name) as image:
        return fromimage(image, flatten, mode)


def imsave(name: Any, arr: Any, format: str | None = None) -> None:
    """Write an array [height, width(, channels)] as an image; the name says the format."""
    toimage(arr, channel_axis=2 if np.ndim(arr) == 3 else None).save(name, format)


def imresize(arr: Any, size: Any, interp: str = "bilinear", mode: str | None = None) -> np.ndarray:
    """Resize an array [height, width(, channels)]; unless uint8 it is scaled to [0, 255] first.

    `size` is percent (an integer), a factor (a float), or (height, width); `interp` nearest,
    lanczos, bilinear, bicubic or cubic. The result is of the Pillow mode `mode`, or uint8.
    """
    image = toimage(arr, mode=mode)
    if isinstance(size, (int, np.integer)):
        size = size / 100.0
    if isinstance(size, (float, np.floating)):
        width, height = (np.array(image.size) * size).astype(int)
    else:
        height, width = size[0], size[1]
    return fromimage(image.resize((int(width), int(height)), resample=_resample(interp)))


def imrotate(arr: Any, angle: float, interp: str = "bilinear") -> np.ndarray:
    """Rotate an image counter-clockwise by `angle` degrees; its size stays."""
    return fromimage(toimage(arr).rotate(angle, resample=_resample(interp)))


def imshow(arr: Any) -> None:
    """Show an image in the system's viewer."""
    toimage(arr).show()


def imfilter(arr: Any, ftype: str) -> np.ndarray:
    """Apply one of Pillow's filters: blur, contour, detail, edge_enhance, emboss, sharpen ..."""
    from PIL import ImageFilter

    kinds = (
        "blur",
        "contour",
        "detail",
        "edge_enhance",
        "edge_enhance_more",
        "emboss",
        "find_edges",
        "smooth",
        "smooth_more",
        "sharpen",
    )
    if ftype not in kinds:
        raise ValueError("Unknown filter type.")
    return fromimage(toimage(arr).filter(getattr(ImageFilter, ftype.upper())))


def central_diff_weights(Np: int, ndiv: int = 1) -> np.ndarray:
    """Return the weights of a central difference over `Np` points for the derivative `ndiv`."""
    if Np < ndiv + 1:
        raise ValueError("Number of points must be at least the derivative order + 1.")
    if Np % 2 == 0:
        raise ValueError("The number of points must be odd.")
    steps = np.arange(-(Np // 2), Np // 2 + 1.0)
    powers = np.vander(steps, increasing=True)
    factorial = np.prod(np.arange(1, ndiv + 1))
    weights: np.ndarray = factorial * np.linalg.inv(powers)[ndiv]
    return weights


def derivative(
    func: Callable[..., Any],
    x0: float,
    dx: float = 1.0,
    n: int = 1,
    args: Sequence[Any] = (),
    order: int = 3,
) -> np.float64:
    """Return the n-th derivative of `func` at `x0` by a central difference over `order` points."""
    if order < n + 1:
        raise ValueError(
            "'order' (the number of points used to compute the derivative), must be at least the "
            "derivative order 'n' + 1."
        )
    if order % 2 == 0:
        raise ValueError(
            "'order' (the number of points used to compute the derivative) must be odd."
        )
    weights = central_diff_weights(order, n)
    points = (x0 + (step - order // 2) * dx for step in range(order))
    total = sum(weight * func(x, *args) for weight, x in zip(weights, points, strict=True))
    return total / dx**n
