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
    """Return a crop, pixel by pixel."""
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


# ---- Gradients


def crop_places(start: np.float32, end: np.float32, pixels: int, wanted: int) -> list[np.float32]:
    """Return the places of a crop's pixels along one dimension."""
    one = np.float32(pixels - 1)
    if wanted == 1:
        return [np.float32(0.5 * np.float64(start + end) * one)]
    step = (end - start) * one / np.float32(wanted - 1)
    return [start * one + np.float32(number) * step for number in range(wanted)]


def gradient_of_images(grads: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Every pixel of the gradient shared out among four of the image, in TensorFlow's order."""
    result, one = np.zeros(shape, np.float32), np.float32(1)
    for box, source, given in zip(BOXES, SOURCES, grads, strict=True):
        for y, down in enumerate(crop_places(box[0], box[2], shape[1], grads.shape[1])):
            for x, across in enumerate(crop_places(box[1], box[3], shape[2], grads.shape[2])):
                if not (0 <= down <= shape[1] - 1 and 0 <= across <= shape[2] - 1):
                    continue
                top, left = int(np.floor(down)), int(np.floor(across))
                bottom, right = int(np.ceil(down)), int(np.ceil(across))
                for row, share in ((top, one - (down - top)), (bottom, down - np.float32(top))):
                    part = share * given[y, x]
                    result[source, row, left] += (one - (across - np.float32(left))) * part
                    result[source, row, right] += (across - np.float32(left)) * part
    return result


@pytest.mark.parametrize("size", [(9, 14), (1, 1), (1, 4)])
@pytest.mark.parametrize("channels", [1, 3, 21])
def test_the_gradient_of_images_is_that_of_the_formula(
    channels: int, size: tuple[int, int], either_way: str
) -> None:
    shape = (2, 17, 11, channels)
    grads = np.random.default_rng(0).normal(size=(len(BOXES), *size, channels))
    grads = grads.astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(tf.raw_ops.CropAndResizeGradImage(
            grads=grads, boxes=BOXES, box_ind=SOURCES, image_size=shape, T=tf.float32
        ))  # fmt: skip
    expected = gradient_of_images(grads, shape)
    if either_way == "native":
        np.testing.assert_array_equal(found, expected)
    else:  # added up in another order
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("size", [(9, 14), (1, 1), (1, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.float64])
def test_the_gradient_of_boxes_is_how_fast_crops_change(dtype: type, size: tuple[int, int]) -> None:
    # Over a plane interpolation is exact, and a crop's sum is linear in the ends of its box.
    rows, columns = np.mgrid[:17, :11]
    image = np.stack([np.stack([3 * rows + 2 * columns, 90 + rows - columns], -1)] * 2)
    image = image.astype(dtype)
    inside = np.array([[0.113, 0.217, 0.831, 0.937], [0.9137, 0.823, 0.1313, 0.2411]], np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        boxes = tf.placeholder(tf.float32, [2, 4])
        total = tf.reduce_sum(tf.image.crop_and_resize(image, boxes, [0, 1], size), [1, 2, 3])
        found = session.run(tf.gradients(total, boxes)[0], {boxes: inside})
        for place in range(4):
            step = np.zeros((2, 4), np.float32)
            step[:, place] = 0.03
            more, less = (session.run(total, {boxes: inside + by}) for by in (step, -step))
            np.testing.assert_allclose(found[:, place], (more - less) / 0.06, rtol=2e-3)


def test_gradients_of_many_crops_are_shared_out_among_threads() -> None:
    image = np.random.default_rng(1).random((2, 40, 50, 24), np.float32)
    grads = np.random.default_rng(2).integers(0, 5, (len(BOXES), 60, 50, 24)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        given, boxes, sources = (
            tf.placeholder(kind, shape)
            for kind, shape in (
                (tf.float32, [None, 60, 50, 24]), (tf.float32, [None, 4]), (tf.int32, [None])
            )
        )  # fmt: skip
        options = {"grads": given, "boxes": boxes, "box_ind": sources}
        to_boxes = tf.raw_ops.CropAndResizeGradBoxes(image=image, **options)
        to_images = tf.raw_ops.CropAndResizeGradImage(
            image_size=image.shape, T=tf.float32, **options
        )
        every = {given: grads, boxes: BOXES, sources: SOURCES}
        moved, spread = session.run([to_boxes, to_images], every)
        apart = np.zeros(image.shape, np.float32)
        for number, found in enumerate(moved):
            one = slice(number, number + 1)
            alone = session.run(
                [to_boxes, to_images], {each: value[one] for each, value in every.items()}
            )
            np.testing.assert_array_equal(found, alone[0][0])
            apart += alone[1]
    np.testing.assert_allclose(spread, apart, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int16])
def test_the_nearest_pixels_are_chosen(dtype: type) -> None:
    image = np.arange(2 * 3 * 4 * 2).reshape(2, 3, 4, 2).astype(dtype)
    boxes = np.array([[0, 0, 1, 1], [0.26, 0.2, 0.74, 1.5], [np.nan, 0, 1, 1]], np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        crops = session.run(tf.image.crop_and_resize(
            image, boxes, [1, 0, 0], [3, 2], "nearest", extrapolation_value=-1
        ))  # fmt: skip
    np.testing.assert_array_equal(crops[0], image[1][:, [0, 3]])
    np.testing.assert_array_equal(crops[1], [[image[0, y, 1], [-1, -1]] for y in (1, 1, 1)])
    assert (crops[2] == -1).all()


@pytest.mark.parametrize("source", [-1, 2])
def test_a_box_of_another_image_raises(source: int) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        crops = tf.image.crop_and_resize(
            np.zeros((2, 3, 3, 1), np.float32), BOXES[:1], [source], [2, 2]
        )
        with pytest.raises(tf.errors.OutOfRangeError, match=r"outside \[0, batch_size"):
            session.run(crops)
