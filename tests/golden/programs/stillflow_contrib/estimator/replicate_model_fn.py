"""tf.contrib.estimator.replicate_model_fn: towers of a model on several devices."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

X = np.float32([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0], [-1.0, 1.0]])
Y = np.float32([[1.0], [0.0], [3.0], [2.0]])
DEVICES = ["/cpu:0", "/cpu:0"]


def model(tf, make_optimizer, sparse=False):
    def model_fn(features, labels, mode, params):
        x = features["x"] if isinstance(features, dict) else features
        w = tf.get_variable("w", initializer=tf.constant([[0.5], [-0.25]]))
        y = tf.matmul(x, w)
        if sparse:
            table = tf.get_variable("table", initializer=tf.constant([[1.0], [2.0], [3.0]]))
            y += tf.nn.embedding_lookup(table, tf.cast(tf.abs(x[:, 0]), tf.int32))
        if mode == "infer":
            export = tf.estimator.export
            outputs = {
                "serving_default": export.PredictOutput({"y": y}),
                "b": export.RegressionOutput(y),
                "c": export.ClassificationOutput(scores=y, classes=tf.as_string(y)),
            }
            return tf.estimator.EstimatorSpec(mode, predictions={"y": y}, export_outputs=outputs)
        loss = tf.losses.mean_squared_error(labels, y)
        metrics = {"error": tf.metrics.mean_absolute_error(labels, y)}
        step = tf.train.get_or_create_global_step()
        train_op = make_optimizer(params).minimize(loss, global_step=step)
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, train_op=train_op, eval_metric_ops=metrics, predictions={"y": y}
        )

    return model_fn


def tower(tf):
    make = tf.contrib.estimator.TowerOptimizer
    return lambda params: make(tf.train.MomentumOptimizer(params["rate"], 0.9))


def build(tf, mode, devices=DEVICES, as_dict=True, **options):
    replicated = tf.contrib.estimator.replicate_model_fn(
        model(tf, tower(tf), options.pop("sparse", False)), devices=devices, **options
    )
    features = {"x": tf.constant(X)} if as_dict else tf.constant(X)
    labels = None if mode == "infer" else tf.constant(Y)
    spec = replicated(features, labels, mode, {"rate": 0.1}, None)
    setup = [tf.global_variables_initializer(), tf.local_variables_initializer()]
    facts = {
        "variables": [v.name for v in tf.global_variables()],
        "outputs": sorted(spec.export_outputs or {}),
    }
    if mode == "train":
        return Run({"w": tf.trainable_variables()}, setup=setup, facts=facts, steps=3,
                   train=[spec.train_op, spec.loss])  # fmt: skip
    fetches = {"predictions": spec.predictions}
    if mode == "eval":
        fetches.update(
            loss=spec.loss,
            update=spec.eval_metric_ops["error"][1],
            locals=[v.name for v in tf.local_variables()],
        )
        fetches.pop("locals")
    return Run(fetches, setup=setup, facts=facts)


def define(name, *args, **kwargs):
    def made(tf):
        return build(tf, *args, **kwargs)

    made.__name__, made.__module__ = name, __name__
    program(made)


define("train", "train")
define("train_of_sums", "train", loss_reduction="weighted_sum", as_dict=False)
define("train_of_rows", "train", sparse=True)
define("train_on_one", "train", devices=["/cpu:0"])
define("evaluate", "eval")
define("predict", "infer")


@program
def sparse_parts(tf):
    def model_fn(features, labels, mode):
        dense = tf.sparse_tensor_to_dense(features["s"])
        return tf.estimator.EstimatorSpec(
            mode,
            predictions={
                "sum": tf.reduce_sum(dense, 1) * labels["y"][:, 0] if labels else dense[:, 0]
            },
        )

    replicated = tf.contrib.estimator.replicate_model_fn(model_fn, devices=DEVICES)
    s = tf.SparseTensor([[0, 0], [1, 1], [3, 0]], [1.0, 2.0, 3.0], [4, 2])
    spec = replicated({"s": s}, {"y": tf.constant(Y)}, "infer")
    return Run({"sum": spec.predictions["sum"]})


@program
def refused(tf):
    c = tf.contrib.estimator
    plain = model(tf, lambda params: tf.train.GradientDescentOptimizer(0.1))
    replicated = c.replicate_model_fn(plain, devices=DEVICES)
    x, y = tf.constant(X), tf.constant(Y)
    return Run({}, facts={
        "reduction": raised(c.replicate_model_fn, plain, "none"),
        "divisible": raised(replicated, x[:3], y[:3], "train", {}),
        "optimizer": raised(replicated, x, y, "train", {"rate": 1.0}),
    })  # fmt: skip


@program
def asked_for_slots(tf):
    made = []

    def make():
        made.append(1)
        return tf.train.MomentumOptimizer(0.1, 0.9)

    optimizer = tf.contrib.estimator.TowerOptimizer(make)
    before = optimizer.has_been_used()
    w = tf.get_variable("w", initializer=tf.constant([1.0, 2.0]))
    optimizer.minimize(tf.reduce_sum(tf.square(w)))
    return Run({}, facts={
        "slot": optimizer.get_slot(w, "momentum").name, "slots": optimizer.get_slot_names(),
        "name": optimizer.get_name(), "variables": [v.name for v in optimizer.variables()],
        "made": len(made), "used": [before, optimizer.has_been_used()],
    })  # fmt: skip
