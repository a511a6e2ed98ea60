"""Output of fitting `tf.keras` models, and the results."""

from __future__ import annotations

import contextlib
import io
import logging
import re

import numpy as np
from tests.golden.registry import Run, program

X = np.sin(np.arange(40.0)).reshape(10, 4).astype("float32")
Y = np.cos(np.arange(20.0)).reshape(10, 2).astype("float32")
TIME = re.compile(r" \d+(s|ms|us)(/(step|sample))?")


def batches():
    """Batches of three, of three and of four examples, again and again."""
    while True:
        for start, end in ((0, 3), (3, 6), (6, 10)):
            yield X[start:end], Y[start:end]


def few():
    """Two batches."""
    for start in (0, 5):
        yield X[start : start + 5], Y[start : start + 5]


def printed(text):
    """Return the lines that stay on a terminal, without times."""
    lines = [line for line in re.split("[\r\n]", text.replace("\b", "")) if "ETA" not in line]
    return [TIME.sub("", line).strip() for line in lines if line.strip()]


def of_model(tf, act):
    """Return the output of `act(model)`, and its histories."""
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.keras.backend.set_session(sess)
        dense = tf.keras.layers.Dense(2, kernel_initializer="ones", input_shape=(4,))
        model = tf.keras.Sequential([dense])
        model.compile("sgd", "mse", metrics=["mae"])
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            found = act(model)
    tf.keras.backend.set_session(None)
    facts = {"printed": printed(out.getvalue())}
    for i, history in enumerate(found):
        for name, values in history.history.items():
            facts[f"{name} {i}"] = np.array(values, "float32")
    return Run({}, facts=facts)


def sequence(tf):
    class Halves(tf.keras.utils.Sequence):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return X[index * 5 : index * 5 + 5], Y[index * 5 : index * 5 + 5]

    return Halves()


@program
def arrays(tf):
    def act(model):
        order = {"shuffle": False, "batch_size": 4}
        return [
            model.fit(X, Y, epochs=2, verbose=1, validation_split=0.3, **order),
            model.fit(X, Y, epochs=2, verbose=2, validation_data=(X, Y), **order),
            model.fit(X, Y, initial_epoch=1, epochs=3, verbose=2, validation_freq=2, **order),
        ]

    return of_model(tf, act)


@program
def generators(tf):
    def act(model):
        given = {"steps_per_epoch": 3, "epochs": 2, "workers": 0}  # what workers drop is chance
        return [
            model.fit_generator(batches(), verbose=1, **given),
            model.fit_generator(
                batches(), verbose=1, validation_data=batches(), validation_steps=2, **given
            ),
            model.fit(batches(), verbose=2, validation_data=sequence(tf), **given),
        ]

    return of_model(tf, act)


@program
def arrays_beside_generators(tf):
    def act(model):
        weights = np.linspace(0.5, 1.5, 10)
        np.random.seed(3)
        found = [
            model.fit_generator(
                batches(), steps_per_epoch=2, epochs=2, verbose=1, validation_data=(X, Y)
            ),
            model.fit_generator(
                batches(), steps_per_epoch=3, verbose=2, validation_data=(X, Y, weights)
            ),
        ]
        print(np.random.randint(1000))
        return found

    return of_model(tf, act)


@program
def generators_that_end(tf):
    def act(model):
        return [
            model.fit_generator(few(), steps_per_epoch=2, epochs=2, verbose=1),
            model.fit_generator(few(), steps_per_epoch=3, epochs=2, verbose=1, workers=2),
            model.fit_generator(few(), steps_per_epoch=3, epochs=2, verbose=2, workers=0),
        ]

    return of_model(tf, act)


@program
def sequences(tf):
    def act(model):
        found = [
            model.fit_generator(sequence(tf), epochs=2, verbose=2, shuffle=False, workers=workers)
            for workers in (0, 1, 2)
        ]
        print(np.around(model.evaluate_generator(sequence(tf), verbose=1), 4).tolist())
        print(model.predict_generator(sequence(tf), verbose=1).shape)
        return found

    return of_model(tf, act)


def orders(tf):
    """Datasets of examples, by what is done to them."""
    data = tf.data.Dataset.from_tensor_slices((X, Y))
    one = tf.data.Dataset.from_tensors
    return {
        "batch": data.batch(5),
        "repeat": data.batch(5).repeat(),
        "map": data.map(lambda x, y: (x, y)).batch(5).prefetch(1),
        "options": data.batch(5).with_options(tf.data.Options()),
        "shuffle": data.shuffle(4, seed=1).batch(5),
        "shuffle and map": data.shuffle(4, seed=1).map(lambda x, y: (x, y), 2).batch(5),
        "flat_map": data.flat_map(lambda x, y: one((x, y))).batch(5),
    }


@program
def datasets_in_order(tf):
    said = []
    log = logging.getLogger("tensorflow")
    handler = logging.Handler()
    handler.emit = lambda record: said.append("shuffled dataset" in record.getMessage())
    found = {}

    def act(model):
        for name, data in orders(tf).items():
            for shuffle in (True, False):
                del said[:]
                model.fit(data, steps_per_epoch=1, verbose=0, shuffle=shuffle)
                found[f"{name} {shuffle}"] = sum(said)
        return []

    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.WARNING)
    try:
        of_model(tf, act)
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
    return Run({}, facts=found)
