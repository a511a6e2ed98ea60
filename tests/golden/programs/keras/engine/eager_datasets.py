"""Datasets that Keras trains on where operations run when they are called: what it is told."""

from __future__ import annotations

import contextlib
import io
import re

import numpy as np
from tests.golden.programs.keras.engine.eager_steps import numbers
from tests.golden.registry import eagerly, program, raised


def model_of(tf):
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(2, input_shape=(3,), kernel_initializer="ones")]
    )
    model.compile("sgd", "mse")
    return model


def batches_of(tf):
    rows = tf.data.Dataset.from_tensor_slices((tf.ones((20, 3)), tf.zeros((20, 2))))
    return rows.batch(5)


def told(tf):
    """Return a callback that keeps what it is told, and the list of that."""
    events = []

    class Told(tf.keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            events.append("train " + str(sorted(self.params.items(), key=str)))

        def on_test_begin(self, logs=None):
            events.append("test " + str(sorted(self.params.items(), key=str)))

        def on_train_end(self, logs=None):
            events.append("end " + str(sorted(self.params.items(), key=str)))

        def on_batch_end(self, batch, logs=None):
            events.append(f"batch {batch} of {logs['size']}")

    return Told(), events


def fitted(tf, *args, **kwargs):
    callback, events = told(tf)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        history = model_of(tf).fit(*args, callbacks=[callback], **kwargs).history
    lines = printed.getvalue().splitlines()
    return {
        "history": [(name, numbers(values)) for name, values in sorted(history.items())],
        "events": events,
        "begins": [line for line in lines if re.match("Train|Epoch", line)],
    }


@program
def as_many_as_there_are(tf):
    def build(tf):
        batches = batches_of(tf)
        some = batches.filter(lambda x, y: True)
        return {
            "known": fitted(tf, batches, epochs=2, validation_data=batches),
            "unknown": fitted(tf, some, epochs=2, validation_data=some.take(2)),
        }

    return eagerly(tf, build)


@program
def steps_and_the_end(tf):
    def build(tf):
        batches = batches_of(tf)
        model = model_of(tf)
        x = batches.map(lambda x, y: x)
        return {
            "fewer": fitted(tf, batches, steps_per_epoch=2, validation_data=batches,
                            validation_steps=1),
            "beyond": fitted(tf, batches, steps_per_epoch=3, epochs=2),
            "evaluated": numbers(model.evaluate(batches, steps=7, verbose=0)),
            "predicted": numbers(model.predict(x, steps=7)),
        }  # fmt: skip

    return eagerly(tf, build)


@program
def datasets_without_an_end(tf):
    def build(tf):
        batches = batches_of(tf)
        model, endless = model_of(tf), batches.repeat()
        return {
            "fit": raised(model.fit, endless, verbose=0),
            "evaluate": raised(model.evaluate, endless, verbose=0),
            "predict": raised(model.predict, endless.map(lambda x, y: x), verbose=0),
            "validation": raised(model.fit, batches, validation_data=endless, verbose=0),
        }

    return eagerly(tf, build)


@program
def arrays(tf):
    def build(tf):
        x, y = np.ones((10, 3)), np.zeros((10, 2))
        return {"fitted": fitted(tf, x, y, batch_size=4, validation_split=0.2, shuffle=False)}

    return eagerly(tf, build)
