"""Weights in a file that do not fit the layers of a model."""

from __future__ import annotations

import re

import numpy as np
import pytest

import stillflow as tf

pytest.importorskip("h5py")


def dense(units):
    return tf.keras.Sequential([tf.keras.layers.Dense(units, input_shape=(3,))])


def test_weights_of_another_shape_are_an_error_and_change_nothing(tmp_path):
    path = str(tmp_path / "weights.h5")
    dense(4).save_weights(path)
    model = dense(5)
    before = model.get_weights()
    with pytest.raises(ValueError, match=r"has shape \(3, 5\), but the saved weight has shape"):
        model.load_weights(path)
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize(
    ("names", "message"),
    # Recorded with TensorFlow 1.15.5: layers of the file are counted, input layers as well.
    [("xb", 'Layer #2 (named "b")'), ("ba", 'Layer #1 (named "a")')],
)
def test_by_name_the_layers_of_the_file_are_counted(tmp_path, names, message):
    def network(names, units):
        images = tf.keras.Input([3])
        hidden = tf.keras.layers.Dense(4, name=names[0])(images)
        return tf.keras.Model(images, tf.keras.layers.Dense(units, name=names[1])(hidden))

    path = str(tmp_path / "weights.h5")
    network("ab", 2).save_weights(path)
    with pytest.raises(ValueError, match=re.escape(message)):
        network(names, 9).load_weights(path, by_name=True)
