"""Nearest pixels, with the loops in C and without."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.image import taps

GRIDS = [(False, False), (True, False), (False, True)]
SIZES = [(3, 4), (9, 11), (31, 40), (1, 1)]


def places(size: tuple[int, ...], wanted: tuple[int, int], grid: tuple[bool, bool]) -> list:
    return [taps.nearest(a, b, *grid) for a, b in zip(size, wanted, strict=True)]


def options(grid: tuple[bool, bool]) -> dict[str, bool]:
    return {"align_corners": grid[0], "half_pixel_centers": grid[1]}


def gradient(grad: np.ndarray, size: tuple[int, int], grid: tuple[bool, bool]) -> np.ndarray:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(
            tf.raw_ops.ResizeNearestNeighborGrad(grads=grad, size=list(size), **options(grid))
        )


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("wanted", SIZES)
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.uint16, np.float64])
@pytest.mark.parametrize("channels", [1, 3, 4, 7])
def test_pixels_are_those_at_their_places(
    channels: int, dtype: type, wanted: tuple[int, int], grid: tuple[bool, bool]
) -> None:
    image = (np.random.default_rng(0).random((2, 9, 11, channels)) * 250).astype(dtype)
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(
            tf.raw_ops.ResizeNearestNeighbor(images=image, size=list(wanted), **options(grid))
        )
    rows, columns = places((9, 11), wanted, grid)
    np.testing.assert_array_equal(found, image[:, rows][:, :, columns])


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("wanted", SIZES)
@pytest.mark.parametrize("channels", [1, 3, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_are_added_up_row_by_row(
    dtype: type, channels: int, wanted: tuple[int, int], grid: tuple[bool, bool], either_way: str
) -> None:
    grad = np.random.default_rng(0).normal(size=(2, *wanted, channels)).astype(dtype)
    expected = np.zeros((2, 9, 11, channels), dtype)
    rows, columns = places((9, 11), wanted, grid)
    for y, row in enumerate(rows):
        for x, column in enumerate(columns):
            expected[:, row, column] += grad[:, y, x]
    found = gradient(grad, (9, 11), grid)
    if either_way == "native" and dtype is np.float32:
        np.testing.assert_array_equal(found, expected)
    else:  # added up in another order
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("either_way")
def test_of_no_images_nothing_is_left() -> None:
    assert gradient(np.zeros((0, 4, 4, 3), np.float32), (2, 2), (False, False)).shape == (
        0,
        2,
        2,
        3,
    )
    found = gradient(np.zeros((2, 0, 4, 3), np.float32), (2, 2), (False, False))
    np.testing.assert_array_equal(found, np.zeros((2, 2, 2, 3)))


@pytest.mark.usefixtures("either_way")
def test_large_images_are_shared_out_among_threads() -> None:
    image = np.random.default_rng(1).random((2, 50, 60, 8), np.float32)
    grad = np.random.default_rng(2).integers(0, 9, (2, 310, 300, 8)).astype(np.float32)
    rows, columns = places((50, 60), (310, 300), (False, False))
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(tf.image.resize_nearest_neighbor(image, [310, 300]))
    np.testing.assert_array_equal(found, image[:, rows][:, :, columns])
    expected = np.zeros((2, 50, 60, 8), np.float32)
    np.add.at(expected, (slice(None), rows[:, None], columns), grad)
    np.testing.assert_array_equal(gradient(grad, (50, 60), (False, False)), expected)
