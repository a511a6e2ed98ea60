"""tf.contrib.estimator.SavedModelEstimator: going on with an estimator that was exported."""

from __future__ import annotations

import os
import shutil
import tempfile

import numpy as np
from tests.golden.programs.estimator.canned import NUMBERS, X, config, input_fn
from tests.golden.registry import Run, program, raised

FEATURES = {"x": X}


def linear(tf):
    def model_fn(features, labels, mode):
        w = tf.get_variable("w", initializer=tf.constant([[0.5], [-0.25], [1.0]]))
        y = tf.matmul(features["x"], w)
        outputs = {"serving_default": tf.estimator.export.PredictOutput({"predictions": y})}
        if mode == "infer":
            return tf.estimator.EstimatorSpec(
                mode, predictions={"predictions": y}, export_outputs=outputs
            )
        loss = tf.losses.mean_squared_error(labels, y)
        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(
            loss, global_step=tf.train.get_global_step()
        )
        metrics = {"error": tf.metrics.mean_absolute_error(labels, y)}
        return tf.estimator.EstimatorSpec(
            mode,
            predictions={"predictions": y},
            loss=loss,
            train_op=train_op,
            eval_metric_ops=metrics,
        )

    return model_fn


def exported(tf, folder, modes=("train", "eval", "infer")):
    """Return a SavedModel of a linear model that was trained for two steps."""
    estimator = tf.estimator.Estimator(linear(tf), config=config(tf, os.path.join(folder, "first")))
    estimator.train(input_fn(tf, FEATURES, NUMBERS), steps=2)
    export = tf.estimator.export

    with tf.Graph().as_default():
        receiver = tf.contrib.estimator.build_raw_supervised_input_receiver_fn(
            {"x": tf.placeholder(tf.float32, [None, 3])}, tf.placeholder(tf.float32, [None, 1])
        )

    def serving():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        return export.ServingInputReceiver({"x": x}, {"x": x})

    receivers = {mode: serving if mode == "infer" else receiver for mode in modes}
    path = estimator.experimental_export_all_saved_models(os.path.join(folder, "saved"), receivers)
    return path.decode() if isinstance(path, bytes) else path


def in_folder(build):
    """Return a program that is given a folder, which it leaves none behind."""

    def made(tf):
        folder = tempfile.mkdtemp()
        try:
            return Run({}, facts=build(tf, folder))
        finally:
            shutil.rmtree(folder)

    made.__name__, made.__module__ = build.__name__, __name__
    return program(made)


def batches(tf, labels=True):
    def read():
        data = ({"x": X}, NUMBERS) if labels else {"x": X}
        return tf.data.Dataset.from_tensor_slices(data).batch(8)

    return read


@in_folder
def going_on(tf, folder):
    path = exported(tf, folder)
    estimator = tf.contrib.estimator.SavedModelEstimator(path, os.path.join(folder, "second"))
    before = estimator.evaluate(batches(tf))
    first = [
        [round(float(number), 5) for number in each["predictions"]]
        for each in estimator.predict(batches(tf, False))
    ]
    estimator.train(batches(tf), steps=1)
    after = estimator.evaluate(batches(tf))
    then = [
        [round(float(number), 5) for number in each["predictions"]]
        for each in estimator.predict(batches(tf, False))
    ]
    return {
        "before": {key: round(float(value), 5) for key, value in before.items()},
        "after": {key: round(float(value), 5) for key, value in after.items()},
        "predicted": [first, then], "names": sorted(estimator.get_variable_names()),
    }  # fmt: skip


@in_folder
def some_modes(tf, folder):
    path = exported(tf, folder, modes=("infer", "eval"))
    estimator = tf.contrib.estimator.SavedModelEstimator(path, os.path.join(folder, "second"))
    predicted = [
        [round(float(number), 5) for number in each["predictions"]]
        for each in estimator.predict(batches(tf, False))
    ]

    def renamed():
        return batches(tf)().map(lambda x, y: ({"z": x["x"]}, y))

    def other_type():
        return tf.data.Dataset.from_tensor_slices(({"x": X.astype(np.float64)}, NUMBERS)).batch(8)

    return {
        "predicted": predicted, "train": raised(estimator.train, batches(tf), steps=1),
        "missing": raised(estimator.evaluate, renamed)["class"],
        "dtype": raised(estimator.evaluate, other_type),
    }  # fmt: skip


@in_folder
def exported_by_names_of_contrib(tf, folder):
    estimator = tf.contrib.estimator
    made = []

    class Exports:
        def export_saved_model(self, *args, **kwargs):
            made.append([args, sorted(kwargs.items(), key=str)])
            return "one"

        def experimental_export_all_saved_models(self, *args, **kwargs):
            made.append([args, sorted(kwargs.items(), key=str)])
            return "all"

    found = [estimator.export_saved_model_for_mode(
                 Exports(), "base", "receiver", assets_extra={"a": "b"}, mode="eval"),
             estimator.export_all_saved_models(
                 Exports(), "base", {"train": "receiver"}, checkpoint_path="path")]
    return {"returned": found, "passed": repr(made)}
