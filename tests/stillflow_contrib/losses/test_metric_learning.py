"""Losses of embeddings: none where classes lie far apart."""

from __future__ import annotations

import pytest

import stillflow as tf


@pytest.mark.parametrize("name", ["triplet_semihard_loss", "lifted_struct_loss"])
def test_classes_that_lie_far_apart_cost_nothing(name: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        embeddings = tf.constant([[0.0, 0.0], [0.0, 0.0], [9.0, 9.0], [9.0, 9.0]])
        labels = tf.placeholder(tf.int32, [None])
        loss = getattr(tf.contrib.losses.metric_learning, name)(labels, embeddings)
        assert session.run(loss, {labels: [0, 0, 1, 1]}) == 0.0
        assert session.run(loss, {labels: [0, 1, 0, 1]}) >= 1.0
