"""Compiled models of `tf.keras` as estimators."""

from __future__ import annotations

import os
import shutil
import tempfile

import numpy as np
from tests.golden.registry import Run, program, raised

X = np.sin(np.arange(32.0)).reshape(8, 4).astype("float32")
Y = np.cos(np.arange(16.0)).reshape(8, 2).astype("float32")
WEIGHTS = np.linspace(0.5, 1.5, 8).astype("float32")


def network(tf):
    layers = tf.keras.layers
    inputs = layers.Input((4,), name="seen")
    hidden = layers.Dense(3, activation="tanh", kernel_initializer="ones")(inputs)
    normal = layers.BatchNormalization()(hidden)
    return tf.keras.Model(inputs, layers.Dense(2, kernel_initializer="ones", name="told")(normal))


def input_fn(tf, features, labels, epochs=None):
    def read():
        data = tf.data.Dataset.from_tensor_slices((features, labels))
        return tf.data.make_one_shot_iterator(data.batch(4).repeat(epochs)).get_next()

    return read


def in_folder(tf, act):
    """Return the facts that `act` finds with a folder; Keras' session is left behind."""
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default():
        try:
            facts = act(folder)
        finally:
            shutil.rmtree(folder)
            tf.keras.backend.set_session(None)
    return Run({}, facts=facts)


def numbers(found):
    return {name: np.float32(value) for name, value in found.items()}


def trained(tf, optimizer, features=None, labels=Y, fit=False):
    """Return an estimator's results in training, use and further training."""
    features = {"seen": X} if features is None else features

    def act(folder):
        model = network(tf)
        model.compile(optimizer(), "mse", metrics=["mae"])
        if fit:
            model.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0)
        config = tf.estimator.RunConfig(tf_random_seed=3)
        estimator = tf.keras.estimator.model_to_estimator(model, model_dir=folder, config=config)
        facts = {"began": sorted(os.listdir(os.path.join(folder, "keras")))}
        estimator.train(input_fn(tf, features, labels), steps=3)
        facts["variables"] = sorted(estimator.get_variable_names())
        facts["kernel"] = np.array(estimator.get_variable_value("dense/kernel"))
        facts["evaluated"] = numbers(estimator.evaluate(input_fn(tf, features, labels, 1)))
        predicted = list(estimator.predict(input_fn(tf, {"seen": X}, Y, 1)))
        facts["predicted"] = {name: np.array(value) for name, value in predicted[0].items()}
        estimator.train(input_fn(tf, features, labels), steps=2)
        facts["on"] = numbers(estimator.evaluate(input_fn(tf, features, labels, 1)))
        return facts

    return in_folder(tf, act)


@program
def adam(tf):
    return trained(tf, lambda: tf.keras.optimizers.Adam(0.05))


@program
def optimizer_of_tf_train(tf):
    return trained(tf, lambda: tf.train.AdagradOptimizer(0.1))


@program
def weights_that_fit_gave(tf):
    return trained(tf, lambda: tf.keras.optimizers.SGD(0.1, momentum=0.9), fit=True)


@program
def labels_by_name(tf):
    return trained(tf, lambda: "rmsprop", labels={"told": Y})


@program
def weighed_examples(tf):
    features = {"features": X, "sample_weights": WEIGHTS}
    return trained(tf, lambda: "sgd", features=features)


@program
def graph_of_training(tf):
    folder = tempfile.mkdtemp()
    model = network(tf)
    model.compile(tf.keras.optimizers.Adam(0.05), "mse", metrics=["mae"])
    estimator = tf.keras.estimator.model_to_estimator(model, model_dir=folder)
    with tf.Graph().as_default() as graph:
        features, labels = {"seen": tf.constant(X)}, tf.constant(Y)
        spec = estimator.model_fn(features, labels, "train", estimator.config)
        facts = {
            "operations": [
                f"{op.type} {op.name} {len(op.inputs)}" for op in graph.get_operations()
            ],
            "train_op": spec.train_op.name,
            "loss": spec.loss.name,
            "metrics": sorted(spec.eval_metric_ops),
            "outputs": sorted(spec.export_outputs),
        }
    shutil.rmtree(folder)
    tf.keras.backend.set_session(None)
    return Run({}, facts=facts)


@program
def refused(tf):
    def act(folder):
        make = tf.keras.estimator.model_to_estimator
        model = network(tf)
        facts = {
            "neither": raised(make),
            "both": raised(make, model, "model.h5"),
            "not compiled": raised(make, model, model_dir=folder),
            "format": raised(make, model, model_dir=folder, checkpoint_format="other"),
        }
        model.compile("sgd", "mse")
        estimator = make(model, model_dir=folder)
        others = input_fn(tf, {}, Y)  # sets of more names have no order
        facts["names"] = raised(estimator.train, others, steps=1)
        return facts

    return in_folder(tf, act)
