"""Fused convolutions of floating-point numbers, for which TensorFlow has kernels on GPUs only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stillflow as tf

RANDOM = np.random.RandomState(0)
IMAGES = RANDOM.normal(size=[2, 6, 5, 3])
FILTER = RANDOM.normal(size=[3, 2, 3, 4])
SIDE = RANDOM.normal(size=[2, 3, 5, 4])
BIAS = RANDOM.normal(size=[4])


def fused(kind: Any, data_format: str, filter_format: str, mode: str) -> np.ndarray:
    """Return the result in the order NHWC."""
    images, filter, side = (tf.constant(x, kind) for x in (IMAGES, FILTER, SIDE))
    strides = [1, 2, 1, 1]
    if data_format == "NCHW":
        images, side = (tf.transpose(x, [0, 3, 1, 2]) for x in (images, side))
        strides = [1, 1, 2, 1]
    if filter_format == "OIHW":
        filter = tf.transpose(filter, [3, 2, 0, 1])
    found = tf.contrib.fused_conv.fused_conv2d_bias_activation(
        images, filter, tf.constant(BIAS, kind), strides, "SAME", 0.5, -0.25, side, mode,
        data_format, filter_format,
    )  # fmt: skip
    return tf.transpose(found, [0, 2, 3, 1]) if data_format == "NCHW" else found


def expected(kind: Any, mode: str) -> Any:
    images, filter, side = (tf.constant(x, kind) for x in (IMAGES, FILTER, SIDE))
    found = tf.nn.conv2d(images, filter, strides=[1, 2, 1, 1], padding="SAME")
    found = found * 0.5 - side * 0.25 + tf.constant(BIAS, kind)
    return tf.nn.relu(found) if mode == "Relu" else found


@pytest.mark.parametrize("mode", ["Relu", "None"])
@pytest.mark.parametrize("filter_format", ["HWIO", "OIHW"])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("kind", [tf.float32, tf.float16])
def test_is_what_the_operations_give_one_by_one(
    kind: Any, data_format: str, filter_format: str, mode: str
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        made = fused(kind, data_format, filter_format, mode)
        found, wanted = session.run([made, expected(kind, mode)])
    assert found.dtype == kind.as_numpy_dtype
    assert made.shape.as_list() == [2, 3, 5, 4]
    assert np.allclose(found, wanted, atol=1e-5 if kind == tf.float32 else 2e-2)


def test_a_side_input_of_another_shape_is_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        made = tf.contrib.fused_conv.fused_conv2d_bias_activation(
            IMAGES.astype(np.float32), FILTER.astype(np.float32), BIAS.astype(np.float32),
            padding="SAME", side_input_scale=1.0,
        )  # fmt: skip
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"shape \[2, 6, 5, 4\]"):
            session.run(made)
