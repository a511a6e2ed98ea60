"""Windows of images: what they show of the image, and between which numbers noise lies."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

IMAGES = np.random.RandomState(0).rand(6, 9, 7, 2).astype(np.float32) + 1
OFFSETS = np.array([[0, 0], [2, 1], [-3, 5], [20, 0], [0, -20], [8.5, 6.4]], np.float32)


def glimpses(size, **options):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 9, 7, 2])
        found = tf.raw_ops.ExtractGlimpse(
            input=x, size=size, offsets=OFFSETS, centered=False, normalized=False, **options
        )
        return session.run(found, {x: IMAGES})


def shown(size):
    """Return the visible pixels, one after the other; NaN outside of the image."""
    result = np.full((6, *size, 2), np.nan, np.float32)
    for number, (down, across) in enumerate(OFFSETS):
        top, left = int(down - size[0] / 2), int(across - size[1] / 2)
        for y in range(size[0]):
            for x in range(size[1]):
                if 0 <= top + y < 9 and 0 <= left + x < 7:
                    result[number, y, x] = IMAGES[number, top + y, left + x]
    return result


@pytest.mark.parametrize("size", [(4, 4), (3, 5), (12, 2), (1, 20)])
def test_a_window_shows_its_part_of_the_image_and_zeros(size):
    expected = np.nan_to_num(shown(size), nan=0)
    found = glimpses(size, uniform_noise=False, noise="zero")
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_noise_is_within_the_numbers_of_its_image(noise):
    uniform = noise == "uniform"
    found, expected = glimpses((6, 6), uniform_noise=uniform, noise=noise), shown((6, 6))
    is_noise = np.isnan(expected)
    np.testing.assert_array_equal(found[~is_noise], expected[~is_noise])
    axes = (1, 2, 3) if uniform else (1, 2)
    low, high = IMAGES.min(axes, keepdims=True), IMAGES.max(axes, keepdims=True)
    assert ((found >= low) & (found <= high))[is_noise].all()
    assert found[is_noise].std() > 0.1
