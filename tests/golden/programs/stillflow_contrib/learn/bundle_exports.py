"""`Estimator.export` of `tf.contrib.learn`: the older exports, as bundles."""

from __future__ import annotations

import os
import shutil
import tempfile

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

X = np.arange(12, dtype=np.float32).reshape(6, 2) * 0.1
Y = np.array([0, 1, 1, 0, 1, 0])


def input_fn(tf, x=X, y=Y):
    return lambda: (
        {
            "x": tf.constant(x),
            "n": tf.constant(np.arange(6)[:, None] % 3, tf.int32),
            "s": tf.SparseTensor([[0, 0], [3, 0]], tf.constant([2, 1], tf.int64), [6, 1]),
        },
        tf.constant(y),
    )


def bundle(tf, path):
    """Return the files of an export, its nodes, and its signatures."""
    path = path.decode() if isinstance(path, bytes) else path
    meta = tf.MetaGraphDef()
    with open(os.path.join(path, "export.meta"), "rb") as found:
        meta.ParseFromString(found.read())
    # The entries of a map come in any order.
    kinds = {
        key: [bytes(sorted(any_.value)).hex() for any_ in value.any_list.value]
        for key, value in meta.collection_def.items()
        if value.HasField("any_list")
    }
    return {
        "folder": os.path.basename(path),
        "files": sorted(os.listdir(path)),
        "nodes": [[node.name, node.op] for node in meta.graph_def.node],
        "signatures": kinds,
    }


def exported(tf, make, steps=2, **settings):
    folder = tempfile.mkdtemp()
    try:
        estimator = make(os.path.join(folder, "model"))
        estimator.fit(input_fn=input_fn(tf), steps=steps)
        base = os.path.join(folder, "export")
        facts = bundle(tf, estimator.export(base, **settings))
        facts["again"] = raised(estimator.export, base, **settings)["class"]
    finally:
        shutil.rmtree(folder)
    return Run(facts=facts)


def columns(tf):
    return [tf.contrib.layers.real_valued_column("x", dimension=2)]


@program
def probabilities(tf):
    return exported(
        tf, lambda folder: tf.contrib.learn.LinearClassifier(columns(tf), model_dir=folder)
    )


@program
def numbers(tf):
    return exported(
        tf,
        lambda folder: tf.contrib.learn.DNNRegressor([3], columns(tf), model_dir=folder),
        default_batch_size=None,
        exports_to_keep=2,
    )


@program
def both_models(tf):
    return exported(
        tf,
        lambda folder: tf.contrib.learn.DNNLinearCombinedClassifier(
            linear_feature_columns=[
                tf.contrib.layers.sparse_column_with_integerized_feature("s", 3)
            ],
            dnn_feature_columns=columns(tf),
            dnn_hidden_units=[2],
            model_dir=folder,
        ),
    )


def own_model(tf, folder):
    def model_fn(features, labels, mode):
        w = tf.get_variable("w", [2, 1])
        score = tf.matmul(features["x"], w)[:, 0] + tf.cast(features["n"][:, 0], tf.float32)
        loss = (
            tf.reduce_sum(score)
            if labels is None
            else tf.reduce_sum(tf.square(score - tf.cast(labels, tf.float32)))
        )
        step = tf.train.get_global_step()
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, step)
        return {"score": score, "half": score / 2}, loss, train

    return tf.contrib.learn.Estimator(model_fn, model_dir=folder)


@program
def features_as_in_training(tf):
    return exported(tf, lambda folder: own_model(tf, folder))


@program
def own_features_and_signatures(tf):
    def features():
        examples = tf.placeholder(tf.string, [None], name="examples")
        parsed = tf.parse_example(
            examples,
            {"x": tf.FixedLenFeature([2], tf.float32), "n": tf.FixedLenFeature([1], tf.int64)},
        )
        parsed["raw"] = examples
        return parsed, None

    def signature_fn(examples, features, predictions):
        exporter = internal_module(
            tf, "contrib.session_bundle.exporter", "contrib.session_bundle.exporter"
        )
        return (
            exporter.regression_signature(examples, predictions),
            {"all": exporter.generic_signature({"in": examples, "out": predictions})},
        )

    return exported(
        tf,
        lambda folder: own_model(tf, folder),
        input_fn=features,
        input_feature_key="raw",
        use_deprecated_input_fn=False,
        signature_fn=signature_fn,
        prediction_key="score",
    )


@program
def refusals(tf):
    folder = tempfile.mkdtemp()
    try:
        estimator = own_model(tf, folder)
        facts = {
            "input": raised(estimator.export, folder, input_fn=None, use_deprecated_input_fn=False),
            "unfitted": raised(estimator.export, folder),
            "nothing": raised(
                estimator.export, folder, input_fn=lambda: ({}, None), use_deprecated_input_fn=False
            ),
        }
    finally:
        shutil.rmtree(folder)
    return Run(facts=facts)


@program
def while_training(tf):
    folder = tempfile.mkdtemp()
    try:
        estimator = tf.contrib.learn.LinearRegressor(
            columns(tf),
            model_dir=os.path.join(folder, "model"),
            config=tf.contrib.learn.RunConfig(save_checkpoints_steps=2),
        )
        base = os.path.join(folder, "export")
        monitor = tf.contrib.learn.monitors.ExportMonitor(2, base, exports_to_keep=2)
        estimator.fit(input_fn=input_fn(tf), steps=7, monitors=[monitor])
        facts = {
            "folders": sorted(os.listdir(base)),
            "last": os.path.basename(tf.compat.as_str(monitor.last_export_dir)),
            "kept": monitor.exports_to_keep,
        }
    finally:
        shutil.rmtree(folder)
    return Run(facts=facts)
