"""Boxes drawn on images, in C and without."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow import native

BOXES = np.array([
    [0.1, 0.2, 0.8, 0.9], [-0.5, 0.1, 0.3, 1.4], [0.9, 0.9, 0.1, 0.1], [2.0, 0.1, 3.0, 0.4],
    [-9.0, -9.0, 9.0, 9.0], [0.0, 0.0, 1.0, 1.0], [0.5, 0.5, 0.5, 0.5], [np.nan, 0.1, 0.7, 0.3],
    [-np.inf, 0.2, np.inf, 0.6], [0.3, -0.1, 0.3, 0.0], [0.2, 0.4, 0.6, 0.45], [0.1, 0.9, 0.2, 2],
], np.float32)  # fmt: skip


def drawn(images: np.ndarray, boxes: np.ndarray, colours: np.ndarray | None) -> np.ndarray:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.image.draw_bounding_boxes(images, boxes, colors=colours))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("colours", [None, 1, 3])
@pytest.mark.parametrize("depth", [1, 3, 4])
def test_boxes_are_the_same_either_way(depth, colours, dtype, monkeypatch):
    draw = np.random.RandomState(5)
    images = draw.rand(3, 17, 23, depth).astype(dtype)
    boxes = np.stack([draw.permutation(BOXES) for _ in images])
    table = None if colours is None else draw.rand(colours, 4).astype(np.float32)
    found = drawn(images, boxes, table)
    monkeypatch.setattr(native, "library", lambda: None)
    assert found.tobytes() == drawn(images, boxes, table).tobytes()
    assert (found != images).any()


def test_the_images_that_were_given_stay(either_way):
    images = np.zeros([1, 5, 5, 3], np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(images)
        session.run(variable.initializer)
        result = session.run(tf.image.draw_bounding_boxes(variable, BOXES[None]))
        assert not session.run(variable).any()
    assert result.any()
