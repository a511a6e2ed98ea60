"""Derivatives forward are those backward, for as many outputs."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow_contrib.nn.forward_gradients import fwd_gradients


@pytest.mark.parametrize("assert_unused", [False, True])
def test_forward_derivatives_are_products_with_the_jacobian(assert_unused: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.constant([1.0, 2.0, 3.0]), tf.constant([0.5, 0.25, -1.0])
        y = [tf.square(x) * w, tf.reduce_sum(tf.gather(x, [0, 0, 2])) * w]
        directions = [tf.constant([1.0, 0.0, -1.0]), tf.constant([0.0, 2.0, 0.0])]
        found = fwd_gradients(y, [x, w], directions, assert_unused=assert_unused)
        first, second = session.run(found)
    np.testing.assert_allclose(first, [1.0, 8.0, 6.0])
    np.testing.assert_allclose(second, [0.5, 10.25, -1.0])
