"""The gradient of bilinear resizing, whichever way it is added up."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.nn.interpolation import weights


def one_by_one(grad: np.ndarray, shape: tuple[int, ...], grid: tuple[bool, bool]) -> np.ndarray:
    """Every pixel of the gradient shared out among four of the image, in TensorFlow's order."""
    result = np.zeros(shape, np.float32)
    rows, columns = (weights(shape[i], grad.shape[i], *grid) for i in (1, 2))
    one = np.float32(1)
    for y, down in enumerate(rows.fraction):
        top, bottom = rows.lower[y], rows.upper[y]
        for x, across in enumerate(columns.fraction):
            left, right = columns.lower[x], columns.upper[x]
            given = grad[:, y, x]
            result[:, top, left] += given * (one - down) * (one - across)
            result[:, top, right] += given * (one - down) * across
            result[:, bottom, left] += given * down * (one - across)
            result[:, bottom, right] += given * down * across
    return result


def gradient(grad: np.ndarray, shape: tuple[int, ...], grid: tuple[bool, bool]) -> np.ndarray:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.raw_ops.ResizeBilinearGrad(
            grads=grad, original_image=np.zeros(shape, np.float32),
            align_corners=grid[0], half_pixel_centers=grid[1],
        ))  # fmt: skip


@pytest.mark.parametrize("grid", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("wanted", [(3, 4), (9, 7), (31, 40), (1, 1)])
@pytest.mark.parametrize("channels", [1, 3, 20])
def test_the_gradient_is_that_of_its_formula(
    channels: int, wanted: tuple[int, int], grid: tuple[bool, bool], either_way: str
) -> None:
    shape = (2, 9, 11, channels)
    grad = np.random.default_rng(0).normal(size=(2, *wanted, channels)).astype(np.float32)
    found = gradient(grad, shape, grid)
    expected = one_by_one(grad, shape, grid)
    if either_way == "native":
        np.testing.assert_array_equal(found, expected)
    else:  # added up in another order
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-5)


@pytest.mark.usefixtures("either_way")
def test_gradients_of_large_images_are_shared_out_among_threads() -> None:
    grad = np.random.default_rng(1).normal(size=(2, 310, 300, 3)).astype(np.float32)
    found = gradient(grad, (2, 50, 60, 3), (False, True))
    for channel in range(3):
        one = slice(channel, channel + 1)
        alone = gradient(grad[..., one], (2, 50, 60, 1), (False, True))
        np.testing.assert_array_equal(found[..., one], alone)


@pytest.mark.usefixtures("either_way")
def test_a_gradient_is_read_no_further_than_it_goes() -> None:
    grad = np.ones((1, 8, 8, 2), np.float32)
    found = gradient(grad, (3, 4, 4, 5), (False, False))
    np.testing.assert_array_equal(found, gradient(grad, (1, 4, 4, 2), (False, False)))
