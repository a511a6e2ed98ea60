"""Quadratures of the softmax of normal distributions."""

import numpy as np

import stillflow as tf


def test_gauss_hermite_integrates_over_the_softmax():
    with tf.Graph().as_default(), tf.Session() as session:
        grid, probs = tf.contrib.distributions.quadrature_scheme_softmaxnormal_gauss_hermite(
            np.float64([[0.3], [-1.0]]), np.float64([0.7]), 20
        )
        assert grid.shape.as_list() == [2, 2, 20]
        grid, probs = session.run([grid, probs])
    np.testing.assert_allclose(grid.sum(axis=1), np.ones((2, 20)))
    np.testing.assert_allclose(probs.sum(), 1)
    z = np.linspace(-12, 12, 200001)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    for mean, points in zip((0.3, -1.0), grid[:, 0], strict=True):
        first = 1 / (1 + np.exp(-(mean + 0.7 * z)))  # the share of the first component
        expected = np.trapezoid(first * density, z)
        np.testing.assert_allclose((points * probs).sum(), expected, rtol=1e-6)


def test_mixtures_may_use_it():
    d = tf.contrib.distributions
    with tf.Graph().as_default(), tf.Session() as session:
        one, two = (tf.linalg.LinearOperatorScaledIdentity(2, m) for m in (1.0, 2.0))
        mixture = d.VectorDiffeomixture(
            [0.0], [1.0], d.Normal(loc=0.0, scale=1.0), scale=[one, two], quadrature_size=5,
            quadrature_fn=d.quadrature_scheme_softmaxnormal_gauss_hermite,
        )  # fmt: skip
        sample, variance = session.run([mixture.sample(40000, seed=1), mixture.variance()])
    np.testing.assert_allclose(sample.var(axis=0), np.ravel(variance), rtol=0.05)
