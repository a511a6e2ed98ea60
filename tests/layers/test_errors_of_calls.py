"""Errors of layers while they build a graph: recorded with TensorFlow 1.15.5."""

from __future__ import annotations

import pytest

import stillflow as tf


def test_errors_in_calls_of_layers_begin_as_those_of_converted_code():
    images = tf.placeholder(tf.float32, [2, 3, 3, 4])
    with pytest.raises(
        ValueError, match=r"(?s)^in converted code:.*ValueError: Negative dimension"
    ):
        tf.layers.separable_conv2d(images, 8, [5, 5])


def test_errors_of_keras_layers_are_plain():
    images = tf.placeholder(tf.float32, [2, 3, 3, 4])
    with pytest.raises(ValueError, match=r"^Negative dimension size"):
        tf.keras.layers.SeparableConv2D(8, [5, 5])(images)
