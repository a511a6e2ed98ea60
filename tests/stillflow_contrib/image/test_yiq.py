"""Hue, saturation and value in YIQ space."""

from __future__ import annotations

import math

import numpy as np
import pytest

import stillflow as tf
from stillflow_contrib.image.yiq import adjust_hsv_in_yiq, random_hsv_in_yiq

IMAGE = np.random.RandomState(1).rand(2, 4, 5, 3).astype(np.float32)


def evaluated(image: tf.Tensor) -> np.ndarray:
    with tf.Session() as session:
        result: np.ndarray = session.run(image)
    return result


@pytest.mark.parametrize("turn", [0, 2 * math.pi, -4 * math.pi])
def test_a_whole_turn_changes_nothing(turn: float) -> None:
    np.testing.assert_allclose(evaluated(adjust_hsv_in_yiq(IMAGE, turn)), IMAGE, atol=3e-3)


def test_without_saturation_all_channels_are_alike() -> None:
    gray = evaluated(adjust_hsv_in_yiq(IMAGE, 0.5, 0.0))
    np.testing.assert_allclose(gray[..., 0], gray[..., 2], atol=1e-6)
    np.testing.assert_allclose(gray[..., 1], IMAGE @ np.float32([0.299, 0.587, 0.114]), atol=1e-5)


def test_the_value_scales_everything() -> None:
    plain, doubled = (evaluated(adjust_hsv_in_yiq(IMAGE, 0.3, 1.2, scale)) for scale in (1, 2))
    np.testing.assert_allclose(doubled, 2 * plain, rtol=1e-5, atol=1e-6)


def test_bytes_stay_bytes() -> None:
    image = (IMAGE * 255).astype(np.uint8)
    adjusted = evaluated(adjust_hsv_in_yiq(image))
    assert adjusted.dtype == np.uint8
    assert np.abs(adjusted.astype(int) - image).max() <= 1


def test_random_amounts_lie_within_their_bounds() -> None:
    value = random_hsv_in_yiq(np.ones([1, 1, 3], np.float32), lower_value=0.5, upper_value=0.75,
                              seed=3)  # fmt: skip
    assert 0.49 < evaluated(value).mean() < 0.76


def test_bounds_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(ValueError, match="lower_saturation must be < upper_saturation"):
        random_hsv_in_yiq(IMAGE, lower_saturation=2, upper_saturation=1)
    with pytest.raises(ValueError, match="lower_value must be non-negative"):
        random_hsv_in_yiq(IMAGE, lower_value=-1)
    with pytest.raises(ValueError, match="max_delta must be non-negative"):
        random_hsv_in_yiq(IMAGE, -0.1)
