"""Transformations of random values: what goes there comes back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow_contrib.distributions.bijectors import bijector

BIJECTORS: dict[str, Any] = {
    "exp": lambda b: b.Exp(),
    "power": lambda b: b.PowerTransform(0.3),
    "sigmoid": lambda b: b.Sigmoid(),
    "softplus": lambda b: b.Softplus(0.7),
    "softsign": lambda b: b.Softsign(),
    "gumbel": lambda b: b.Gumbel(np.float64(0.3), np.float64(1.5)),
    "sinh_arcsinh": lambda b: b.SinhArcsinh(np.float64(0.4), np.float64(1.2)),
    "affine_scalar": lambda b: b.AffineScalar(np.float64(0.4), np.float64(1.2)),
    "chain": lambda b: b.Chain([b.Exp(), b.AffineScalar(scale=np.float64(0.5)), b.Softsign()]),
}


@pytest.mark.parametrize("name", BIJECTORS)
def test_the_jacobian_is_the_slope_and_the_inverse_undoes(name: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        bijector = BIJECTORS[name](tf.contrib.distributions.bijectors)
        x = tf.constant([-1.5, 0.2, 3.0], tf.float64)
        y = bijector.forward(tf.identity(x))
        back = bijector.inverse(tf.identity(y))
        slope = bijector.forward_log_det_jacobian(x, event_ndims=0)
        by_gradient = tf.log(tf.gradients(bijector.forward(x), x)[0])
        there, returned, log_det, expected = session.run([x, back, slope, by_gradient])
        np.testing.assert_allclose(returned, there)
        np.testing.assert_allclose(log_det, expected)


def test_an_inverse_swaps_both_ways() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        bijectors = tf.contrib.distributions.bijectors
        log = bijectors.Invert(bijectors.Exp())
        assert log.name == "invert_exp"
        assert session.run(log.forward(tf.constant(1.0))) == 0.0


def test_a_bijector_remembers_what_it_computed() -> None:
    with tf.Graph().as_default():
        identity = bijector.Identity()
        x = tf.constant([1.0, 2.0])
        assert identity.forward(x) is identity.forward(x)
        assert identity.inverse(identity.forward(x)) is x
