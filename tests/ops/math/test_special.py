"""Special functions against scipy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import stillflow as tf
from stillflow.ops.math.special import igamma_grad_a_op

RNG = np.random.default_rng(5)


def run(build):
    with tf.Graph().as_default():
        fetches = build()
        with tf.Session() as session:
            return session.run(fetches)


@pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
def test_incomplete_beta_function(scale):
    a, b = np.abs(RNG.standard_normal((2, 200))) * scale + 1e-3
    x = RNG.random(200)
    result = run(lambda: tf.betainc(a, b, x))
    np.testing.assert_allclose(result, scipy.special.betainc(a, b, x), rtol=1e-9, atol=1e-12)


def test_incomplete_beta_function_takes_scalars_for_any_argument():
    x = np.linspace(0.0, 1.0, 5)
    result = run(lambda: tf.betainc(np.float64(2.0), np.float64(3.0), x))
    np.testing.assert_allclose(result, scipy.special.betainc(2.0, 3.0, x))
    with tf.Graph().as_default(), pytest.raises(ValueError, match="must be equal"):
        tf.betainc(x, x[:2], x)


@pytest.mark.parametrize("scale", [0.1, 1.0, 20.0, 300.0])
def test_derivative_of_the_incomplete_gamma_function_by_its_order(scale):
    a = np.abs(RNG.standard_normal(100)) * scale + 0.05
    x = a * np.exp(RNG.standard_normal(100) * 0.5)
    step = 1e-4 * a
    points = [scipy.special.gammainc(a + k * step, x) for k in (-2, -1, 1, 2)]
    slope = (points[0] - 8 * points[1] + 8 * points[2] - points[3]) / (12 * step)
    result = run(lambda: igamma_grad_a_op(a, x))
    np.testing.assert_allclose(result, slope, rtol=1e-6, atol=1e-9)


def test_polygamma_is_the_derivative_of_digamma():
    x = np.array([0.3, 1.0, 4.5])
    for order in range(4):
        result = run(lambda order=order: tf.polygamma(np.full(3, float(order)), x))
        np.testing.assert_allclose(result, scipy.special.polygamma(order, x), rtol=1e-10)
    undefined = run(lambda: tf.polygamma(np.float64([1.5, -1.0]), np.float64([1.0, 1.0])))
    assert np.isnan(undefined).all()


def test_logarithm_of_the_beta_function_of_rows():
    x = np.array([[1.0, 2.0, 3.0], [0.5, 0.5, 4.0]])
    expected = scipy.special.gammaln(x).sum(-1) - scipy.special.gammaln(x.sum(-1))
    np.testing.assert_allclose(run(lambda: tf.lbeta(x)), expected)
