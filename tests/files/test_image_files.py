"""Image files that are cut off, damaged, or claim sizes that they do not have."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

from stillflow.files import bmp, gif, jpeg, png, png_reader

PICTURE = (np.arange(30 * 20 * 3) * 7 % 253).astype(np.uint8).reshape(30, 20, 3)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_png_comes_back_as_it_was_written(channels: int, dtype: type) -> None:
    picture = np.resize(PICTURE, (30, 20, channels)).astype(dtype) * dtype(
        np.iinfo(dtype).max // 255
    )
    bits = 8 * picture.itemsize
    assert (png_reader.decode(png.encode(picture), bits=bits) == picture).all()


def test_png_cut_anywhere_is_refused() -> None:
    data = png.encode(PICTURE)
    for length in range(0, len(data) - 1, 37):
        with pytest.raises(png_reader.PngError):
            png_reader.decode(data[:length])


def test_png_that_claims_to_be_huge_is_refused_before_memory_is_taken() -> None:
    sizes = struct.pack(">IIBBBBB", 1 << 20, 1 << 20, 8, 6, 0, 0, 0)
    chunks = b"".join(
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(content, zlib.crc32(kind)))
        for kind, content in ((b"IHDR", sizes), (b"IDAT", zlib.compress(b"")), (b"IEND", b""))
    )
    with pytest.raises(png_reader.PngError) as caught:
        png_reader.decode(png_reader.MAGIC + chunks)
    assert caught.value.part == "size"


def test_jpeg_cut_anywhere_is_refused_unless_it_may_be_recovered() -> None:
    data = jpeg.encode(PICTURE)
    for length in range(0, len(data) - 20, 53):
        with pytest.raises(jpeg.JpegError):
            jpeg.decode(data[:length])
    recovered = jpeg.decode(data[: len(data) * 3 // 4], recover_truncated=True)
    assert recovered.shape == PICTURE.shape


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize(
    ("marker", "known"),
    [(0x00, True), (0xD3, True), (0xFF, True), (0x02, False), (0xBF, False), (0xF0, False)],
)
def test_jpeg_with_a_marker_that_nobody_knows_is_refused(marker: int, known: bool) -> None:
    data = jpeg.encode(PICTURE)
    scan = jpeg.header(data).scan + 60
    changed = data[:scan] + bytes((0xFF, marker)) + data[scan + 2 :]
    try:
        jpeg.decode(changed)
    except jpeg.JpegError as error:
        assert (f"Unsupported marker type 0x{marker:02x}" in str(error)) is not known
    else:
        assert known


@pytest.mark.usefixtures("either_way")
def test_jpeg_markers_are_looked_for_from_the_first_scan_to_the_end_of_the_file() -> None:
    data = jpeg.encode(PICTURE)
    segments = jpeg.header(data).scan
    before = data[:segments] + b"\xff\x02\x00\x02" + data[segments:]
    assert jpeg.header(before).scan == segments + 4
    with pytest.raises(jpeg.JpegError, match="0x03"):
        jpeg.decode(data[:-2] + b"\xff\x03")
    np.testing.assert_array_equal(jpeg.decode(data + b"\xff\x03"), jpeg.decode(data))


def test_jpeg_header_says_the_size() -> None:
    found = jpeg.header(jpeg.encode(PICTURE))
    assert (found.height, found.width, found.components) == (30, 20, 3)


def test_jpeg_that_claims_to_be_huge_is_refused() -> None:
    data = bytearray(jpeg.encode(PICTURE))
    place = data.find(b"\xff\xc0")
    data[place + 5 : place + 9] = b"\xff\xf0\xff\xf0"
    with pytest.raises(jpeg.JpegError, match="bad size"):
        jpeg.decode(bytes(data))


def test_gif_and_bmp_refuse_noise() -> None:
    noise = bytes(range(256)) * 4
    with pytest.raises(gif.GifError):
        gif.decode(b"GIF89a" + noise)
    with pytest.raises(ValueError, match=r"Incomplete bmp content|channels|positive"):
        bmp.decode(b"BM" + noise)
