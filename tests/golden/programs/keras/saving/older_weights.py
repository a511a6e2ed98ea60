"""Weights of Keras 1 and of other backends, as layers of `tf.keras` take them."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

FILES = (("1", None), ("1", "theano"), ("2.1.0", "theano"), ("2.1.0", "tensorflow"))


def arrays(shapes):
    """Arrays in which all numbers differ."""
    made, count = [], 0
    for shape in shapes:
        size = int(np.prod(shape))
        made.append(np.arange(count, count + size, dtype="float32").reshape(shape))
        count += size
    return made


def layers_and_weights(tf):
    layers = tf.keras.layers
    gates = [(2, 3), (3, 3), (3,)]
    maps = [(2, 2, 2, 3), (2, 2, 3, 3), (3,)]
    return {
        "sequences": (layers.Conv1D(4, 3), (8, 2), [(3, 1, 2, 4), (4,)]),
        "turned sequences": (layers.Conv1D(4, 3), (8, 2), [(4, 2, 3, 1), (4,)]),
        "images": (layers.Conv2D(4, 3), (8, 8, 2), [(3, 3, 2, 4), (4,)]),
        "turned images": (layers.Conv2D(3, 2), (8, 8, 4), [(4, 3, 2, 2), (3,)]),
        "volumes": (layers.Conv3D(4, 3), (8, 8, 8, 2), [(3, 3, 3, 2, 4), (4,)]),
        "gates": (layers.GRU(3), (5, 2), gates * 3),
        "more gates": (layers.LSTM(3), (5, 2), gates * 4),
        "maps": (layers.ConvLSTM2D(3, 2), (4, 5, 5, 2), maps * 4),
        "both": (layers.Bidirectional(layers.LSTM(3)), (5, 2), gates * 8),
        "every step": (layers.TimeDistributed(layers.LSTM(3)), (2, 5, 2), gates * 4),
        "dense": (layers.Dense(3), (2,), [(2, 3), (3,)]),
    }


def convert(tf):
    module = internal_module(
        tf, "keras.saving.recurrent_weights", "python.keras.saving.hdf5_format"
    )
    return module.preprocess_weights_for_loading


@program
def layers_of_older_files(tf):
    facts = {}
    for name, (layer, shape, shapes) in layers_and_weights(tf).items():
        layer(tf.keras.Input(shape))
        for version, backend in FILES if name != "gates" else FILES[:2]:
            if version != "1" and name.endswith("sequences"):
                continue
            found = convert(tf)(layer, arrays(shapes), version, backend)
            facts[f"{name} {version} {backend}"] = [np.array(x) for x in found]
    return Run(facts=facts)


@program
def other_layers_weights(tf):
    layer = tf.keras.layers.LSTM(2)
    return Run(facts={"bias": raised(convert(tf), layer, arrays([(1, 8), (2, 8), (3,)]), "2.0")})


@program
def convolutions_of_channels_first(tf):
    layers = tf.keras.layers
    facts = {}
    for name, layer, shape, kernel in (
        ("images", layers.Conv2D(4, 3, data_format="channels_first"), (2, 8, 8), (4, 2, 3, 3)),
        ("volumes", layers.Conv3D(4, 3, data_format="channels_first"), (2, 8, 8, 8),
         (4, 2, 3, 3, 3)),
    ):  # fmt: skip
        layer(tf.keras.Input(shape))
        found = convert(tf)(layer, arrays([kernel, (4,)]), "1", "tensorflow")
        facts[name] = [np.array(x) for x in found]
    return Run(facts=facts)
