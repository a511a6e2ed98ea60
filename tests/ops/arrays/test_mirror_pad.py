"""Gradients of mirrored paddings: each mirrored number adds to the one that it was copied from."""

from __future__ import annotations

import numpy as np
import pytest
from tests.running import run

import stillflow as tf


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
@pytest.mark.parametrize("pairs", [
    [[0, 0], [0, 0]], [[2, 0], [0, 3]], [[0, 2], [3, 0]], [[2, 2], [3, 3]], [[1, 2], [0, 0]],
], ids=str)  # fmt: skip
def test_the_gradient_counts_the_copies(mode, pairs):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    padded = np.pad(x, pairs, {"REFLECT": "reflect", "SYMMETRIC": "symmetric"}[mode])
    weights = np.random.RandomState(0).randint(1, 9, padded.shape).astype(np.float32)
    expected = np.zeros(12, np.float32)
    np.add.at(expected, padded.astype(int).ravel(), weights.ravel())
    given = tf.constant(x)
    (grad,) = tf.gradients(tf.pad(given, pairs, mode), given, weights)
    np.testing.assert_array_equal(run(grad), expected.reshape(3, 4))
