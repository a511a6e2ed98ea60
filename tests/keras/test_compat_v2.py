"""Parts of `tf.compat.v2` that no graph shows."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.eager.immediate import ImmediateGraph
from stillflow.util.tf_inspect import getfullargspec

v2 = tf.compat.v2


def test_names_of_asserts_stand_where_tensorflow_has_them():
    names = ["x", "y", "message", "summarize", "name"]
    assert getfullargspec(v2.debugging.assert_less_equal).args == names
    assert v2.assert_less is v2.debugging.assert_less


def test_frozen_normalization_uses_its_averages():
    with ImmediateGraph().as_default():
        for kind, expected in ((v2.keras.layers, 1.0), (tf.keras.layers, -1.0)):
            layer = kind.BatchNormalization(epsilon=1e-12)
            x = tf.constant([[1.0], [3.0]])
            layer.build(x.shape)
            layer.trainable = False
            assert layer(x, training=True)[0, 0].numpy() == pytest.approx(expected)


def test_tables_are_those_of_tensorflow_1():
    table = v2.lookup.StaticHashTable(
        v2.lookup.KeyValueTensorInitializer(["x", "y"], np.array([1, 2])), -1
    )
    with tf.Session() as sess:
        sess.run(tf.tables_initializer())
        assert sess.run(table.lookup(tf.constant(["y", "z"]))).tolist() == [2, -1]
