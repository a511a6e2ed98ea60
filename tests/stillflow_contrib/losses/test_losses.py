"""Losses as `tf.contrib.losses` has them: predictions first, weights of examples."""

from __future__ import annotations

import numpy as np

import stillflow as tf


def test_a_weight_counts_for_all_losses_of_its_example() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        loss = tf.contrib.losses.absolute_difference(
            tf.constant([[1.0, 3.0], [5.0, 7.0]]), tf.zeros([2, 2]), weights=[1.0, 0.0]
        )
        assert session.run(loss) == 2.0
        assert tf.contrib.losses.get_losses() == [loss]


def test_the_hinge_loss_is_neither_reduced_nor_collected() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        loss = tf.contrib.losses.hinge_loss(tf.constant([0.5, -2.0]), tf.constant([1.0, 1.0]))
        np.testing.assert_allclose(session.run(loss), [0.5, 3.0])
        assert tf.contrib.losses.get_losses() == []


def test_an_argument_scope_names_the_collection() -> None:
    with tf.Graph().as_default():
        losses = tf.contrib.slim.losses
        with tf.contrib.slim.arg_scope([losses.add_loss], loss_collection="mine"):
            loss = losses.mean_squared_error(tf.zeros([2]), tf.zeros([2]))
        assert tf.get_collection("mine") == [loss]
        assert losses.get_losses() == []
