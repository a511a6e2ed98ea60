"""Estimators that dual coordinate ascent trains, one example at a time."""

from __future__ import annotations

import functools
import shutil
import tempfile

import numpy as np
from tests.golden.programs.ops.sdca import FLOAT
from tests.golden.programs.stillflow_contrib.layers.feature_columns import with_named_tables
from tests.golden.registry import Run, internal_module, program, raised

ROUNDED = {"rtol": 1e-4, "atol": 1e-5, "reason": FLOAT}
MODES = ("train", "eval", "infer")
WORDS = np.array([b"cook", b"smith", b"clerk", b"cook", b"nurse"])


def tensors(tf):
    """Return the features of one example, and what they are fed with at each step."""
    words = tf.placeholder(tf.string, [2], name="words")
    age = tf.placeholder(tf.float32, [1, 1], name="age")
    weight = tf.placeholder(tf.float32, [1, 1], name="weight")
    identity = tf.placeholder(tf.string, [1], name="id")
    label = tf.placeholder(tf.float32, [1, 1], name="label")
    features = {
        "job": tf.SparseTensor([[0, 0], [0, 1]], words, [1, 2]),
        "age": age,
        "weight": weight,
        "pay": tf.SparseTensor([[0, 0], [0, 1]], age[0] * [1.0, 2.0], [1, 2]),
        "id": identity,
    }
    feeds = [
        {
            words: [WORDS[n], WORDS[(2 * n + 1) % 5]],
            age: [[20.0 + 9 * n]],
            weight: [[1.0 + n % 2]],
            identity: [b"example %d" % n],
            label: [[float(n % 2)]],
        }
        for n in range(5)
    ]
    return features, label, feeds


def finished(tf, model, train_op, hooks, feeds, **facts):
    """Return the run of a graph that trains."""
    for hook in hooks:
        hook.begin()
    updates = [hook.before_run(None).fetches for hook in hooks]
    fetches = {"loss": model.loss}
    for variable in tf.global_variables():
        fetches["variable " + variable.op.name] = variable
    facts["summaries"] = [tensor.name for tensor in tf.get_collection("summaries")]
    setup = [
        tf.global_variables_initializer(),
        tf.local_variables_initializer(),
        tf.tables_initializer(),
    ]
    return Run(fetches, feeds, facts=facts, setup=setup, train=[train_op, updates], steps=7)


def unfinished(tf, tensors, feeds):
    setup = [
        tf.global_variables_initializer(),
        tf.local_variables_initializer(),
        tf.tables_initializer(),
    ]
    return Run({str(name): each for name, each in tensors.items()}, feeds[0], setup=setup)


def in_each_mode(build, modes=MODES):
    """One program for each mode of an estimator."""
    for mode in modes:

        def one(tf, mode=mode):
            folder = tempfile.mkdtemp()
            try:
                estimator = build(tf, folder)
                made = of_now if hasattr(estimator, "model_fn") else of_contrib
                return made(tf, estimator, mode)
            finally:
                shutil.rmtree(folder)

        one.__name__ = f"{build.__name__}_{mode}"
        one.__module__ = build.__module__
        program(**ROUNDED)(with_named_tables(one))
    return build


def of_now(tf, estimator, mode):
    tf.train.create_global_step()
    features, labels, feeds = tensors(tf)
    spec = estimator.model_fn(features, labels if mode != "infer" else None, mode, estimator.config)
    if mode == "train":
        return finished(tf, spec, spec.train_op, spec.training_chief_hooks, feeds)
    if mode == "eval":
        return unfinished(tf, {"loss": spec.loss}, feeds)
    return unfinished(
        tf,
        {name: each for name, each in spec.predictions.items() if each.dtype != tf.string},
        feeds,
    )


def of_contrib(tf, estimator, mode):
    tf.train.create_global_step()
    features, labels, feeds = tensors(tf)
    if mode == "train":
        model = estimator._get_train_ops(features, labels)
        return finished(
            tf,
            model,
            model.train_op,
            model.training_chief_hooks,
            feeds,
            settings=sorted(estimator.params),
        )
    if mode == "eval":
        return unfinished(tf, {"loss": estimator._get_eval_ops(features, labels, None).loss}, feeds)
    return unfinished(tf, estimator._get_predict_ops(features).predictions, feeds)


# ---- tf.estimator


def columns(tf):
    job = tf.feature_column.categorical_column_with_hash_bucket("job", 7)
    paid = tf.feature_column.weighted_categorical_column(
        tf.feature_column.categorical_column_with_vocabulary_list("job", ["cook", "clerk"]), "pay"
    )
    age = tf.feature_column.numeric_column("age")
    ages = tf.feature_column.bucketized_column(age, [30.0, 50.0])
    return [job, paid, age, ages]


def sdca(tf, **settings):
    return tf.estimator.experimental.LinearSDCA("id", symmetric_l2_regularization=2.0, **settings)


@in_each_mode
def linear_classifier(tf, folder):
    return tf.estimator.LinearClassifier(
        columns(tf),
        folder,
        weight_column="weight",
        optimizer=sdca(tf, symmetric_l1_regularization=0.1, num_table_shards=2),
    )


@in_each_mode
def linear_regressor(tf, folder):
    return tf.estimator.LinearRegressor(
        columns(tf), folder, optimizer=sdca(tf, num_loss_partitions=2, adaptive=True)
    )


# TensorFlow has the metrics of this head in an order that changes.
@functools.partial(in_each_mode, modes=("train", "infer"))
def linear_estimator(tf, folder):
    return tf.estimator.LinearEstimator(
        tf.estimator.RegressionHead(), columns(tf), folder, optimizer=sdca(tf)
    )


@program
def refused(tf):
    age = tf.feature_column.numeric_column("age")
    estimators, given = tf.estimator, {"optimizer": sdca(tf)}
    return Run(
        facts={
            "combiner": raised(estimators.LinearClassifier, [age], sparse_combiner="mean", **given),
            "classes": raised(estimators.LinearClassifier, [age], n_classes=3, **given),
            "numbers": raised(estimators.LinearRegressor, [age], label_dimension=2, **given),
            "kernels": raised(tf.contrib.learn.SVM, "id", [age], kernels=[1]),
            "head": raised(
                tf.contrib.learn.LinearEstimator,
                [age],
                None,
                optimizer=tf.contrib.linear_optimizer.SDCAOptimizer("id"),
            ),
        }
    )


# ---- tf.contrib.learn


def contrib_columns(tf):
    layers = tf.contrib.layers
    job = layers.sparse_column_with_hash_bucket("job", 7)
    kept = layers.sparse_column_with_keys("job", ["cook", "clerk"])
    age = layers.real_valued_column("age")
    ages = layers.bucketized_column(age, [30.0, 50.0])
    paid = layers.weighted_sparse_column(kept, "pay")
    return [job, paid, age, ages, layers.crossed_column([job, ages], 20)]


@in_each_mode
def svm(tf, folder):
    return tf.contrib.learn.SVM(
        "id", contrib_columns(tf), "weight", folder, l1_regularization=0.1, l2_regularization=2.0
    )


@in_each_mode
def contrib_classifier(tf, folder):
    optimizer = tf.contrib.linear_optimizer.SDCAOptimizer(
        "id", num_table_shards=2, partitioner=tf.fixed_size_partitioner(2)
    )
    return tf.contrib.learn.LinearClassifier(
        contrib_columns(tf), folder, weight_column_name="weight", optimizer=optimizer
    )


@in_each_mode
def contrib_regressor(tf, folder):
    optimizer = tf.contrib.linear_optimizer.SDCAOptimizer("id", symmetric_l2_regularization=3.0)
    return tf.contrib.learn.LinearRegressor(contrib_columns(tf), folder, optimizer=optimizer)


def of_sdca(tf):
    return internal_module(
        tf, "stillflow_contrib.linear_optimizer.estimators",
        "contrib.linear_optimizer.python.sdca_estimator"
    )


@in_each_mode
def sdca_classifier(tf, folder):
    return of_sdca(tf).SDCALogisticClassifier("id", contrib_columns(tf), "weight", folder)


@in_each_mode
def sdca_regressor(tf, folder):
    return of_sdca(tf).SDCALinearRegressor(
        "id", contrib_columns(tf), model_dir=folder, l1_regularization=0.05, num_loss_partitions=2
    )
