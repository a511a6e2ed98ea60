"""Dilation by the loop in C: bit by bit what it is without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow import native

if native.library() is None:
    pytest.skip("the loops in C were not built", allow_module_level=True)

SHAPES = [((2, 7, 9, 5), (3, 2, 5)), ((1, 40, 30, 8), (5, 5, 8)), ((2, 4, 4, 1), (1, 1, 1)),
          ((0, 4, 4, 2), (2, 2, 2)), ((2, 5, 6, 3), (0, 2, 3))]  # fmt: skip
WINDOWS = [((1, 1), (1, 1), "SAME"), ((2, 3), (1, 1), "VALID"), ((1, 2), (2, 1), "SAME")]


def results(image: np.ndarray, filter: np.ndarray, window: Any) -> list[np.ndarray]:
    strides, rates, padding = window
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.constant(image), tf.constant(filter)
        y = tf.nn.dilation2d(x, w, [1, *strides, 1], [1, *rates, 1], padding)
        weights = tf.reshape(tf.cast(tf.range(tf.size(y)), tf.float32), tf.shape(y))
        return session.run([y, *tf.gradients(y, [x, w], weights)])


# A filter without rows has no windows inside an image.
CASES = [(s, w) for s in SHAPES for w in WINDOWS if 0 not in s[1] or w[2] == "SAME"]


@pytest.mark.parametrize(("shapes", "window"), CASES)
def test_sums_and_gradients_are_the_same_either_way(shapes, window, monkeypatch):
    draw = np.random.RandomState(3)
    image, filter = (draw.randint(-3, 4, shape).astype(np.float32) for shape in shapes)
    for place, value in enumerate((np.nan, np.inf, -np.inf)):
        image.reshape(-1)[place * 3 : place * 3 + 1] = value
    found = results(image, filter, window)
    monkeypatch.setattr(native, "library", lambda: None)
    for one, other in zip(found, results(image, filter, window), strict=True):
        assert one.tobytes() == other.tobytes()
