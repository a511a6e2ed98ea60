"""Convolutions of images that are resized and padded first."""

from __future__ import annotations

import numpy as np

import stillflow as tf


def test_every_image_of_a_batch_is_resized_and_convolved_by_itself():
    images = np.arange(2 * 3 * 3, dtype=np.float32).reshape(2, 3, 3, 1)
    filters = np.ones([2, 2, 1, 1], np.float32)
    fused = tf.raw_ops.FusedResizeAndPadConv2D(
        input=images, size=[4, 4], paddings=[[0, 0], [1, 1], [1, 1], [0, 0]], filter=filters,
        mode="REFLECT", strides=[1, 1, 1, 1], padding="VALID",
    )  # fmt: skip
    padded = tf.pad(
        tf.image.resize_bilinear(images, [4, 4]), [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT"
    )
    with tf.Session() as session:
        values = session.run([fused, tf.nn.conv2d(padded, filters, 1, "VALID")])
    np.testing.assert_array_equal(*values)
