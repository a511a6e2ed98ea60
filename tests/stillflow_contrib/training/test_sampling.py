"""Samples by class: how probably each class is accepted, and what comes of it."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow_contrib.training.sampling import calculate_acceptance_probabilities


@pytest.mark.parametrize(
    ("start", "target"),
    [([0.5, 0.5], [0.1, 0.9]), ([0.2, 0.3, 0.5], [0.5, 0.3, 0.2]), ([0.0, 1.0], [0.0, 1.0])],
)
def test_what_is_accepted_has_the_wanted_frequencies(
    start: list[float], target: list[float]
) -> None:
    accept = calculate_acceptance_probabilities(tf.constant(start), tf.constant(target))
    with tf.Session() as session:
        found = session.run(accept)
    assert found.max() == 1
    kept = np.array(start) * found
    np.testing.assert_allclose(kept / kept.sum(), target, rtol=1e-5)


def test_batches_have_the_wanted_frequencies() -> None:
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        label = tf.cast(tf.random_uniform([], seed=1) < 0.8, tf.int32)
        (value,), labels = tf.contrib.training.stratified_sample(
            [tf.cast(label, tf.float32) * 2], label, [0.5, 0.5], 200, init_probs=[0.2, 0.8]
        )
        with tf.Session() as session:
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coord)
            values, found = session.run([value, labels])
            coord.request_stop()
            coord.join(threads)
    np.testing.assert_array_equal(values, found * 2)
    assert 0.35 < found.mean() < 0.65
