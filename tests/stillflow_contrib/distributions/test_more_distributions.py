"""Distributions of matrices, mixtures and points: samples against what is said of them."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

SCALE = np.array([[2.0, 0.5], [0.5, 1.0]])


def test_samples_of_wishart_have_its_mean_and_variance() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        wishart = tf.contrib.distributions.WishartFull(5.0, SCALE)
        drawn = wishart.sample(20000, seed=3)
        samples, mean, variance = session.run([drawn, wishart.mean(), wishart.variance()])
    np.testing.assert_allclose(samples.mean(0), mean, rtol=0.05)
    np.testing.assert_allclose(samples.var(0), variance, rtol=0.1)
    np.testing.assert_allclose(mean, 5 * SCALE)


@pytest.mark.parametrize("static", [False, True])
def test_samples_of_mixtures_have_their_mean_and_variance(static: bool) -> None:
    d = tf.contrib.distributions
    with tf.Graph().as_default(), tf.Session() as session:
        if static:
            parts = [d.Normal(-3.0, 0.5), d.Normal(1.0, 2.0)]
            mixture = d.Mixture(d.Categorical(probs=[0.3, 0.7]), parts, use_static_graph=True)
        else:
            parts = d.Normal([-3.0, 1.0], [0.5, 2.0])
            mixture = d.MixtureSameFamily(d.Categorical(probs=[0.3, 0.7]), parts)
        tf.set_random_seed(3)
        samples = session.run(mixture.sample(50000, seed=2))
        mean, deviation = session.run([mixture.mean(), mixture.stddev()])
    np.testing.assert_allclose(samples.mean(), mean, atol=0.05)
    np.testing.assert_allclose(samples.std(), deviation, rtol=0.02)
    np.testing.assert_allclose(mean, -0.2, rtol=1e-5)


@pytest.mark.parametrize("interpolation", ["lower", "higher", "nearest"])
@pytest.mark.parametrize("q", [0.0, 12.5, 50.0, 99.0])
def test_percentiles_are_those_of_numpy(interpolation: str, q: float) -> None:
    x = np.random.RandomState(1).randn(5, 7, 3)
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.contrib.distributions.percentile(
            x, q, axis=[0, 2], interpolation=interpolation, keep_dims=True
        )
        expected = np.percentile(x, q, axis=(0, 2), method=interpolation, keepdims=True)
        np.testing.assert_array_equal(session.run(found), expected)


def test_quantized_probabilities_sum_to_one() -> None:
    d = tf.contrib.distributions
    with tf.Graph().as_default(), tf.Session() as session:
        quantized = d.QuantizedDistribution(d.Normal(1.3, 2.0), low=-2.0, high=4.0)
        found = session.run(quantized.prob(tf.range(-2.0, 5.0)))
    np.testing.assert_allclose(found.sum(), 1.0, rtol=1e-5)


def test_a_mixture_checks_shapes_that_are_not_known() -> None:
    d = tf.contrib.distributions
    with tf.Graph().as_default(), tf.Session() as session:
        logits = tf.placeholder(tf.float32, [None])
        parts = d.Normal(tf.zeros([2]), 1.0)
        mixture = d.MixtureSameFamily(d.Categorical(logits=logits), parts, validate_args=True)
        found = mixture.log_prob(0.0)
        assert session.run(found, {logits: [0.0, 0.0]}) == pytest.approx(-0.9189, rel=1e-3)
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not equal"):
            session.run(found, {logits: [0.0, 0.0, 0.0]})


def test_auto_correlation_of_a_shifted_wave() -> None:
    wave = np.sin(np.arange(64) * 2 * np.pi / 16)
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(tf.contrib.distributions.auto_correlation(wave, max_lags=16))
    np.testing.assert_allclose(found[[0, 4, 8, 16]], [1, 0, -1, 1], atol=0.15)
