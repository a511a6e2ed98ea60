from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import stillflow as tf
from stillflow.util.deprecation import silence

DISTRIBUTIONS: dict[str, Callable[[], tf.distributions.Distribution]] = {
    "normal": lambda: tf.distributions.Normal(1.0, 2.0),
    "uniform": lambda: tf.distributions.Uniform(-1.0, 3.0),
    "bernoulli": lambda: tf.distributions.Bernoulli(probs=0.3, dtype=tf.float32),
    "beta": lambda: tf.distributions.Beta(2.0, 3.0),
    "dirichlet": lambda: tf.distributions.Dirichlet([1.0, 2.0, 3.0]),
    "dirichlet_multinomial": lambda: tf.distributions.DirichletMultinomial(4.0, [1.0, 2.0]),
    "exponential": lambda: tf.distributions.Exponential(2.0),
    "gamma": lambda: tf.distributions.Gamma(2.0, 3.0),
    "laplace": lambda: tf.distributions.Laplace(1.0, 2.0),
    "student_t": lambda: tf.distributions.StudentT(5.0, 1.0, 2.0),
}


@pytest.fixture(autouse=True)
def quiet() -> object:
    with silence():
        yield


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_samples_have_the_mean_and_variance_that_are_told(name: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        distribution = DISTRIBUTIONS[name]()
        drawn, mean, variance = session.run(
            [distribution.sample(20000, seed=7), distribution.mean(), distribution.variance()]
        )
        np.testing.assert_allclose(drawn.mean(0), mean, rtol=0.1, atol=0.06)
        np.testing.assert_allclose(drawn.var(0), variance, rtol=0.15, atol=0.06)


@pytest.mark.parametrize("name", ["normal", "uniform", "gamma", "laplace", "student_t"])
def test_the_density_is_the_slope_of_the_distribution_function(name: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        distribution = DISTRIBUTIONS[name]()
        x, step = np.float32([0.4, 1.3, 2.1]), np.float32(1e-2)
        density, up, down = session.run(
            [distribution.prob(x), distribution.cdf(x + step), distribution.cdf(x - step)]
        )
        np.testing.assert_allclose(density, (up - down) / (2 * step), rtol=2e-2, atol=1e-3)


def test_quantiles_invert_the_distribution_function() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        normal = tf.distributions.Normal(np.float64(1.0), np.float64(2.0))
        p = np.array([1e-9, 0.01, 0.3, 0.7, 0.999])
        np.testing.assert_allclose(session.run(normal.cdf(normal.quantile(p))), p, rtol=1e-7)


def test_divergences_are_zero_only_from_itself() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        first, second = tf.distributions.Normal(0.0, 1.0), tf.distributions.Normal(1.0, 2.0)
        same, other = session.run(
            [tf.distributions.kl_divergence(first, first), first.kl_divergence(second)]
        )
        assert same == 0.0
        np.testing.assert_allclose(other, np.log(2) + 2 / 8 - 0.5, rtol=1e-5)


def test_a_divergence_that_nobody_registered_is_refused() -> None:
    with tf.Graph().as_default(), pytest.raises(NotImplementedError, match="No KL"):
        DISTRIBUTIONS["normal"]().kl_divergence(DISTRIBUTIONS["gamma"]())


def test_a_copy_replaces_some_parameters() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        other = tf.distributions.Normal(1.0, 2.0).copy(scale=5.0)
        assert session.run([other.mean(), other.stddev()]) == [1.0, 5.0]
