"""Keras models of graphs over datasets: the nodes that each call adds, and what it gives."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program

X = np.sin(np.arange(32.0)).reshape(8, 4).astype("float32")
Y = np.cos(np.arange(16.0)).reshape(8, 2).astype("float32")


def numbers(values):
    return np.asarray(values, "float32")


@program
def nodes_of_each_call(tf):
    """Evaluate and train: each adds one iterator, for any number of epochs."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        layers = tf.keras.layers
        model = tf.keras.Sequential([layers.Dense(3, input_shape=(4,)), layers.Dense(2)])
        model.compile(tf.train.GradientDescentOptimizer(0.1), "mse", metrics=["mae"])
        model.train_on_batch(X, Y)
        model.test_on_batch(X, Y)
        model.predict_on_batch(X)
        once = tf.data.Dataset.from_tensor_slices((X, Y)).batch(2)
        other, again = once.take(3), once.repeat()
        calls = {
            "as many as there are": lambda: model.fit(once, epochs=2, verbose=0),
            "steps": lambda: model.fit(once, steps_per_epoch=4, verbose=0),
            "ends early": lambda: model.fit(once, epochs=2, steps_per_epoch=3, verbose=0),
            "validation": lambda: model.fit(once, epochs=3, validation_data=other, verbose=0),
            "validation in steps": lambda: model.fit(
                again, epochs=3, steps_per_epoch=3, validation_data=again, validation_steps=3,
                verbose=0,
            ),
            "validation now and then": lambda: model.fit(
                again, epochs=4, steps_per_epoch=2, validation_data=other, validation_freq=2,
                verbose=0,
            ),
            "arrays, validation": lambda: model.fit(
                X, Y, epochs=2, validation_data=other, shuffle=False, verbose=0
            ),
            "evaluated": lambda: model.evaluate(other, verbose=0),
            "evaluated too far": lambda: model.evaluate(other, steps=5, verbose=0),
            "predicted": lambda: model.predict(other),
        }  # fmt: skip
        facts = {}
        for name, call in calls.items():
            count = len(graph.get_operations())
            result = call()
            history = getattr(result, "history", None)
            facts[name] = {
                "nodes": [[op.name, op.type] for op in graph.get_operations()[count:]],
                "result": numbers(result) if history is None
                else {key: numbers(values) for key, values in sorted(history.items())},
            }  # fmt: skip
    return Run(facts=facts)
