"""JPEG files decoded by Pillow have the pixels that TensorFlow gives them, by all settings."""

from __future__ import annotations

import io
import itertools
import sys

import numpy as np
import pytest
from tests.golden import test_golden
from tests.golden.programs.image.coding import JPEG_FILES, SETTINGS_FILES

from stillflow.files import jpeg, jpeg_pillow

Image = pytest.importorskip("PIL.Image")

RECORDED = ("jpeg", "jpeg_files", "jpeg_settings", "cropped_jpegs", "edges_of_cropped_jpegs")


@pytest.fixture
def pillow_alone(monkeypatch):
    """Without simplejpeg, which has no wheels for the newest Pythons."""
    monkeypatch.setitem(sys.modules, "simplejpeg", None)


@pytest.mark.usefixtures("pillow_alone", "either_way")
@pytest.mark.parametrize("name", RECORDED)
def test_pixels_are_those_of_tensorflow(name):
    lines = list(test_golden.differences(f"image/coding/{name}", "values"))
    assert not lines, "\n".join(lines[:40])


@pytest.mark.parametrize("ratio", [1, 2, 4, 8])
def test_simplejpeg_gives_the_same_pixels(ratio, monkeypatch):
    pytest.importorskip("simplejpeg")
    for path, fancy, fast in itertools.product(
        JPEG_FILES + SETTINGS_FILES, (True, False), (True, False)
    ):
        if "unknown_marker" in path or "truncated" in path:
            continue
        with open(path, "rb") as stream:
            data = stream.read()
        expected = jpeg.decode(data, 0, ratio, fancy, False, fast)
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "simplejpeg", None)
            found = jpeg.decode(data, 0, ratio, fancy, False, fast)
        np.testing.assert_array_equal(found, expected, f"{path} {fancy} {fast}")


@pytest.mark.usefixtures("pillow_alone")
def test_scans_that_are_cut_are_told_from_files_without_an_end():
    data = jpeg.encode((np.arange(64 * 48 * 3) * 7 % 253).astype(np.uint8).reshape(64, 48, 3))
    np.testing.assert_array_equal(jpeg.decode(data[:-2]), jpeg.decode(data))
    for length in range(len(data) // 2, len(data) - 8, 31):
        with pytest.raises(jpeg.JpegError):
            jpeg.decode(data[:length])


@pytest.mark.usefixtures("pillow_alone")
def test_pairs_of_settings_that_pillow_cannot_be_given_are_named():
    inks = io.BytesIO()
    Image.fromarray(np.zeros((9, 9, 4), np.uint8), "CMYK").save(inks, "JPEG", subsampling=2)
    data = inks.getvalue()
    with pytest.raises(NotImplementedError, match="INTEGER_ACCURATE without fancy_upscaling"):
        jpeg.decode(data, 0, 1, False, False, fast=False)
    wide = jpeg.encode(np.zeros((2, 40000, 3), np.uint8))
    with pytest.raises(NotImplementedError, match="pip install simplejpeg"):
        jpeg_pillow.decode(wide, "RGB", 1, fancy=False, fast=False)


@pytest.mark.usefixtures("pillow_alone")
def test_without_a_decoder_the_error_says_which_to_install(monkeypatch):
    data = jpeg.encode(np.zeros((8, 8, 3), np.uint8))
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match="Run: pip install Pillow"):
        jpeg.decode(data)
