"""Eager execution where it differs from TensorFlow 1.15.5 on purpose (docs/differences.md)."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.graph.eager_mode import eager_mode


def test_a_loss_of_pairs_is_that_of_a_graph() -> None:
    labels, predictions = [[1.0, 2.0], [3.0, 5.0]], [[2.0, 2.0], [0.0, 5.0]]
    with tf.Graph().as_default(), tf.Session() as session:
        wanted = session.run(tf.losses.mean_pairwise_squared_error(labels, predictions))
    with eager_mode():
        found = tf.losses.mean_pairwise_squared_error(labels, predictions)
    assert float(found) == wanted == 10.0  # TensorFlow says 5.0


@pytest.mark.parametrize("call", [tf.exp, tf.math.erfc, tf.invert_permutation, tf.fft3d])
def test_types_that_an_operation_does_not_take_are_named(call) -> None:
    with eager_mode(), pytest.raises(TypeError, match="not in list of allowed values: "):
        call(tf.constant(["text"]))
