"""Keras where operations run when they are called: steps as functions, in graphs, one by one."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, eagerly, program, raised

X = np.sin(np.arange(40.0)).reshape(10, 4).astype("float32")
Y = np.cos(np.arange(20.0)).reshape(10, 2).astype("float32")
WAYS = ("functions", "graph", "eagerly")


def options(way):
    """Return the arguments of `compile` for a way to run steps."""
    return {
        "functions": {},
        "graph": {"experimental_run_tf_function": False},
        "eagerly": {"run_eagerly": True},
    }[way]


def each_way(tf, build):
    def built(tf):
        facts = {}
        for way in WAYS:
            tf.set_random_seed(1)
            np.random.seed(1)
            facts[way] = build(options(way))
        return facts

    return eagerly(tf, built)


def numbers(values):
    return np.ravel(np.asarray(values)).astype("float32")


def history(model, *args, **kwargs):
    found = model.fit(*args, verbose=0, **kwargs).history
    return {name: numbers(values) for name, values in sorted(found.items())}


def counting_layer(tf):
    class Counting(tf.keras.layers.Layer):
        def build(self, input_shape):
            self.calls = self.add_weight("calls", (), "float32", "zeros", trainable=False)

        def call(self, inputs, training=None):
            if training is None:
                training = tf.keras.backend.learning_phase()
            self.add_update(lambda: self.calls.assign_add(tf.cast(training, tf.float32)))
            self.add_loss(tf.reduce_mean(tf.square(inputs)), inputs=True)
            self.add_metric(tf.reduce_sum(inputs), name="sum", aggregation="mean")
            return inputs * 2.0

    return Counting


@program
def what_layers_add(tf):
    def build(how):
        layers = tf.keras.layers
        counting = counting_layer(tf)(input_shape=(4,))
        dense = layers.Dense(
            2, kernel_initializer="ones", kernel_regularizer="l2", activity_regularizer="l1"
        )
        model = tf.keras.Sequential([counting, dense])
        model.compile("sgd", "mse", metrics=["mae"], weighted_metrics=["mse"], **how)
        facts = {"history": history(model, X, Y, batch_size=4, epochs=2)}
        facts["evaluated"] = numbers(model.evaluate(X, Y, batch_size=5, verbose=0))
        facts["predicted"] = numbers(model.predict(X, batch_size=3))
        facts["batch"] = numbers(model.train_on_batch(X, Y))
        facts["calls"] = numbers(counting.calls.numpy())
        facts["names"] = model.metrics_names
        return facts

    return each_way(tf, build)


@program
def weights_of_examples(tf):
    def build(how):
        dense = tf.keras.layers.Dense(2, kernel_initializer="ones", input_shape=(4,))
        model = tf.keras.Sequential([dense])
        model.compile("sgd", "mse", metrics=["mae"], weighted_metrics=["mse"], **how)
        weights = np.linspace(0, 1, 10)
        facts = {"fitted": history(model, X, Y, sample_weight=weights, validation_split=0.2)}
        facts["evaluated"] = numbers(model.evaluate(X, Y, sample_weight=weights, verbose=0))
        facts["batch"] = numbers(model.train_on_batch(X, Y, sample_weight=weights))
        return facts

    return each_way(tf, build)


@program
def training_is_told(tf):
    def build(how):
        layers = tf.keras.layers
        normalize = layers.BatchNormalization(momentum=0.5, input_shape=(4,))
        model = tf.keras.Sequential(
            [normalize, layers.Dropout(0.999999), layers.Dense(2, kernel_initializer="ones")]
        )
        model.compile("sgd", "mse", **how)
        facts = {"history": history(model, X, Y, batch_size=5)}
        facts["means"] = numbers(normalize.moving_mean.numpy())
        normalize.trainable = False
        model.compile("sgd", "mse", **how)
        facts["frozen"] = history(model, X, Y, batch_size=5, validation_data=(X, Y))
        facts["means of frozen"] = numbers(normalize.moving_mean.numpy())
        return facts

    return each_way(tf, build)


@program
def several_outputs(tf):
    def build(how):
        layers = tf.keras.layers
        a, b = tf.keras.Input((4,), name="a"), tf.keras.Input((4,), name="b")
        shared = layers.Dense(2, kernel_initializer="ones", name="shared")
        model = tf.keras.Model([a, b], [shared(a), shared(a + b)])
        model.compile(
            tf.keras.optimizers.Adam(0.1), ["mse", "mae"], loss_weights=[1.0, 0.5],
            metrics=[["mae"], []], **how
        )  # fmt: skip
        facts = {"history": history(model, {"a": X, "b": -X}, [Y, Y], batch_size=4, epochs=2)}
        facts["names"] = model.metrics_names
        facts["predicted"] = [numbers(x) for x in model.predict([X, X])]
        data = tf.data.Dataset.from_tensor_slices(((X, -X), (Y, Y))).batch(4)
        facts["dataset"] = history(model, data, epochs=2)
        return facts

    return each_way(tf, build)


@program
def operations_between_layers(tf):
    def build(how):
        dense = tf.keras.layers.Dense(2, kernel_initializer="ones")
        x = tf.keras.Input((4,))
        y = tf.square(dense(x * 2.0) - 1.0)
        model = tf.keras.Model(x, tf.concat([y, tf.sin(y)], axis=1)[:, 1:3])
        model.add_loss(tf.reduce_mean(y) * 0.1)
        model.compile("sgd", "mse", **how)
        facts = {"history": history(model, X, Y, batch_size=4, epochs=2)}
        facts["weights"] = numbers(dense.kernel.numpy())
        return facts

    return each_way(tf, build)


@program
def masks_and_subclasses(tf):
    class Reader(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.embed = tf.keras.layers.Embedding(
                5, 2, mask_zero=True, embeddings_initializer="ones"
            )
            self.cell = tf.keras.layers.SimpleRNN(
                2, return_sequences=True, kernel_initializer="ones",
                recurrent_initializer="identity",
            )  # fmt: skip

        def call(self, x):
            return self.cell(self.embed(x))

    def build(how):
        model = Reader()
        model.compile("sgd", "mse", metrics=["mae"], **how)
        words = np.array([[1, 2, 0], [3, 0, 0], [4, 4, 4]])
        facts = {"history": history(model, words, np.zeros((3, 3, 2), "f"), epochs=3)}
        facts["predicted"] = numbers(model.predict(words))
        return facts

    return each_way(tf, build)


@program
def dynamic_layers(tf):
    class Halving(tf.keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(dynamic=True, **kwargs)

        def call(self, inputs):
            return inputs * 0.5 if float(tf.reduce_sum(inputs)) > 0 else inputs

        def compute_output_shape(self, input_shape):
            return input_shape

    def build(tf):
        x = tf.keras.Input((4,))
        model = tf.keras.Model(x, tf.keras.layers.Dense(2, kernel_initializer="ones")(Halving()(x)))
        facts = {"dynamic": [model.dynamic, Halving().get_config()["dynamic"]]}
        model.compile("sgd", "mse")
        facts["run_eagerly"] = model.run_eagerly
        np.random.seed(1)
        facts["history"] = history(model, X, Y, batch_size=5, epochs=2)
        facts["values"] = numbers(model(X).numpy())
        facts["refused"] = raised(model.compile, "sgd", "mse", run_eagerly=False)
        return facts

    return eagerly(tf, build)


@program
def refusals(tf):
    def build(tf):
        layers = tf.keras.layers
        model = tf.keras.Sequential([layers.Dense(2, input_shape=(4,))])
        layer = layers.Dense(2)
        model.compile("sgd", "mse")
        return {
            "targets": raised(
                model.compile, "sgd", "mse", run_eagerly=True, target_tensors=[tf.ones((10, 2))]
            ),
            "loss": raised(layer.add_loss, tf.ones(())),
            "metric": raised(model.add_metric, tf.ones(()), name="m"),
            "run_eagerly": [model.run_eagerly, model.dynamic],
            "shape": layer.compute_output_shape((None, 3)).as_list(),
        }

    return eagerly(tf, build)


@program
def refused_in_graphs(tf):
    class Dynamic(tf.keras.layers.Layer):
        def __init__(self):
            super().__init__(dynamic=True)

        def compute_output_shape(self, input_shape):
            return input_shape

    x = tf.keras.Input((4,))
    model = tf.keras.Model(x, Dynamic()(x))
    plain = tf.keras.Model(x, tf.keras.layers.Dense(2)(x))
    facts = {
        "dynamic": raised(model.compile, "sgd", "mse"),
        "asked": raised(plain.compile, "sgd", "mse", run_eagerly=True),
    }
    return Run({}, facts=facts)
