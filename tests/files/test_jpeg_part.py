"""Parts of JPEGs: those of the whole image, with the edges that libjpeg gives a part."""

from __future__ import annotations

import io

import numpy as np
import pytest

from stillflow.files import jpeg, jpeg_edges

Image = pytest.importorskip("PIL.Image")

OPTIONS = {
    "420": {"subsampling": 2},
    "422": {"subsampling": 1},
    "444": {"subsampling": 0},
    "progressive": {"subsampling": 2, "progressive": True},
    "restarts": {"subsampling": 2, "restart_marker_rows": 1},
}
SIZES = [(97, 133), (200, 31), (33, 6)]


def encoded(height, width, **options):
    random = np.random.RandomState(height)
    y, x, channel = np.mgrid[0:height, 0:width, 0:3]
    pixels = 127 + 100 * np.sin(y / 20 + channel) * np.cos(x / 7)
    pixels = np.clip(pixels + random.randint(-40, 40, pixels.shape), 0, 255)
    out = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(out, "JPEG", quality=80, **options)
    return out.getvalue()


def part_of_whole(data, window, ratio, fast):
    top, left, height, width = window
    image = jpeg.decode(data, 0, ratio, True, False, fast)
    jpeg_edges.correct(image, data, left, width, ratio, fast)
    return image[top : top + height, left : left + width]


@pytest.mark.parametrize("ratio", [1, 2, 4, 8])
@pytest.mark.parametrize("kind", OPTIONS)
def test_a_part_is_cut_out_of_the_whole(kind, ratio, either_way):
    random = np.random.RandomState(ratio)
    for height, width in SIZES:
        data = encoded(height, width, **OPTIONS[kind])
        rows, columns = -(-height // ratio), -(-width // ratio)
        for trial in range(8):
            top, left = random.randint(rows), random.randint(columns)
            size = random.randint(1, rows - top + 1), random.randint(1, columns - left + 1)
            window = (top, left, *size)
            found = jpeg_edges.decode_part(data, window, 0, ratio, fast=trial % 2 == 0)
            expected = part_of_whole(data, window, ratio, trial % 2 == 0)
            np.testing.assert_array_equal(found, expected, str(window))


def test_a_shorter_file_has_the_same_first_rows():
    data = encoded(97, 133, subsampling=2)
    shorter = jpeg.shortened(data, 20)
    assert jpeg.header(shorter).height == 48
    np.testing.assert_array_equal(jpeg.decode(shorter)[:20], jpeg.decode(data)[:20])


@pytest.mark.parametrize("rows", [81, 97])
def test_what_is_needed_whole_is_not_made_shorter(rows):
    data = encoded(97, 133, subsampling=2)
    assert jpeg.shortened(data, rows) is data


def test_files_without_end_or_of_several_scans_are_not_made_shorter():
    data = encoded(97, 133, subsampling=2)
    assert jpeg.shortened(data[:-2], 8) == data[:-2]
    several = encoded(97, 133, subsampling=2, progressive=True)
    assert jpeg.shortened(several, 8) is several


@pytest.mark.parametrize("window", [(-1, 0, 5, 5), (0, 0, 0, 5), (0, 0, 98, 5), (90, 130, 7, 4)])
def test_parts_that_are_not_there_are_refused(window):
    with pytest.raises(jpeg.JpegError, match="no such part"):
        jpeg_edges.decode_part(encoded(97, 133), window)


def test_damage_is_told_alike(either_way):
    data = encoded(97, 133, subsampling=2)
    cut = data[: len(data) // 2]
    with pytest.raises(jpeg.JpegError):
        jpeg_edges.decode_part(cut, (0, 16, 8, 16))
    with pytest.raises(jpeg.JpegError):
        jpeg_edges.decode_part(data[:30], (0, 16, 8, 16))
