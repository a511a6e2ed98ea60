"""Fake quantization."""

from __future__ import annotations

import numpy as np
import pytest
from tests.running import run

import stillflow as tf


@pytest.mark.parametrize("bits,narrow", [(8, False), (8, True), (3, False), (2, True)])
def test_results_lie_on_a_grid_that_has_zero_on_it(bits, narrow):
    x = np.linspace(-3, 4, 3001).astype(np.float32)
    y = run(tf.quantization.fake_quant_with_min_max_args(x, -0.7, 2.1, bits, narrow))
    found = np.unique(y)
    assert len(found) <= 2**bits - narrow and 0 in found
    steps = np.diff(found)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-3)
    np.testing.assert_allclose(steps[0], 2.8 / (2**bits - 1 - narrow), rtol=1e-5)


def test_gradients_stop_at_the_ends_and_go_to_them():
    x, low, high = tf.constant([-2.0, -0.5, 0.5, 3.0, 4.0]), tf.constant(-1.0), tf.constant(1.0)
    y = tf.quantization.fake_quant_with_min_max_vars(x, low, high)
    grads = run(tf.gradients(y, [x, low, high], tf.constant([1.0, 2.0, 3.0, 4.0, 5.0])))
    np.testing.assert_array_equal(grads[0], [0, 2, 3, 0, 0])
    assert grads[1:] == [1, 9]


def test_each_channel_has_its_own_range():
    x = np.tile(np.linspace(-3, 3, 13, dtype=np.float32)[:, None], (1, 3))
    low, high = np.float32([-1, -2, 0]), np.float32([1, 2, 0])
    both = tf.quantization.fake_quant_with_min_max_vars_per_channel(x, low, high)
    apart = [
        tf.quantization.fake_quant_with_min_max_vars(x[:, i], low[i], high[i]) for i in range(3)
    ]
    np.testing.assert_array_equal(run(both), np.stack(run(apart), 1))


def test_a_range_of_nothing_gives_zeros_and_passes_gradients():
    x, zero = tf.constant([1.0, -1.0]), tf.constant(0.0)
    y = tf.quantization.fake_quant_with_min_max_vars(x, zero, zero)
    value, grad = run([y, tf.gradients(y, x)[0]])
    assert value.tolist() == [0, 0] and grad.tolist() == [1, 1]


@pytest.mark.parametrize("signed", [True, False])
def test_a_round_trip_keeps_the_ends_and_passes_gradients(signed):
    x = tf.constant(np.linspace(-1 if signed else 0, 1, 11).astype(np.float32))
    y = tf.quantization.quantize_and_dequantize(x, 0.0, 0.0, signed_input=signed, num_bits=4)
    value, grad = run([y, tf.gradients(y, x)[0]])
    levels = 7 if signed else 15
    np.testing.assert_allclose(value * levels, np.round(value * levels), atol=1e-4)
    np.testing.assert_array_equal(grad, np.ones(11))
