"""Quantized numbers are the same by the loops in C and without them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.running import run

import stillflow as tf
from stillflow import native
from stillflow.ops.quantization import scales
from stillflow.ops.quantization.scales import Range

pytestmark = pytest.mark.usefixtures("graph")


def both_ways(make, monkeypatch):
    """Return the values of tensors by the loops, and without them."""
    found = run(make())
    monkeypatch.setattr(native, "library", lambda: None)
    return found, run(make())


@pytest.mark.parametrize("dtype", [np.uint8, np.int32], ids=["quint8", "qint32"])
@pytest.mark.parametrize("channels", [1, 3, 5])
@pytest.mark.parametrize(
    "how", [{}, {"align_corners": True}, {"half_pixel_centers": True}], ids=str
)
def test_images_are_resized_alike(dtype, channels, how, monkeypatch):
    limits = np.iinfo(dtype)
    random = np.random.RandomState(0)
    image = random.randint(limits.min, limits.max + 1, (2, 7, 9, channels), np.int64).astype(dtype)
    kind = {np.uint8: tf.quint8, np.int32: tf.qint32}[dtype]

    def make():
        given = tf.bitcast(tf.constant(image), kind)
        made = tf.raw_ops.QuantizedResizeBilinear(
            images=given, size=[11, 5], min=0.0, max=1.0, **how
        )
        return tf.bitcast(made[0], dtype)

    np.testing.assert_array_equal(*both_ways(make, monkeypatch))


@pytest.mark.parametrize("ends", [(-3.3, 8.1, -2.2, 7.4), (-1, 1, 0, 0), (-1e3, 1e5, 0, 1e-3)])
def test_bytes_are_made_alike(ends, monkeypatch):
    random = np.random.RandomState(0)
    values = random.randint(-(1 << 31), 1 << 31, (3, 41), np.int64).astype(np.int32)
    values[0, :3] = [-(1 << 31), (1 << 31) - 1, 0]

    def make():
        given = tf.bitcast(tf.constant(values), tf.qint32)
        low, high, to_low, to_high = map(float, ends)
        made = tf.raw_ops.Requantize(
            input=given, input_min=low, input_max=high, requested_output_min=to_low,
            requested_output_max=to_high, out_type=tf.quint8,
        )  # fmt: skip
        return tf.bitcast(made[0], tf.uint8)

    np.testing.assert_array_equal(*both_ways(make, monkeypatch))


@pytest.mark.parametrize("dtype", [tf.quint8, tf.qint32], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("ends", [(-2.5, 7.25), (0.0, 0.0), (-1048576.0, 1048576.0)])
def test_arrays_of_numbers_are_quantized_like_each_number(dtype, ends):
    target = Range(*map(np.float32, ends), dtype)
    reals = np.concatenate([np.random.RandomState(0).randn(50) * 5, [0, 0.5, -0.5, 1e9, -1e9]])
    reals = reals.astype(np.float32)
    expected = [scales.quantize_number(each, *target) for each in reals]
    np.testing.assert_array_equal(scales.quantize_numbers(reals, *target), expected)
    codes = np.array(expected, np.int64)
    np.testing.assert_array_equal(
        np.broadcast_to(scales.dequantize_number(codes, *target), len(codes)),
        [scales.dequantize_number(int(code), *target) for code in codes],
    )
