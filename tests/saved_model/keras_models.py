"""Keras models as SavedModels, written and used by TensorFlow 1.15.5 or by Stillflow.

    python -m tests.saved_model.keras_models write MODULE DIRECTORY
    python -m tests.saved_model.keras_models use MODULE DIRECTORY    # the facts, as JSON
    python -m tests.saved_model.keras_models record    # with TensorFlow: writes recorded/keras.json

Runs under Python 3.7 as well.
"""

from __future__ import annotations

import os

import numpy as np
from tests.saved_model import program

RECORDED = os.path.join(program.FOLDER, "keras.json")


def sequential(tf):
    """Return a model with variables that are not trained, and one that acts only in training."""
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            layers.Dense(3, activation="relu", input_shape=(4,), kernel_regularizer="l2"),
            layers.BatchNormalization(),
            layers.Dropout(0.5),
            layers.Dense(2),
        ]
    )


def functional(tf):
    """Return a model with several inputs and outputs, all of them named."""
    layers = tf.keras.layers
    a, b = tf.keras.Input((4,), name="a"), tf.keras.Input((2,), name="b", dtype="int32")
    both = layers.concatenate([a, layers.Flatten()(layers.Embedding(5, 3)(b))])
    return tf.keras.Model(
        [a, b],
        [
            layers.Dense(2, name="one")(both),
            layers.Dense(3, name="two", activation="softmax")(both),
        ],
    )


def subclassed(tf):
    """Return a model that learned from data what it takes."""

    class Twice(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(4)

        def call(self, inputs):
            return self.dense(self.dense(inputs))

    model = Twice()
    model.compile("sgd", "mse")
    model.predict(np.ones((2, 4), np.float32))
    return model


def compiled(tf):
    """Return a model that was trained with metrics."""
    model = sequential(tf)
    model.compile(tf.keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    model.fit(np.ones((8, 4)), np.ones((8, 2)), verbose=0, shuffle=False)
    return model


def recurrent(tf):
    """Return a model with a loop."""
    return tf.keras.Sequential(
        [tf.keras.layers.LSTM(3, input_shape=(3, 4)), tf.keras.layers.Dense(1)]
    )


MODELS = (sequential, functional, subclassed, compiled, recurrent)
_FED = {"b": [[1, 2], [0, 4]], "lstm_input": np.linspace(-1, 1, 24).reshape(2, 3, 4)}


def fed(name):
    """Return the feed of the input of a name."""
    return np.array(_FED.get(name, np.linspace(-1, 1, 8).reshape(2, 4)))


def set_fixed_weights(model):
    """Set a model's values, so that none is random."""
    model.set_weights(
        [np.linspace(0.1, 1, value.size).reshape(value.shape) for value in model.get_weights()]
    )


def write(tf, directory):
    """Write all models."""
    for make in MODELS:
        tf.keras.backend.clear_session()
        model = make(tf)
        set_fixed_weights(model)
        tf.saved_model.save(model, os.path.join(directory, make.__name__))


def use(tf, directory):
    """Return the signatures of the models in a directory, and what they answer."""
    found = {make.__name__: _answers(tf, os.path.join(directory, make.__name__)) for make in MODELS}
    return program.plain(found)


def _answers(tf, directory):
    with tf.Graph().as_default(), tf.Session() as session:
        loaded = tf.saved_model.load(session, ["serve"], directory)
        signature = loaded.signature_def["serving_default"]
        feed = {info.name: fed(name) for name, info in signature.inputs.items()}
        return {
            "inputs": _described(signature.inputs),
            "outputs": _described(signature.outputs),
            "method": signature.method_name,
            "answers": {
                name: session.run(info.name, feed) for name, info in signature.outputs.items()
            },
        }


def _described(infos):
    return {
        name: [info.name, info.dtype, [one.size for one in info.tensor_shape.dim]]
        for name, info in infos.items()
    }


if __name__ == "__main__":
    program.main(write, use, RECORDED)
