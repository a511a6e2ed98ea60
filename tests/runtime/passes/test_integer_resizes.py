"""Images of integers are resized as they are."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow.ops.image import resizing


@pytest.fixture
def taken(monkeypatch):
    """Yield the types of the images that are resized."""
    found = []
    resize = resizing._RESIZE["ResizeBilinear"]

    def noting(image, *rest):
        found.append(image.dtype)
        return resize(image, *rest)

    monkeypatch.setitem(resizing._RESIZE, "ResizeBilinear", noting)
    with tf.Graph().as_default():
        yield found


PIXELS = np.random.RandomState(0).randint(0, 256, (9, 11, 3)).astype(np.uint8)


def run(fetches, image):
    with tf.Session() as session:
        return session.run(fetches, {image: PIXELS})


def test_only_what_is_left_of_an_image_is_converted(taken):
    image = tf.placeholder(tf.uint8, [9, 11, 3])
    small = run(tf.image.resize_images(tf.cast(image, tf.float32), [4, 5]), image)
    direct = run(tf.image.resize_images(image, [4, 5]), image)
    assert taken == [torch.uint8, torch.uint8]
    np.testing.assert_array_equal(small, direct)


def test_floats_that_somebody_else_takes_are_not_made_twice(taken):
    image = tf.placeholder(tf.uint8, [9, 11, 3])
    floats = tf.cast(image, tf.float32)
    small = tf.image.resize_images(floats, [4, 5])
    for other in (floats, tf.reduce_sum(floats)):
        run([small, other], image)
    assert taken == [torch.float32, torch.float32]


def test_memory_that_an_image_is_in_is_not_written_before_it_is_resized(taken):
    image = tf.placeholder(tf.uint8, [9, 11, 3])
    changed = image + np.uint8(1)
    small = tf.image.resize_images(tf.cast(changed, tf.float32), [4, 5])
    found = run([small, changed * np.uint8(2)], image)
    expected = run([tf.image.resize_images(changed, [4, 5]), changed * np.uint8(2)], image)
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, other)
    assert taken == [torch.uint8, torch.uint8]


def test_integers_that_are_no_floats_are_converted_first(taken):
    image = tf.placeholder(tf.uint8, [9, 11, 3])
    wide = tf.cast(tf.cast(image, tf.int32), tf.float32)
    run(tf.image.resize_images(wide, [4, 5]), image)
    assert taken == [torch.float32]
