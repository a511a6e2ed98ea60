"""Approximations of random features, and the hinge loss of labels that are no classes."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf


def test_inner_products_approximate_the_gaussian_kernel() -> None:
    points = np.random.RandomState(0).uniform(-1, 1, (12, 3)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        mapper = tf.contrib.kernel_methods.RandomFourierFeatureMapper(3, 20_000, 0.8, seed=5)
        mapped = session.run(mapper.map(tf.constant(points)))
    distances = ((points[:, None] - points) ** 2).sum(-1)
    np.testing.assert_allclose(mapped @ mapped.T, np.exp(-distances / 1.28), atol=0.04)


def test_hinge_loss_equals_its_formula() -> None:
    state = np.random.RandomState(1)
    logits, labels = state.normal(size=(9, 4)), state.randint(4, size=9)
    others = logits + (np.arange(4) != labels[:, None])
    expected = (others.max(1) - logits[np.arange(9), labels]).mean()
    with tf.Graph().as_default(), tf.Session() as session:
        loss = tf.contrib.kernel_methods.sparse_multiclass_hinge_loss(
            tf.constant(labels), tf.constant(logits)
        )
        np.testing.assert_allclose(session.run(loss), expected, rtol=1e-6)


def test_hinge_loss_refuses_labels_that_are_no_classes() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        labels = tf.placeholder(tf.int32, [None])
        loss = tf.contrib.kernel_methods.sparse_multiclass_hinge_loss(labels, tf.zeros([3, 2]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="x < y did not hold"):
            session.run(loss, {labels: [0, 1, 2]})
