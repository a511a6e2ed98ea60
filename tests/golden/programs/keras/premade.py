"""Models of `tf.keras.experimental`, and a constraint of kernels."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program

X = np.sin(np.arange(24.0)).reshape(8, 3).astype("float32")
Y = X[:, :1] * 2.0 - X[:, 1:2]


def trained(tf, model, x, optimizer):
    model.compile(optimizer, "mse", metrics=["mae"])

    def call(session):
        tf.keras.backend.set_session(session)
        losses = [model.train_on_batch(x, Y) for _ in range(3)]
        found = {"weight_" + str(i): w for i, w in enumerate(model.get_weights())}
        return {"losses": np.array(losses), "y": model.predict(x), **found}

    return Run(call=call)


def linear(tf, **kwargs):
    return tf.keras.experimental.LinearModel(kernel_initializer="ones", **kwargs)


def deep(tf):
    layers = tf.keras.layers
    ones = {"kernel_initializer": "ones"}
    return tf.keras.Sequential(
        [layers.Dense(2, activation="tanh", **ones), layers.Dense(1, **ones)]
    )


@program
def linear_model(tf):
    model = linear(tf, activation="tanh", kernel_regularizer="l2")
    return trained(tf, model, X, tf.keras.optimizers.SGD(0.1))


@program
def linear_model_of_two_inputs(tf):
    model = linear(tf, bias_initializer="ones")
    return trained(tf, model, [X[:, :2], X[:, 2:]], tf.keras.optimizers.SGD(0.1))


@program
def wide_and_deep(tf):
    model = tf.keras.experimental.WideDeepModel(linear(tf), deep(tf), activation="sigmoid")
    return trained(tf, model, X, tf.keras.optimizers.SGD(0.1))


@program
def wide_and_deep_with_two_optimizers(tf):
    model = tf.keras.experimental.WideDeepModel(linear(tf, use_bias=False), deep(tf))
    optimizers = [tf.keras.optimizers.SGD(0.1), tf.keras.optimizers.Adam(0.01)]
    return trained(tf, model, [X[:, :2], X], optimizers)


@program
def configurations(tf):
    model = linear(tf, units=2, name="l", bias_regularizer="l1")
    again = tf.keras.experimental.LinearModel.from_config(model.get_config())
    return Run(facts={"config": again.get_config(), "version": tf.keras.__version__})


@program
def radial_constraint(tf):
    constraint = tf.keras.constraints.get("radial_constraint")
    even = tf.constant(np.arange(4 * 4 * 2 * 3.0).reshape(4, 4, 2, 3).astype("float32"))
    odd = tf.constant(np.arange(5 * 5 * 2.0).reshape(5, 5, 1, 2).astype("float32"))
    fetches = {"even": constraint(even), "odd": constraint(odd)}
    return Run(fetches, setup=[tf.global_variables_initializer()])


@program(fails=True)
def radial_constraint_of_a_matrix(tf):
    tf.keras.constraints.RadialConstraint()(tf.zeros([3, 3]))
