"""Batch and response normalization."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.ops.nn.running import image
from tests.running import run

import stillflow as tf

EPSILON = 0.001
pytestmark = pytest.mark.usefixtures("either_way")


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_training_normalizes_by_the_batch_and_reports_an_unbiased_variance(data_format):
    x, scale, offset = image(4, 3, 2, 5), image(5, seed=1), image(5, seed=2)
    fed = x if data_format == "NHWC" else x.transpose(0, 3, 1, 2)
    y, mean, variance = run(
        tf.nn.fused_batch_norm(fed, scale, offset, data_format=data_format, epsilon=EPSILON)
    )
    y = y if data_format == "NHWC" else y.transpose(0, 2, 3, 1)
    rows = x.reshape(-1, 5).astype(np.float64)
    expected = (x - rows.mean(0)) / np.sqrt(rows.var(0) + EPSILON) * scale + offset
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mean, rows.mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(variance, rows.var(0, ddof=1), rtol=1e-5)


def test_inference_normalizes_by_what_is_given():
    x, scale, offset = image(2, 3, 2, 5), image(5, seed=1), image(5, seed=2)
    mean, variance = image(5, seed=3), image(5, seed=4) + 1
    y, _, _ = run(
        tf.nn.fused_batch_norm(x, scale, offset, mean, variance, EPSILON, is_training=False)
    )
    expected = (x - mean) / np.sqrt(variance + EPSILON) * scale + offset
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "is_training,data_format", list(itertools.product([True, False], ["NHWC", "NCHW"]))
)
def test_gradients_are_those_of_the_same_computed_step_by_step(is_training, data_format):
    x = tf.placeholder(tf.float32, [3, 2, 4, 5])
    scale, offset, mean, variance = (tf.placeholder(tf.float32, [5]) for _ in range(4))
    fused = x if data_format == "NHWC" else tf.transpose(x, [0, 3, 1, 2])
    given = {} if is_training else {"mean": mean, "variance": variance}
    y, _, _ = tf.nn.fused_batch_norm(
        fused, scale, offset, epsilon=EPSILON, is_training=is_training, data_format=data_format,
        **given,
    )  # fmt: skip
    y = y if data_format == "NHWC" else tf.transpose(y, [0, 2, 3, 1])
    moments = tf.nn.moments(x, [0, 1, 2]) if is_training else (mean, variance)
    plain = tf.nn.batch_normalization(x, *moments, offset, scale, EPSILON)
    dy = image(3, 2, 4, 5, seed=5)
    inputs = [x, scale, offset]
    feeds = {x: image(3, 2, 4, 5), scale: image(5, seed=1) + 1, offset: image(5, seed=2)}
    feeds |= {mean: image(5, seed=3), variance: image(5, seed=4) + 1}
    for a, b in zip(
        run(tf.gradients(y, inputs, dy), feeds), run(tf.gradients(plain, inputs, dy), feeds),
        strict=True,
    ):  # fmt: skip
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_the_second_gradient_is_that_of_the_same_computed_step_by_step():
    x, scale = tf.placeholder(tf.float32, [4, 2, 2, 3]), tf.placeholder(tf.float32, [3])
    way, again = image(4, 2, 2, 3, seed=1), image(4, 2, 2, 3, seed=2)
    found = []
    fused, _, _ = tf.nn.fused_batch_norm(x, scale, np.zeros(3, np.float32), epsilon=0.1)
    mean = tf.reduce_mean(x, [0, 1, 2])  # tf.nn.moments has no second gradient
    variance = tf.reduce_mean(tf.squared_difference(x, mean), [0, 1, 2])
    plain = tf.nn.batch_normalization(x, mean, variance, None, scale, 0.1)
    for y in (fused, plain):
        first = tf.gradients(y, x, way)[0]
        found.append(tf.gradients(first, [x, scale], again))
    feeds = {x: image(4, 2, 2, 3), scale: np.float32([0.5, 1, 2])}
    for a, b in zip(*run(found, feeds), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_halves_keep_their_statistics_in_single_precision():
    x, ones = tf.constant(image(2, 4, 4, 3), tf.float16), np.ones(3, np.float32)
    y, mean, variance = tf.nn.fused_batch_norm(x, ones, 0 * ones)
    assert (y.dtype, mean.dtype, variance.dtype) == (tf.float16, tf.float32, tf.float32)
    rows = image(2, 4, 4, 3).reshape(-1, 3)
    np.testing.assert_allclose(run(mean), rows.mean(0), atol=1e-3)


def test_responses_are_divided_by_their_neighbours():
    x = image(1, 2, 2, 7)
    y = run(tf.nn.lrn(x, depth_radius=2, bias=1.5, alpha=0.3, beta=0.75))
    for channel in range(7):
        near = x[..., max(0, channel - 2) : channel + 3]
        expected = x[..., channel] / (1.5 + 0.3 * (near**2).sum(-1)) ** 0.75
        np.testing.assert_allclose(y[..., channel], expected, rtol=1e-5)


def test_moments_do_not_cancel_for_values_far_from_zero():
    x = image(50, 40) + 1e4
    mean, variance = run(tf.nn.moments(tf.constant(x), [0]))
    np.testing.assert_allclose(mean, x.mean(0, dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(variance, x.astype(np.float64).var(0), rtol=1e-2)


def test_weighted_moments_are_those_of_repeated_values():
    x, counts = image(6, 3), np.array([1, 2, 3, 0, 1, 2])
    mean, variance = run(tf.nn.weighted_moments(x, [0], np.float32(counts)[:, None]))
    repeated = np.repeat(x.astype(np.float64), counts, 0)
    np.testing.assert_allclose(mean, repeated.mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(variance, repeated.var(0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shift", [None, 0.3])
def test_sufficient_statistics_give_the_moments_back(shift):
    x = image(4, 5, 3)
    count, total, squares, _ = tf.nn.sufficient_statistics(x, [0, 1], shift)
    given = None if shift is None else tf.constant(shift)
    moments = run(tf.nn.normalize_moments(count, total, squares, given))
    rows = x.reshape(-1, 3).astype(np.float64)
    np.testing.assert_allclose(moments, [rows.mean(0), rows.var(0)], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 1, 1, 3), (2, 1, 1, 1), (7, 5, 3, 3), (16, 32, 32, 16),
                                   (2, 9, 9, 300)])  # fmt: skip
def test_statistics_are_exact_far_from_zero(shape):
    x = (image(*shape) + 30).astype(np.float32)
    channels = shape[-1]
    scale, offset = image(channels, seed=1) + 1, image(channels, seed=2)
    dy = image(*shape, seed=3)
    fed = tf.placeholder(tf.float32, [None, *shape[1:]])
    y, mean, variance = tf.nn.fused_batch_norm(fed, scale, offset, epsilon=EPSILON)
    found = run([mean, variance, y, *tf.gradients(y, fed, dy)], {fed: x})
    rows = x.reshape(-1, channels).astype(np.float64)
    grads, count = dy.reshape(-1, channels).astype(np.float64), len(rows)
    away, biased = rows - rows.mean(0), rows.var(0)
    factor = scale / np.sqrt(biased + EPSILON)
    slope = (grads * away).mean(0) / (biased + EPSILON)
    expected = [
        rows.mean(0), biased * count / max(count - 1, 1), away * factor + offset,
        factor * (grads - grads.mean(0) - away * slope),
    ]  # fmt: skip
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got.reshape(want.shape), want, rtol=2e-4, atol=2e-3)


def test_a_scale_of_another_length_is_refused():
    x, scale = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    y, _, _ = tf.nn.fused_batch_norm(x, scale, np.zeros(5, np.float32))
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(y, {x: image(4, 3, 2, 5), scale: image(2)})
