"""Crops of images have the numbers of their formula, whichever way they are computed."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("either_way")

BOXES = np.array([
    [0.1, 0.2, 0.8, 0.9], [0.9, 0.8, 0.1, 0.2], [-0.3, 0.5, 0.6, 1.4], [0, 0, 1, 1],
    [0.5, 0.5, 0.5, 0.5], [2, 2, 3, 3],
], np.float32)  # fmt: skip
SOURCES = np.array([1, 0, 1, 1, 0, 0], np.int32)


def formula(
    image: np.ndarray, box: np.ndarray, size: tuple[int, int], outside: float
) -> np.ndarray:
    """A crop, pixel by pixel."""
    crop = np.full((*size, image.shape[2]), outside, np.float32)
    single = np.float32

    def places(start: np.float32, end: np.float32, pixels: int, wanted: int) -> np.ndarray:
        step = (end - start) * single(pixels - 1) / single(wanted - 1)
        return start * single(pixels - 1) + np.arange(wanted, dtype=single) * step

    for y, down in enumerate(places(box[0], box[2], image.shape[0], size[0])):
        for x, across in enumerate(places(box[1], box[3], image.shape[1], size[1])):
            if 0 <= down <= image.shape[0] - 1 and 0 <= across <= image.shape[1] - 1:
                top, bottom = image[int(np.floor(down))], image[int(np.ceil(down))]
                left, right = int(np.floor(across)), int(np.ceil(across))
                upper = top[left] + (top[right] - top[left]) * (across - single(left))
                lower = bottom[left] + (bottom[right] - bottom[left]) * (across - single(left))
                crop[y, x] = upper + (lower - upper) * (down - np.floor(down))
    return crop


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int32, np.float64])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 9])
def test_the_numbers_are_those_of_the_formula(channels: int, dtype: type) -> None:
    image = (np.random.default_rng(0).random((2, 17, 11, channels)) * 250).astype(dtype)
    with tf.Graph().as_default(), tf.Session() as session:
        crops = session.run(tf.image.crop_and_resize(
            image, BOXES, SOURCES, [9, 14], extrapolation_value=-3
        ))  # fmt: skip
    for crop, box, source in zip(crops, BOXES, SOURCES, strict=True):
        single = image[source].astype(np.float32)
        np.testing.assert_array_equal(crop, formula(single, box, (9, 14), -3))


def test_no_crop_is_beyond_a_size_that_no_float32_holds() -> None:
    size = (1 << 24) + 4  # the last pixel is at an odd place
    image = np.arange(size, dtype=np.uint8).reshape(1, 1, size, 1)
    box = np.array([[0, 0, 0, 1]], np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        crops = session.run(tf.image.crop_and_resize(image, box, [0], [1, 2]))
    assert crops.ravel().tolist() == [0, image[0, 0, -1, 0]]


def test_many_large_crops_are_shared_out_among_threads() -> None:
    image = np.random.default_rng(1).random((2, 40, 50, 3), np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        boxes, sources = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.int32, [None])
        crops = tf.image.crop_and_resize(image, boxes, sources, [150, 210])
        together = session.run(crops, {boxes: BOXES, sources: SOURCES})
        for number, crop in enumerate(together):
            one = slice(number, number + 1)
            alone = session.run(crops, {boxes: BOXES[one], sources: SOURCES[one]})
            np.testing.assert_array_equal(crop, alone[0])
