"""Normal distributions of vectors."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

dist = tf.contrib.distributions
LOC = np.float32([1.0, -2.0])
TRIL = np.float32([[2.0, 0.0], [0.5, 1.0]])

pytestmark = pytest.mark.usefixtures("graph")


def run(fetches):
    with tf.Session() as session:
        return session.run(fetches)


def test_samples_have_the_moments_of_the_distribution():
    d = dist.MultivariateNormalTriL(LOC, TRIL)
    samples, mean, covariance = run([d.sample(20000, seed=1), d.mean(), d.covariance()])
    np.testing.assert_allclose(samples.mean(0), mean, atol=0.05)
    np.testing.assert_allclose(np.cov(samples.T), covariance, atol=0.1)
    np.testing.assert_allclose(covariance, TRIL @ TRIL.T, rtol=1e-5)


def test_independent_numbers_have_the_density_of_normal_ones():
    scale = np.float32([0.5, 3.0])
    vectors, numbers = dist.MultivariateNormalDiag(LOC, scale), tf.distributions.Normal(LOC, scale)
    x = np.float32([[0.0, 1.0], [2.0, -3.0]])
    first, second = run([vectors.log_prob(x), tf.reduce_sum(numbers.log_prob(x), 1)])
    np.testing.assert_allclose(first, second, rtol=1e-5)
    np.testing.assert_allclose(
        *run([vectors.entropy(), tf.reduce_sum(numbers.entropy())]), rtol=1e-5
    )


def test_a_singular_scale_is_refused_when_it_is_used():
    d = dist.MultivariateNormalDiag(LOC, [0.0, 1.0], validate_args=True)
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(d.sample(seed=1))


def test_nothing_says_how_many_numbers_there_are():
    with pytest.raises(ValueError, match="Cannot infer `event_shape`"):
        dist.MultivariateNormalDiag()
    with pytest.raises(ValueError, match="Must specify one or both"):
        dist.MultivariateNormalTriL()
