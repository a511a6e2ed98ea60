"""HDF5 files that Keras 1 wrote."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

h5py = pytest.importorskip("h5py")


def test_gates_that_were_kept_one_by_one_are_joined(tmp_path):
    path = str(tmp_path / "weights.h5")
    arrays = [np.full(shape, i) for i, shape in enumerate([(2, 3), (3, 3), (3,)] * 4)]
    with h5py.File(path, "w") as file:  # without `keras_version`, as Keras 1 wrote it
        file.attrs["layer_names"] = [b"lstm_1"]
        group = file.create_group("lstm_1")
        names = [f"lstm_1_{i}" for i in range(12)]
        group.attrs["weight_names"] = [name.encode() for name in names]
        for name, array in zip(names, arrays, strict=True):
            group[name] = array
    model = tf.keras.Sequential([tf.keras.layers.LSTM(3, input_shape=(4, 2))])
    model.load_weights(path)
    kernel, recurrent_kernel, bias = model.get_weights()
    assert kernel[0, ::3].tolist() == [0, 6, 3, 9]  # input, forget, cell, output
    assert recurrent_kernel[0, ::3].tolist() == [1, 7, 4, 10]
    assert bias[::3].tolist() == [2, 8, 5, 11]
