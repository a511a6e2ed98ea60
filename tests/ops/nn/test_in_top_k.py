"""InTopK with the native loop and without."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("k", [0, 1, 2, 4])
def test_ties_are_won_and_rows_that_are_not_finite_lost(either_way, kind, k):
    rows = np.float32([[1, 2, 3], [3, 3, 3], [np.nan, 2, 1], [np.inf, 0, 1], [1, 2, 3], [1, 2, 3]])
    targets = np.array([0, 1, 1, 1, -1, 3], kind)
    places = tf.placeholder(kind, [6])
    predictions = tf.placeholder(tf.float32, [6, 3])
    with tf.Session() as session:
        feed = {predictions: rows, places: targets}
        found = session.run(tf.nn.in_top_k(predictions, places, k), feed)
    assert found.tolist() == [k > 2, k > 0, False, False, False, False]


def test_rows_that_lie_apart(either_way):
    predictions = tf.placeholder(tf.float32, [2, 4])
    with tf.Session() as session:
        found = session.run(
            tf.nn.in_top_k(predictions[:, ::2], [1, 1], 1),
            {predictions: [[0, 9, 1, 0], [1, 0, 0, 5]]},
        )
    assert found.tolist() == [True, False]
