"""Weights in a file that do not fit the layers of a model."""

from __future__ import annotations

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
