"""Patches and blocks of images, with the loops in C and without."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("either_way")
TYPES = [np.float32, np.uint8, np.uint16, np.float64]


def run(build: object, *arguments: object, **options: object) -> np.ndarray:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build(*arguments, **options))


def images(dtype: type, *sizes: int) -> np.ndarray:
    return (np.random.default_rng(0).random(sizes) * 250).astype(dtype)


def patches_one_by_one(
    image: np.ndarray, sizes: list[int], strides: list[int], rates: list[int], same: bool
) -> np.ndarray:
    """Every patch cut out of images that have zeros around them."""
    spans = [(size - 1) * rate + 1 for size, rate in zip(sizes, rates, strict=True)]
    counts, padding = [], [(0, 0)]
    for number, span, stride in zip(image.shape[1:3], spans, strides, strict=True):
        count = -(-number // stride) if same else (number - span) // stride + 1
        extra = max(0, (count - 1) * stride + span - number) if same else 0
        counts.append(count)
        padding.append((extra // 2, extra - extra // 2))
    padded = np.pad(image, [*padding, (0, 0)])
    rows = [
        [
            padded[
                :,
                y * strides[0] : y * strides[0] + spans[0] : rates[0],
                x * strides[1] : x * strides[1] + spans[1] : rates[1],
            ].reshape(len(image), -1)
            for x in range(counts[1])
        ]
        for y in range(counts[0])
    ]
    return np.moveaxis(np.array(rows), 2, 0)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("channels", [1, 3, 5])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(
    ("sizes", "strides", "rates"),
    [([3, 3], [1, 1], [1, 1]), ([2, 5], [3, 2], [1, 1]), ([3, 2], [1, 2], [2, 3])],
)
def test_patches_are_cut_out(
    sizes: list[int], strides: list[int], rates: list[int], padding: str, channels: int, dtype: type
) -> None:
    image = images(dtype, 2, 9, 11, channels)
    found = run(
        tf.image.extract_image_patches,
        image,
        *([1, *each, 1] for each in (sizes, strides, rates)),
        padding,
    )
    expected = patches_one_by_one(image, sizes, strides, rates, padding == "SAME")
    np.testing.assert_array_equal(found, expected)


def test_windows_larger_than_images_hold_zeros() -> None:
    image = images(np.float32, 1, 2, 3, 2)
    found = run(tf.image.extract_image_patches, image, [1, 7, 7, 1], [1] * 4, [1] * 4, "SAME")
    expected = patches_one_by_one(image, [7, 7], [1, 1], [1, 1], True)
    np.testing.assert_array_equal(found, expected)


def test_many_patches_are_shared_out_among_threads() -> None:
    image = images(np.float32, 3, 50, 60, 16)
    found = run(tf.image.extract_image_patches, image, [1, 3, 3, 1], [1] * 4, [1] * 4, "SAME")
    expected = patches_one_by_one(image, [3, 3], [1, 1], [1, 1], True)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("channels", [1, 3, 16])
@pytest.mark.parametrize(("rows", "columns", "size"), [(2, 3, 2), (1, 5, 3), (40, 50, 4)])
def test_blocks_go_to_channels_and_back(
    rows: int, columns: int, size: int, channels: int, dtype: type
) -> None:
    image = images(dtype, 2, rows * size, columns * size, channels)
    deep = run(tf.space_to_depth, image, size)
    split = image.reshape(2, rows, size, columns, size, channels)
    expected = split.transpose(0, 1, 3, 2, 4, 5).reshape(2, rows, columns, -1)
    np.testing.assert_array_equal(deep, expected)
    np.testing.assert_array_equal(run(tf.depth_to_space, deep, size), image)


def test_of_no_images_nothing_is_left() -> None:
    image = np.zeros((0, 4, 4, 3), np.float32)
    assert run(tf.space_to_depth, image, 2).shape == (0, 2, 2, 12)
    found = run(tf.image.extract_image_patches, image, [1, 3, 3, 1], [1] * 4, [1] * 4, "SAME")
    assert found.shape == (0, 4, 4, 27)
