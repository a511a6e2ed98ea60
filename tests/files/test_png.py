"""PNG images are TensorFlow's byte for byte: recorded/png.json has the CRC-32 of its files.

So they are with the zlib that most builds of Python have; another one compresses in its own way.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import numpy as np
import pytest

from stillflow.files import png

RECORDED = json.loads((Path(__file__).parent / "recorded" / "png.json").read_text())
CASES = [(shape, kind) for shape, kinds in RECORDED.items() for kind in kinds]


def picture(kind, shape):
    if kind == "noise":
        return np.random.RandomState(0).randint(0, 64, shape).astype(np.uint8)
    if kind == "ramp":
        return (np.arange(np.prod(shape)).reshape(shape) % 256).astype(np.uint8)
    if kind == "flat":
        return np.full(shape, 7, np.uint8)
    y, x, c = np.ogrid[: shape[0], : shape[1], : shape[2]]
    return (127 + 100 * np.sin(y / 5.0 + x / 7.0 + c)).astype(np.uint8)


@pytest.mark.skipif("ng" in zlib.ZLIB_RUNTIME_VERSION, reason="zlib-ng compresses otherwise")
@pytest.mark.parametrize("shape, kind", CASES)
def test_a_file_has_tensorflows_bytes(shape, kind):
    pixels = picture(kind, tuple(map(int, shape.split("x"))))
    assert zlib.crc32(png.encode(pixels)) == RECORDED[shape][kind]
