"""A model that only its class describes, saved by TensorFlow 1.15.5 with its functions.

    python -m tests.saved_model.subclassed_models    # with TensorFlow: writes recorded/subclassed

Runs under Python 3.7 as well.
"""

from __future__ import annotations

import json
import os

import numpy as np
from tests.saved_model import program

FOLDER = os.path.join(program.FOLDER, "subclassed")
RECORDED = os.path.join(program.FOLDER, "subclassed.json")
X = np.sin(np.arange(12.0)).reshape(4, 3).astype("float32")
Y = np.cos(np.arange(4.0)).reshape(4, 1).astype("float32")


def save(tf):
    """Trains and saves a model with a variable of its own, losses and a part for training only."""

    class Scaled(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.first = tf.keras.layers.Dense(2, kernel_regularizer="l2")
            self.normalize = tf.keras.layers.BatchNormalization()
            self.last = tf.keras.layers.Dense(1)
            self.scale = tf.Variable(2.0, name="scale")

        def call(self, inputs, training=None):
            hidden = self.normalize(self.first(inputs) * self.scale, training=training)
            return self.last(hidden)

    tf.compat.v1.set_random_seed(1)
    model = Scaled()
    model.compile("sgd", "mse", metrics=["mae"])
    model.fit(X, Y, verbose=0, shuffle=False)
    model.save(FOLDER, save_format="tf")


def use(tf):
    """Return the facts about a model made of it, and its training."""
    model = tf.keras.models.load_model(FOLDER)
    found = {
        "class": type(model).__name__,
        "name": model.name,
        "layers": [layer.name for layer in model.layers],
        "trainable": sorted(v.name for v in model.trainable_variables),
        "others": sorted(v.name for v in model.non_trainable_variables),
        "metrics": model.metrics_names,
        "predicted": np.ravel(model.predict(X)).tolist(),
        "evaluated": np.ravel(model.evaluate(X, Y, verbose=0)).tolist(),
    }
    history = model.fit(X, Y, epochs=2, verbose=0, shuffle=False).history
    found["history"] = {name: np.ravel(values).tolist() for name, values in history.items()}
    found["afterwards"] = np.ravel(model.predict(X)).tolist()
    return found


if __name__ == "__main__":
    import tensorflow

    tensorflow.compat.v1.enable_eager_execution()
    save(tensorflow)
    with open(RECORDED, "w") as file:
        json.dump(use(tensorflow), file, indent=1, sort_keys=True)
