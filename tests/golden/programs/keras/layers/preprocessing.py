"""Layers of `tensorflow.python.keras` that learn from data before training."""

from __future__ import annotations

import functools

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

# What Keras' session initializes comes in an order that changes: only facts are compared.
X = np.array([[1, 2, 1], [2, 3, 4], [1, 2, 1], [2, 3, 4]])
CUBES = np.arange(24.0).reshape(4, 3, 2)


def in_another_graph(find):
    """Return a program that keeps what a function finds out."""

    @functools.wraps(find)
    def build(tf):
        with tf.Graph().as_default():
            return Run({}, facts=find(tf))

    return program(build)


def normalization(tf, **kwargs):
    theirs = "python.keras.layers.preprocessing.normalization_v1"
    return internal_module(tf, "keras.layers.preprocessing", theirs).Normalization(**kwargs)


@in_another_graph
def normalization_by_an_array(tf):
    layer = normalization(tf, name="n")
    layer.adapt(X)
    x = tf.keras.Input((3,))
    y = layer(x)
    facts = {"weights": [w.name for w in layer.weights], "config": layer.get_config()}
    facts["state"] = [np.asarray(w).tolist() for w in layer.get_weights()]
    layer.adapt(np.array([[10.0, 20.0, 30.0]]), reset_state=False)
    facts["tuned"] = [np.asarray(w).tolist() for w in layer.get_weights()]
    facts["predicted"] = tf.keras.Model(x, y).predict(X[:2]).tolist()
    facts["trainable"] = len(layer.trainable_weights)
    return facts


@in_another_graph
def normalization_by_a_dataset(tf):
    facts = {}
    for axis in (1, -1, (1, 2)):
        layer = normalization(tf, axis=axis)
        layer.adapt(tf.data.Dataset.from_tensor_slices(CUBES).batch(3))
        x = tf.keras.Input((3, 2))
        facts[str(axis)] = tf.keras.Model(x, layer(x)).predict(CUBES).tolist()
    return facts


@in_another_graph
def normalization_refuses(tf):
    layer = normalization(tf)
    forever = tf.data.Dataset.from_tensor_slices(CUBES).repeat()
    facts = {
        "axis": raised(normalization, tf, axis=0),
        "list": raised(layer.adapt, [1, 2]),
        "forever": raised(layer.adapt, forever),
        "not built": raised(layer._set_state_variables, {}),
    }
    layer.build((2,))
    layer.set_weights([np.array([1.3, 2.0]), np.array([0.0, 1.0])])
    facts["no count"] = raised(layer.adapt, np.array([[1, 2]]), reset_state=False)
    return facts


@in_another_graph
def accumulators_of_normalization(tf):
    combiner = normalization(tf)._combiner
    parts = [combiner.compute(X[:1]), combiner.compute(X[1:])]
    merged = combiner.merge(parts)
    facts = {name: value.tolist() for name, value in combiner.extract(merged).items()}
    facts["bytes"] = combiner.serialize(merged).decode()
    facts["again"] = combiner.deserialize(combiner.serialize(merged)).mean.tolist()
    return facts


@in_another_graph
def a_layer_by_a_combiner(tf):
    ours, theirs = (
        "keras.engine.preprocessing_layer",
        "python.keras.engine.base_preprocessing_layer",
    )
    base, v1 = internal_module(tf, ours, theirs), internal_module(tf, ours, theirs + "_v1")

    class Summing(base.Combiner):
        def compute(self, batch_values, accumulator=None):
            return np.sum(batch_values) + (accumulator or 0)

        def merge(self, accumulators):
            return sum(accumulators)

        def extract(self, accumulator):
            return {"sum": [accumulator]}

        def restore(self, output):
            return output["sum"][0]

    class Adding(base.CombinerPreprocessingLayer):
        def build(self, input_shape):
            super().build(input_shape)
            self.sum = self._add_state_variable("sum", (1,), tf.float32, tf.zeros_initializer)

        def call(self, inputs):
            return inputs + self.sum

    class AddingInSessions(Adding, v1.CombinerPreprocessingLayer):
        pass

    layer = AddingInSessions(combiner=Summing())
    x = tf.keras.Input((1,))
    model = tf.keras.Model(x, layer(x))
    facts = {"repr": repr(layer._combiner), "before": model.predict([1.0, 2.0]).tolist()}
    layer.adapt(np.array([1, 2, 3]))
    facts["learned"] = model.predict([1.0, 2.0]).tolist()
    layer.adapt(tf.data.Dataset.range(3), reset_state=False)
    facts["more"] = model.predict([1.0, 2.0]).tolist()
    return facts
