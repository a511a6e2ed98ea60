"""Colours of another hue or saturation, with the loop in C and without."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

PIXELS = 9000  # more than one thread takes, and no whole number of what is taken together


def pictures() -> np.ndarray:
    values = np.random.default_rng(0).random((2, PIXELS // 60, 30, 3), np.float32)
    values[0, :20] = np.round(values[0, :20] * 2) / 2  # channels that are equal
    return values


def run(function: str, images: np.ndarray, number: float) -> np.ndarray:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(getattr(tf.image, function)(images, number))


def by_wheel(pixel: np.ndarray, delta: float) -> list[np.float32]:
    """Return a pixel of another hue: around the circle of which each sixth has a middle channel."""
    single = np.float32
    order = {(0, 1, 2): 0, (1, 0, 2): 1, (1, 2, 0): 2, (2, 1, 0): 3, (2, 0, 1): 4, (0, 2, 1): 5}
    places = tuple(int(place) for place in np.argsort(-pixel, kind="stable"))
    largest, middle, smallest = (pixel[place] for place in places)
    if largest == smallest:
        return list(pixel)
    ratio = (middle - smallest) / (largest - smallest)
    sixth = order[places]
    hue = single(sixth) + (single(1) - ratio if sixth % 2 else ratio) + single(delta) * single(6)
    hue = hue + single(6) if hue < 0 else hue
    hue = hue - single(6) if hue >= 6 else hue
    sixth = int(hue)
    ratio = hue - single(sixth)
    ratio = single(1) - ratio if sixth % 2 else ratio
    parts = largest, smallest + ratio * (largest - smallest), smallest
    new = next(places for places, number in order.items() if number == sixth)
    return [parts[new.index(channel)] for channel in range(3)]


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("delta", [0.1, -0.3, 0.9])
def test_hues_turn_around_the_circle(delta: float) -> None:
    images = np.random.default_rng(1).random((1, 20, 33, 3), np.float32)
    found = run("adjust_hue", images, delta)
    for pixel, expected in zip(found.reshape(-1, 3), images.reshape(-1, 3), strict=True):
        assert pixel.tolist() == by_wheel(expected, delta)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("delta", [3.2, -7.3, 1.0])
def test_whole_turns_change_nothing(delta: float) -> None:
    images = pictures()
    found, other = (run("adjust_hue", images, each) for each in (delta, delta % 1))
    np.testing.assert_allclose(found, other, atol=1e-5)


@pytest.mark.usefixtures("either_way")
def test_a_scaled_saturation_is_what_rgb_to_hsv_finds() -> None:
    images = pictures()
    with tf.Graph().as_default(), tf.Session() as session:
        before, after = session.run([
            tf.image.rgb_to_hsv(each) for each in (images, tf.image.adjust_saturation(images, 1.5))
        ])  # fmt: skip
    np.testing.assert_allclose(after[..., 1], np.minimum(before[..., 1] * 1.5, 1), atol=1e-5)
    np.testing.assert_allclose(after[..., 2], before[..., 2], atol=1e-6)
    away = np.abs(after[..., 0] - before[..., 0])
    assert np.minimum(away, 1 - away)[before[..., 1] > 0.1].max() < 1e-5


@pytest.mark.parametrize("function", ["adjust_hue", "adjust_saturation"])
@pytest.mark.parametrize("number", [0.0, 0.4, 2.5, -1.3])
def test_both_ways_agree(function: str, number: float, monkeypatch: pytest.MonkeyPatch) -> None:
    images = pictures() * 2 - 0.5
    found = run(function, images, number)
    monkeypatch.setattr("stillflow.native.library", lambda: None)
    np.testing.assert_allclose(found, run(function, images, number), rtol=1e-5, atol=1e-6)
