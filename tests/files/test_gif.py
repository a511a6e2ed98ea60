"""GIF images: the native loop and Python's read the same, and raise the same errors."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from stillflow import native
from stillflow.files import gif

COLOURS = np.random.RandomState(0).randint(0, 256, (256, 3)).astype(np.uint8)


def packed(indices, bits):
    """LZW codes of indices, in blocks."""
    clear, out, held, have = 1 << bits, bytearray(), 0, 0
    table, width, codes = {bytes([i]): i for i in range(clear)}, bits + 1, []
    codes.append((clear, width))
    text = b""
    for index in indices.tolist():
        longer = text + bytes([index])
        if longer in table:
            text = longer
            continue
        codes.append((table[text], width))
        if len(table) + 2 < 4096:
            table[longer] = len(table) + 2
            if len(table) + 2 > 1 << width and width < 12:
                width += 1
        text = bytes([index])
    codes += [(table[text], width), (clear + 1, width)]
    for code, size in codes:
        held |= code << have
        have += size
        while have >= 8:
            out.append(held & 255)
            held, have = held >> 8, have - 8
    out.append(held & 255)
    blocks = [bytes(out[i : i + 255]) for i in range(0, len(out), 255)]
    return bytes([bits]) + b"".join(bytes([len(block)]) + block for block in blocks) + b"\0"


def image_file(indices, bits):
    height, width = indices.shape
    head = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80 | (bits - 1), 0, 0)
    frame = b"," + struct.pack("<HHHHB", 0, 0, width, height, 0)
    body = frame + packed(indices.reshape(-1), max(bits, 2))
    return head + COLOURS[: 1 << bits].tobytes() + body + b";"


@pytest.mark.parametrize("bits", [1, 2, 5, 8])
@pytest.mark.parametrize("spread", [1, 4])
def test_images_are_read(bits, spread, either_way):
    indices = np.random.RandomState(bits).randint(0, 1 << bits, (90, 41)).astype(np.uint8)
    indices = np.repeat(indices, spread, 1)  # long strings of one index, too
    found = gif.decode(image_file(indices, bits))
    np.testing.assert_array_equal(found[0], COLOURS[indices])


def outcome(data):
    try:
        return gif.decode(data).tobytes()
    except gif.GifError as error:
        return str(error)


def test_damage_is_told_alike(monkeypatch):
    if native.library() is None:
        pytest.skip("the loops in C were not built")
    random = np.random.RandomState(3)
    data = image_file(random.randint(0, 16, (30, 20)).astype(np.uint8), 4)
    files = []
    for _ in range(300):
        damaged = bytearray(data)
        damaged[random.randint(80, len(data))] = random.randint(256)
        files.append(bytes(damaged))
    by_loop = [outcome(file) for file in files]
    assert len(set(by_loop)) > 20
    monkeypatch.setattr(native, "library", lambda: None)
    assert [outcome(file) for file in files] == by_loop
