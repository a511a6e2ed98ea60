"""A gated recurrent unit is the same by a native loop and by torch."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf


@pytest.mark.parametrize(
    ("rows", "inputs", "cells"), [(1, 3, 2), (5, 7, 33), (8, 32, 64), (0, 2, 2)]
)
def test_a_step_is_that_of_its_formula(either_way, rows, inputs, cells):
    random = np.random.default_rng(rows)
    depth = inputs + cells
    shapes = [
        (inputs, rows),
        (rows, cells),
        (depth, 2 * cells),
        (depth, cells),
        (2 * cells,),
        (cells,),
    ]
    x, h, gates, weights, gate_bias, bias = (
        random.normal(size=each).astype("f") for each in shapes
    )
    given = tf.transpose(x), h, gates, weights, gate_bias, bias  # the first is not contiguous
    names = ["x", "h_prev", "w_ru", "w_c", "b_ru", "b_c"]
    with tf.Session() as session:
        r, u, c, state = session.run(list(tf.raw_ops.GRUBlockCell(**dict(zip(names, given)))))
    joined = 1 / (1 + np.exp(-(np.concatenate([x.T, h], 1) @ gates + gate_bias)))
    candidate = np.tanh(np.concatenate([x.T, h * joined[:, :cells]], 1) @ weights + bias)
    np.testing.assert_allclose(np.concatenate([r, u], 1), joined, 1e-4, 1e-5)
    np.testing.assert_allclose(c, candidate, 1e-4, 1e-5)
    after = joined[:, cells:] * h + (1 - joined[:, cells:]) * candidate
    np.testing.assert_allclose(state, after, 1e-4, 1e-5)
