"""Models of strategies of one replica, trained where operations run when they are called."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import eagerly, program

X = np.sin(np.arange(24.0)).reshape(8, 3).astype("float32")
Y = np.cos(np.arange(16.0)).reshape(8, 2).astype("float32")


def rounded(values):
    return {name: np.round(np.array(x, float), 4).tolist() for name, x in sorted(values.items())}


def model_of(tf, strategy):
    layers = tf.keras.layers
    with strategy.scope():
        model = tf.keras.Sequential(
            [
                layers.Dense(2, use_bias=False, kernel_regularizer="l2", input_shape=(3,)),
                layers.BatchNormalization(),
                layers.Dense(2, kernel_initializer="ones"),
            ]
        )
        model.compile(tf.keras.optimizers.Adam(0.1), "mse", metrics=["mae"])
    kernel = np.cos(np.arange(6.0)).reshape(3, 2)
    model.set_weights([kernel, *model.get_weights()[1:]])
    return model


def trained(tf, strategy):
    model = model_of(tf, strategy)
    fit = {"batch_size": 4, "shuffle": False, "verbose": 0}
    halves = tf.data.Dataset.from_tensor_slices((X, Y)).batch(4)
    return {
        "fit": rounded(model.fit(X, Y, epochs=2, validation_data=(X, Y), **fit).history),
        "dataset": rounded(model.fit(halves, verbose=0).history),
        "weighted": rounded(model.fit(X, Y, sample_weight=np.arange(8.0), **fit).history),
        "split": rounded(model.fit(X, Y, validation_split=0.25, **fit).history),
        "evaluated": np.round(model.evaluate(X, Y, verbose=0), 4).tolist(),
        "predicted": np.round(model.predict(X)[:2], 3).tolist(),
    }


@program(rtol=1e-3, reason="steps of Adam from gradients that rounding makes")
def mirrored_on_one_device(tf):
    return eagerly(tf, lambda tf: trained(tf, tf.distribute.MirroredStrategy(["cpu:0"])))


@program(rtol=1e-3, reason="steps of Adam from gradients that rounding makes")
def one_device(tf):
    return eagerly(tf, lambda tf: trained(tf, tf.distribute.OneDeviceStrategy("cpu:0")))


@program(rtol=1e-3, reason="steps of Adam from gradients that rounding makes")
def central_storage_of_one_device(tf):
    def find(tf):
        return trained(tf, tf.distribute.experimental.CentralStorageStrategy(["cpu:0"]))

    return eagerly(tf, find)


@program
def subclasses(tf):
    def find(tf):
        strategy = tf.distribute.MirroredStrategy(["cpu:0"])

        class Own(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = tf.keras.layers.Dense(2, kernel_initializer="ones")

            def call(self, x):
                return self.dense(x)

        with strategy.scope():
            model = Own()
            model.compile(tf.keras.optimizers.SGD(0.1), "mse", metrics=["mae"])
        return rounded(model.fit(X, Y, shuffle=False, verbose=0).history)

    return eagerly(tf, find)
