"""Models and layers that are loaded without their classes, where operations run when called."""

from __future__ import annotations

import functools
import tempfile

import numpy as np
from tests.golden.registry import eagerly, internal_module, program

X = np.sin(np.arange(12.0)).reshape(4, 3).astype("float32")
Y = np.cos(np.arange(8.0)).reshape(4, 2).astype("float32")


def at_once(find):
    """Return a program that keeps what a function finds out in eager execution."""

    @functools.wraps(find)
    def build(tf):
        return eagerly(tf, find)

    return program(build)


def loaded(tf, thing):
    directory = tempfile.mkdtemp()
    module = internal_module(tf, "saved_model.object_writing", "python.saved_model.save")
    module.save(thing, directory)
    return tf.keras.models.load_model(directory)


def described(model):
    return {
        "class": type(model).__name__,
        "name": model.name,
        "layers": [type(layer).__name__ for layer in model.layers],
        "names": [layer.name for layer in model.layers],
        "weights": len(model.weights),
        "losses": len(model.losses),
    }


def compare(tf, model, found):
    """Return True if a model predicts the same once it is loaded, and loaded again."""
    again = loaded(tf, found)
    return {
        "same": bool(np.allclose(model.predict(X), found.predict(X))),
        "again": bool(np.allclose(model.predict(X), again.predict(X))),
        "layers again": [type(layer).__name__ for layer in again.layers],
    }


def blocks(tf):
    """Return a model with layers in a list, a variable and a part that is for training only."""

    class Blocks(tf.keras.Model):
        def __init__(self):
            super().__init__(name="blocks")
            layers = tf.keras.layers
            self.first = layers.Dense(2, kernel_regularizer="l2", name="first")
            self.blocks = [layers.Dense(2, name="block"), layers.BatchNormalization(name="norm")]
            self.drop = layers.Dropout(0.5, name="drop")
            self.shift = self.add_weight("shift", [2])

        def call(self, x, training=None):
            x = self.first(x)
            for block in self.blocks:
                x = block(x)
            return self.drop(x, training=training) + self.shift

    return Blocks()


def doubling(tf):
    class Doubling(tf.keras.layers.Layer):
        def __init__(self, by=2.0, **kwargs):
            super().__init__(**kwargs)
            self.by = by

        def call(self, x):
            return x * self.by

        def get_config(self):
            return dict(super().get_config(), by=self.by)

    return Doubling(by=3.0, name="doubling")


@at_once
def models_of_classes_that_lack(tf):
    model = blocks(tf)
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    model.fit(X, Y, verbose=0)
    found = loaded(tf, model)
    facts = dict(described(found), **compare(tf, model, found))
    facts["attributes"] = [type(found.first).__name__, [type(x).__name__ for x in found.blocks]]
    path = tempfile.mkdtemp() + "/w"
    found.save_weights(path)
    facts["checkpoint"] = sorted(name for name, _ in tf.train.list_variables(path))
    facts["trained"] = sorted(found.fit(X, Y, verbose=0).history)
    return facts


@at_once
def functional_models_with_classes_that_lack(tf):
    x = tf.keras.Input((3,), name="x")
    hidden = doubling(tf)(tf.keras.layers.Dense(3, name="hidden")(x))
    model = tf.keras.Model(x, blocks(tf)(hidden), name="around")
    model.compile("sgd", "mse", metrics=["mae"])
    model.fit(X, Y, verbose=0)
    found = loaded(tf, model)
    facts = dict(described(found), **compare(tf, model, found))
    facts["config"] = found.get_layer("doubling").get_config()
    facts["metrics"] = found.metrics_names
    return facts


@at_once
def losses_and_regularizers_of_models(tf):
    facts = {}
    for name in ("functional", "sequential"):
        layers = [tf.keras.layers.Dense(2, input_shape=(3,)), tf.keras.layers.Dense(2)]
        model = tf.keras.Sequential(layers)
        if name == "functional":
            x = tf.keras.Input((3,))
            model = tf.keras.Model(x, layers[1](layers[0](x)))
        model.activity_regularizer = tf.keras.regularizers.l2()
        model.add_loss(functools.partial(tf.reduce_sum, layers[0].kernel))
        model.compile("sgd", "mse")
        model.train_on_batch(X, Y)
        found = loaded(tf, model)
        model(tf.constant(X))
        found(tf.constant(X))
        facts[name] = [len(model.losses), len(found.losses)]
        facts[name + " same"] = bool(np.allclose(sorted(model.losses), sorted(found.losses)))
    return facts


@at_once
def layers_alone(tf):
    layer = tf.keras.layers.Dense(4, name="alone")
    layer.build([None, 3])
    found = loaded(tf, layer)
    spec = doubling(tf)
    spec.input_spec = {"a": tf.keras.layers.InputSpec(max_ndim=3, axes={-1: 2})}
    loaded_spec = loaded(tf, spec).input_spec["a"]
    return {
        "class": type(found).__name__,
        "name": found.name,
        "weights": [v.name for v in found.weights],
        "same": bool(np.allclose(found.kernel.numpy(), layer.kernel.numpy())),
        "config": found.get_config()["units"],
        "spec": [loaded_spec.max_ndim, sorted(loaded_spec.axes.items())],
    }


@at_once
def models_of_features(tf):
    column = tf.feature_column.categorical_column_with_vocabulary_list("b", ["1", "2", "3"])
    columns = [tf.feature_column.indicator_column(column)]
    model = tf.keras.Sequential([tf.keras.layers.DenseFeatures(columns)])
    features = {"b": np.array(["2", "1", "9"])}
    predicted = model.predict(features)
    found = loaded(tf, model)
    return {"predicted": predicted.tolist(), "loaded": found.predict(features).tolist()}


@at_once
def signatures_of_models(tf):
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    spec = [tf.TensorSpec([None, 3], tf.float32)]
    doubled = tf.function(lambda x: {"doubled": model(x) * 2.0}, input_signature=spec)
    directory = tempfile.mkdtemp()
    model.save(directory, save_format="tf", signatures={"doubled": doubled})
    found = tf.keras.models.load_model(directory)
    value = found.signatures["doubled"](tf.constant(X))["doubled"]
    return {
        "signatures": sorted(found.signatures),
        "same": bool(np.allclose(value, 2 * model.predict(X))),
    }
