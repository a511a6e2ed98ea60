"""Eager models that run as graphs: later changes, and errors."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, eagerly, program, raised

X = np.arange(30, dtype=np.float32).reshape(10, 3)


def frozen(tf):
    facts = {}
    for functions in (False, True):
        inputs = tf.keras.Input((3,))
        layer = tf.compat.v2.keras.layers.BatchNormalization()
        model = tf.keras.Model(inputs, layer(inputs))
        found = []
        for trainable in (True, False, True):
            layer.trainable = trainable
            model.compile("sgd", "mse", experimental_run_tf_function=functions)
            found += [model.evaluate(X, X / 2, verbose=0), model.train_on_batch(X, X / 2)]
            found += [layer.moving_mean.numpy(), len(model.trainable_weights)]
        found.append([weight.name.rpartition("/")[2] for weight in model.weights])
        facts[str(functions)] = found
    return facts


@program(rtol=1e-6, reason="means of squares are added up in another order")
def normalization_that_is_frozen_later(tf):
    return eagerly(tf, frozen)


def in_branches(tf):
    class Counting(tf.keras.layers.Layer):
        def build(self, shape):
            self.counter = self.add_weight("counter", (), trainable=False, initializer="zeros")

        def call(self, inputs, training=None):
            if training:
                total = tf.reduce_sum(inputs)
                self.add_update(lambda: self.counter.assign_add(total))
            return inputs

    layer = Counting()
    try:
        layer(tf.keras.Input((3,)))
        return {"updates": len(layer.updates)}
    except RuntimeError as error:
        return {"refused": str(error).splitlines()[0]}


@program
def updates_of_branches(tf):
    return eagerly(tf, in_branches)


def arrays_in_steps(tf):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse", run_eagerly=True, experimental_run_tf_function=False)
    y = X[:, :1]
    return {
        "fit": raised(model.fit, X, y, steps_per_epoch=2, verbose=0),
        "evaluate": raised(model.evaluate, X, y, steps=2, verbose=0),
        "predict": raised(model.predict, X, steps=2),
    }


@program
def steps_of_arrays_refused(tf):
    return eagerly(tf, arrays_in_steps)


def outside(tf):
    with tf.Graph().as_default():
        x = tf.ones([3, 3])
    calls = [
        lambda: tf.matmul(x, np.ones([3, 3], np.float32)),
        lambda: tf.matmul(x, tf.ones([3, 3])),
        lambda: x + tf.ones([3, 3]),
        lambda: tf.concat([x, x], 0),
    ]
    return {"refused": [raised(call) for call in calls]}


@program
def tensors_of_graphs_refused(tf):
    return eagerly(tf, outside)


def names_in_functions(tf):
    layers = tf.keras.layers

    class Outer(layers.Layer):
        def build(self, shape):
            self.own = self.add_weight("own", [1])
            self.inner = layers.Dense(1)
            super().build(shape)

        def call(self, x):
            return self.inner(x) * self.own

    first = layers.Dense(1)
    first(tf.ones([1, 1]))
    found = [[v.name for v in first.weights]]
    for symbolic in (False, True):
        outer = Outer()
        if symbolic:
            outer(tf.keras.Input((1,)))
        else:
            tf.function(lambda x, outer=outer: outer(x))(tf.ones([1, 1]))
        found.append([v.name for v in outer.weights])
    return {"names": found}


@program
def names_of_layers_in_functions(tf):
    return eagerly(tf, names_in_functions)


@program
def names_of_layers_in_functions_of_graphs(tf):
    with tf.Graph().as_default():
        return Run(facts=names_in_functions(tf))


@program
def curves(tf):
    auc = tf.keras.metrics.AUC(3, curve="pr", summation_method="Minoring")
    kinds = type(auc.curve), type(auc.summation_method)
    again = tf.keras.metrics.AUC(3, curve=auc.curve, summation_method=kinds[1].MAJORING)
    configs = [{**one.get_config(), "name": None} for one in (auc, again)]
    facts = {
        "choices": [[(one.name, one.value) for one in kind] for kind in kinds],
        "own": [str(auc.curve), str(auc.summation_method), auc.curve == "PR"],
        "configs": [[config["curve"], config["summation_method"]] for config in configs],
        "refused": [raised(kind.from_str, "x") for kind in kinds],
    }
    return Run(facts=facts)
