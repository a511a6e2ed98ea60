"""Training models of `tf.keras`: each optimizer, losses, metrics, weights in checkpoints."""

from __future__ import annotations

import os
import tempfile

import numpy as np
from tests.golden.registry import Run, program, raised

X = np.sin(np.arange(32.0)).reshape(8, 4).astype("float32")
Y = np.cos(np.arange(16.0)).reshape(8, 2).astype("float32")
CLASSES = np.array([0, 2, 1, 1, 0, 2, 1, 0])


def numbers(values):
    """One array of all of them."""
    return np.ravel(values).astype("float32")


def history_of(model, *args, **kwargs):
    found = model.fit(*args, verbose=0, shuffle=False, **kwargs).history
    return {name: numbers(values) for name, values in found.items()}


def linear(tf):
    return tf.keras.Sequential(
        [
            tf.keras.layers.Dense(
                3, activation="tanh", kernel_initializer="ones", input_shape=(4,)
            ),
            tf.keras.layers.Dense(2, kernel_initializer="ones"),
        ]
    )


def after(tf, facts):
    """Return a program of facts alone; Keras' session is left behind."""
    tf.keras.backend.set_session(None)
    return Run({}, facts=facts)


def fitted(tf, optimizer, **kwargs):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.keras.backend.set_session(sess)
        model = linear(tf)
        model.compile(optimizer, "mse", **kwargs)
        facts = {
            "history": history_of(model, X, Y, epochs=3, batch_size=4),
            "weights": [numbers(value) for value in model.get_weights()],
            "variables": [v.name for v in model.optimizer.weights],
            "config": sorted(model.optimizer.get_config()),
        }
    return after(tf, facts)


@program
def sgd(tf):
    return fitted(tf, "sgd")


@program
def sgd_with_momentum_and_decay(tf):
    return fitted(tf, tf.keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True, decay=0.01))


@program
def rmsprop(tf):
    return fitted(tf, tf.keras.optimizers.RMSprop(0.01, momentum=0.5, centered=True))


@program
def adam(tf):
    return fitted(tf, tf.keras.optimizers.Adam(0.01, amsgrad=True, clipnorm=0.5))


@program
def adagrad(tf):
    return fitted(tf, tf.keras.optimizers.Adagrad(0.1, clipvalue=0.1))


@program
def adadelta(tf):
    return fitted(tf, tf.keras.optimizers.Adadelta(1.0))


@program
def adamax(tf):
    return fitted(tf, tf.keras.optimizers.Adamax(0.01))


@program
def nadam(tf):
    return fitted(tf, tf.keras.optimizers.Nadam(0.01))


@program
def ftrl(tf):
    return fitted(tf, tf.keras.optimizers.Ftrl(0.1, l1_regularization_strength=0.01))


@program
def schedules(tf):
    schedule = tf.keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5, staircase=True)
    return fitted(tf, tf.keras.optimizers.SGD(schedule))


@program
def metrics_and_validation(tf):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.keras.backend.set_session(sess)
        model = tf.keras.Sequential(
            [
                tf.keras.layers.Dense(3, kernel_initializer="ones", input_shape=(4,)),
                tf.keras.layers.Activation("softmax"),
            ]
        )
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        facts = {
            "history": history_of(
                model,
                X,
                CLASSES,
                epochs=2,
                batch_size=3,
                validation_split=0.25,
                class_weight={0: 1.0, 1: 2.0, 2: 0.5},
            ),
            "names": model.metrics_names,
            "evaluate": numbers(model.evaluate(X, CLASSES, verbose=0)),
            "weighted": numbers(
                model.evaluate(X, CLASSES, sample_weight=np.arange(8.0), verbose=0)
            ),
            "predict": numbers(model.predict(X, batch_size=3)),
            "on_batch": numbers(model.train_on_batch(X, CLASSES)),
            "test": numbers(model.test_on_batch(X, CLASSES)),
            "shape": raised(model.fit, X[:, :2], CLASSES, verbose=0),
            "lengths": raised(model.fit, X[:5], CLASSES, verbose=0),
        }
    return after(tf, facts)


@program
def losses_of_several_outputs(tf):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.keras.backend.set_session(sess)
        x = tf.keras.Input((4,))
        regularizer = tf.keras.regularizers.l1(0.1)
        ones = {"kernel_initializer": "ones", "kernel_regularizer": regularizer}
        a = tf.keras.layers.Dense(2, name="a", **ones)(x)
        b = tf.keras.layers.Dense(1, activation="sigmoid", name="b", **ones)(x)
        model = tf.keras.Model(x, [a, b])
        model.add_loss(tf.reduce_mean(a))
        model.compile(
            "sgd",
            {"a": "mae", "b": "binary_crossentropy"},
            loss_weights={"a": 0.5, "b": 2.0},
            metrics={"a": ["mse"], "b": ["accuracy", tf.keras.metrics.AUC(name="auc")]},
        )
        targets = {"a": Y, "b": (CLASSES > 0).astype("float32")[:, None]}
        facts = {
            "history": history_of(model, X, targets, epochs=2, batch_size=4),
            "names": model.metrics_names,
            "evaluate": numbers(model.evaluate(X, targets, verbose=0)),
        }
    return after(tf, facts)


@program
def losses(tf):
    y_true = tf.constant([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    y_pred = tf.constant([[0.2, 0.7], [0.6, 0.3], [0.4, 0.9]])
    kinds = [
        "MeanSquaredError",
        "MeanAbsoluteError",
        "MeanAbsolutePercentageError",
        "MeanSquaredLogarithmicError",
        "BinaryCrossentropy",
        "CategoricalCrossentropy",
        "Hinge",
        "SquaredHinge",
        "CategoricalHinge",
        "Poisson",
        "LogCosh",
        "KLDivergence",
        "Huber",
        "CosineSimilarity",
    ]
    fetches = {}
    for kind in kinds:
        loss = getattr(tf.keras.losses, kind)()
        fetches[kind] = loss(y_true, y_pred)
        fetches[kind + "_weighted"] = loss(y_true, y_pred, sample_weight=[0.2, 0.0, 1.5])
    none = tf.keras.losses.MeanSquaredError(reduction=tf.losses.Reduction.NONE)
    fetches["none"] = none(y_true, y_pred)
    fetches["sparse"] = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)(
        [1, 0, 1], y_pred
    )
    return Run(fetches)


@program
def metrics(tf):
    y_true = tf.constant([[0.0], [1.0], [1.0], [0.0]])
    y_pred = tf.constant([[0.2], [0.7], [0.3], [0.6]])
    kinds = [
        "MeanSquaredError",
        "RootMeanSquaredError",
        "BinaryAccuracy",
        "BinaryCrossentropy",
        "Precision",
        "Recall",
        "AUC",
        "TruePositives",
        "FalseNegatives",
        "Hinge",
        "CosineSimilarity",
        "LogCoshError",
    ]
    made = [getattr(tf.keras.metrics, kind)() for kind in kinds]
    weights = [1.0, 2.0, 0.5, 1.0]
    updates = [metric.update_state(y_true, y_pred, sample_weight=weights) for metric in made]
    fetches = {kind: metric.result() for kind, metric in zip(kinds, made)}
    mean = tf.keras.metrics.Mean()
    updates.append(mean.update_state(y_pred))
    fetches["Mean"] = mean.result()
    setup = [v.initializer for metric in [*made, mean] for v in metric.variables]
    return Run(
        fetches,
        train=updates,
        steps=2,
        setup=setup,
    )


@program
def weights_in_checkpoints(tf):
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "w")
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.keras.backend.set_session(sess)
        model = linear(tf)
        model.compile("adam", "mse")
        model.fit(X, Y, verbose=0, shuffle=False)
        model.save_weights(path)
        facts = {"keys": [(key, list(shape)) for key, shape in tf.train.list_variables(path)]}
        expected = history_of(model, X, Y, epochs=2)
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.keras.backend.set_session(sess)
        model = linear(tf)
        model.compile("adam", "mse")
        status = model.load_weights(path)
        facts["status"] = type(status).__name__
        again = history_of(model, X, Y, epochs=2)
        facts["again"] = bool(np.allclose(again["loss"], expected["loss"], rtol=1e-4))
        facts["missing"] = raised(model.load_weights, path + "_missing")["class"]
    return after(tf, facts)


@program
def optimizer_of_tf_train(tf):
    return_value = {}
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.keras.backend.set_session(sess)
        model = linear(tf)
        model.compile(tf.train.MomentumOptimizer(0.1, 0.9), tf.keras.losses.Huber(0.5))
        return_value["history"] = history_of(model, X, Y, epochs=3, batch_size=4)
        return_value["kind"] = type(model.optimizer).__name__
    return after(tf, return_value)


@program
def callbacks(tf):
    seen = []
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.keras.backend.set_session(sess)
        model = linear(tf)
        model.compile("sgd", "mse")
        keras = tf.keras.callbacks
        facts = {
            "history": history_of(
                model,
                X,
                Y,
                epochs=6,
                batch_size=4,
                callbacks=[
                    keras.LearningRateScheduler(lambda epoch: 0.1 / (1 + epoch)),
                    keras.LambdaCallback(
                        on_epoch_end=lambda epoch, logs: seen.append([epoch, sorted(logs)])
                    ),
                    keras.EarlyStopping("loss", patience=1, min_delta=0.05),
                ],
            ),
            "seen": seen,
        }
    return after(tf, facts)


@program
def generators_and_datasets(tf):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.keras.backend.set_session(sess)
        model = linear(tf)
        model.compile("sgd", "mse")

        def batches():
            while True:
                for start in (0, 4):
                    yield X[start : start + 4], Y[start : start + 4]

        found = model.fit_generator(
            batches(), steps_per_epoch=2, epochs=2, verbose=0, shuffle=False
        )
        dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(4).repeat()
        facts = {
            "generator": numbers(found.history["loss"]),
            "evaluated": numbers([model.evaluate_generator(batches(), steps=2)]),
            "dataset": numbers(
                model.fit(dataset, steps_per_epoch=2, epochs=2, verbose=0).history["loss"]
            ),
            "predicted": numbers(model.predict(dataset, steps=1)),
        }
    return after(tf, facts)
