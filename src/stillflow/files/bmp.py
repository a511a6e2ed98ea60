"""BMP images without compression: reading them."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

_HEADER = 32


def decode(data: bytes, channels: int = 0) -> np.ndarray[Any, Any]:
    """Return the image as uint8 [height, width, channels]; ValueErrors have TensorFlow's words.

    `channels` are 1, 3 or 4, or 0: as in the file.
    """
    if len(data) < _HEADER:
        raise ValueError(
            "Incomplete bmp content, requires at least 32 bytes to find the header size, width, "
            f"height, and bpp, got {len(data)} bytes"
        )
    start, width, height, bits = (
        struct.unpack_from("<i", data, place)[0] for place in (10, 18, 22, 28)
    )
    own = int(bits / 8)
    if channels and channels != own:
        raise ValueError(
            f"channels attribute {channels} does not match bits per pixel from file {own}"
        )
    if own not in (1, 3, 4):
        raise ValueError(f"Number of channels must be 1, 3 or 4, was {own}")
    if width <= 0:
        raise ValueError("Width must be positive")
    if height == 0:
        raise ValueError("Height must be nonzero")
    if start < 0:
        raise ValueError("header size must be nonnegative")
    rows = abs(height)
    if width * rows >= (2**31 - 1) // 8:
        raise ValueError("Total possible pixel bytes must be less than 2^30")
    stride = (own * width + 3) // 4 * 4
    needed = start + (rows - 1) * stride + width * own
    if needed > len(data):
        raise ValueError(
            f"Incomplete bmp content, requires at least {needed} bytes, got {len(data)} bytes"
        )
    # The last row may end before its padding does.
    image = np.ndarray((rows, width, own), np.uint8, data, start, (stride, own, 1))
    if height > 0:
        image = image[::-1]
    result = np.empty(image.shape, np.uint8)
    for channel, place in enumerate({1: (0,), 3: (2, 1, 0), 4: (2, 1, 0, 3)}[own]):
        result[..., channel] = image[..., place]
    return result
