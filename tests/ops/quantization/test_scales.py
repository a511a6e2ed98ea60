"""Integers that stand for real numbers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.running import run

import stillflow as tf
from stillflow.ops.quantization import scales

TYPES = [tf.quint8, tf.qint8, tf.quint16, tf.qint16, tf.qint32]


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("mode", ["MIN_COMBINED", "MIN_FIRST", "SCALED"])
def test_numbers_come_back_within_one_unit(dtype, mode):
    x = np.linspace(-1.5, 2.5, 41).astype(np.float32)
    integers, low, high = tf.quantization.quantize(x, -2.0, 3.0, dtype, mode)
    start = 0 if mode == "SCALED" and dtype in (tf.quint8, tf.quint16) else -1.5
    back, span = run([tf.quantization.dequantize(integers, low, high, mode), high - low])
    unit = span / (scales.levels(dtype).steps - 1) + 1e-6
    np.testing.assert_allclose(back, np.maximum(x, start), atol=unit)


@pytest.mark.parametrize("value,rounded", [
    (0.5, 1), (-0.5, -1), (1.5, 2), (2.5, 3), (-2.5, -3), (0.49999997, 0), (-0.2, 0),
])  # fmt: skip
def test_halves_are_rounded_away_from_zero(value, rounded):
    import torch

    assert scales.round_half_away(value) == rounded
    assert scales.round_half_away_(torch.tensor([value])).item() == rounded


def test_products_count_units_of_both_ranges():
    a = np.array([[1.0, -2.0], [0.5, 3.0]], np.float32)
    b = np.array([[0.25, 1.0], [-1.0, 2.0]], np.float32)
    first = tf.quantization.quantize(a, -4.0, 4.0, tf.quint8, "MIN_FIRST")
    second = tf.quantization.quantize(b, -2.0, 2.0, tf.quint8, "MIN_FIRST")
    product = tf.raw_ops.QuantizedMatMul(
        a=first[0], b=second[0], min_a=first[1], max_a=first[2], min_b=second[1], max_b=second[2]
    )
    back = run(tf.quantization.dequantize(*product, mode="MIN_FIRST"))
    np.testing.assert_allclose(back, a @ b, atol=0.1)
    narrow = tf.raw_ops.QuantizeDownAndShrinkRange(
        input=product[0], input_min=product[1], input_max=product[2], out_type=tf.quint8
    )
    back = run(tf.quantization.dequantize(*narrow, mode="MIN_FIRST"))
    np.testing.assert_allclose(back, a @ b, atol=0.1)


def test_joined_tensors_share_a_range_that_takes_in_both():
    x = np.float32([1, 2])
    parts = [tf.quantization.quantize(x, 0.0, top, tf.quint8) for top in (2.0, 8.0)]
    values, low, high = tf.quantization.quantized_concat(0, *zip(*parts, strict=True))
    found = run([tf.quantization.dequantize(values, low, high, "MIN_FIRST"), low, high])
    np.testing.assert_allclose(found[0], [1, 2, 1, 2], atol=0.05)
    assert found[1:] == [0, 8]


def test_fetched_values_are_plain_integers():
    integers = run(tf.quantization.quantize(np.float32([0, 1]), 0.0, 1.0, tf.qint8)[0])
    assert integers.dtype == np.int8 and integers.tolist() == [-128, 127]


def test_fused_ops_can_be_built_but_not_run():
    image, filter = (
        tf.quantization.quantize(np.zeros(shape, np.float32), -1.0, 1.0, tf.quint8)
        for shape in ((1, 4, 4, 2), (3, 3, 2, 5))
    )
    y = tf.raw_ops.QuantizedConv2DAndRelu(
        input=image[0], filter=filter[0], min_input=image[1], max_input=image[2],
        min_filter=filter[1], max_filter=filter[2], strides=[1, 1, 1, 1], padding="SAME",
    )  # fmt: skip
    assert y.output.shape == (1, 4, 4, 5)
    with pytest.raises(tf.errors.UnimplementedError, match="QuantizedConv2DAndRelu"):
        run(y.output)
