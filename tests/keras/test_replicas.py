"""Models in replicas: what weighs their examples."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf

X = np.sin(np.arange(64.0)).reshape(16, 4).astype("float32")
Y = np.cos(np.arange(16.0)).reshape(16, 1).astype("float32")
WEIGHTS = np.arange(16.0).astype("float32")


def trained() -> tuple[Any, Any]:
    """Return the losses of two epochs, and the final values, of a model of the current scope."""
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(3, "relu", input_shape=(4,)), tf.keras.layers.Dense(1),
    ])  # fmt: skip
    model.compile("sgd", "mse", metrics=["mae"])
    start = [np.sin(np.arange(v.shape.num_elements())) for v in model.weights]
    model.set_weights(
        [a.reshape(v.shape.as_list()) for a, v in zip(start, model.weights, strict=True)]
    )
    history = model.fit(
        X, Y, batch_size=8, epochs=2, verbose=0, shuffle=False, sample_weight=WEIGHTS
    ).history
    evaluated = model.evaluate(X, Y, batch_size=8, verbose=0, sample_weight=WEIGHTS)
    return [*history.values(), evaluated], model.get_weights()


def test_weights_of_examples_count_in_replicas_as_elsewhere() -> None:
    results, values = trained()
    with tf.Graph().as_default():
        strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            tf.keras.backend.set_session(session)
            with strategy.scope():
                in_replicas, values_there = trained()
    for ours, wanted in zip(in_replicas, results, strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-5)
    for ours, wanted in zip(values_there, values, strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-5)
