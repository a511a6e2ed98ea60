"""Estimators whose replicas train and evaluate on two CPU devices.

Each program records the graph of each call through a hook, and what comes out.
"""

from __future__ import annotations

import tempfile

import numpy as np
from tests.golden.registry import Run, program, raised

DEVICES = ["/cpu:0", "/cpu:1"]
ROWS = np.linspace(-1.0, 1.0, 24, dtype=np.float32).reshape(12, 2)
LABELS = (ROWS.sum(1, keepdims=True) * 0.5 + 0.25).astype(np.float32)


def config(tf, **strategies):
    session = tf.ConfigProto(device_count={"CPU": 2})
    return tf.estimator.RunConfig(tf_random_seed=1, session_config=session, **strategies)


def mirrored(tf):
    return tf.distribute.MirroredStrategy(DEVICES)


def watcher(tf, seen):
    """Return a hook that notes how graphs look and what losses are."""

    class Watch(tf.train.SessionRunHook):
        def begin(self):
            graph = tf.get_default_graph()
            seen["names"] = [v.name for v in tf.global_variables()]
            seen["losses"] = []
            self.loss = tf.get_collection(tf.GraphKeys.LOSSES)[-1]
            seen["count"] = len(graph.get_operations())

        def after_create_session(self, session, coord):
            graph = session.graph.as_graph_def()
            kinds = {}
            for node in graph.node:
                kinds[node.op] = kinds.get(node.op, 0) + 1
            seen["kinds"] = kinds
            seen["devices"] = sorted({node.device for node in graph.node})
            seen["nodes"] = sorted(f"{node.name} {node.op} {node.device}" for node in graph.node)

        def before_run(self, context):
            return tf.train.SessionRunArgs(self.loss)

        def after_run(self, context, values):
            seen["losses"].append(values.results)

    return Watch()


def input_fn(tf, batch=3, repeats=2):
    def make(input_context=None):
        dataset = tf.data.Dataset.from_tensor_slices(({"x": ROWS}, LABELS))
        return dataset.repeat(repeats).batch(batch)

    return make


def model_fn(tf, optimizer, reduction=None):
    def model(features, labels, mode):
        x = tf.layers.dense(features["x"], 1, kernel_initializer=tf.ones_initializer(), name="out")
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, {"y": x})
        loss = tf.losses.mean_squared_error(
            labels, x, **({} if reduction is None else {"reduction": reduction}))
        metrics = {"error": tf.metrics.mean_absolute_error(labels, x),
                   "positive": tf.metrics.true_positives(labels > 0, x > 0)}
        train_op = None
        if mode == tf.estimator.ModeKeys.TRAIN:
            tf.summary.scalar("mean", tf.reduce_mean(x))
            train_op = optimizer().minimize(loss, tf.train.get_or_create_global_step())
        return tf.estimator.EstimatorSpec(
            mode, {"y": x}, loss=loss, train_op=train_op, eval_metric_ops=metrics)

    return model


def trained(tf, model, **strategies):
    estimator = tf.estimator.Estimator(model, tempfile.mkdtemp(), config(tf, **strategies))
    training, evaluation = {}, {}
    estimator.train(input_fn(tf), hooks=[watcher(tf, training)], steps=3)
    result = estimator.evaluate(input_fn(tf, repeats=1))
    values = {name: estimator.get_variable_value(name) for name in estimator.get_variable_names()}
    predictions = [row["y"] for row in estimator.predict(input_fn(tf, repeats=1))]
    del evaluation
    return Run(facts={"training": training, "result": result, "values": values,
                      "predictions": predictions})


@program
def training_with_a_mean_loss(tf):
    model = model_fn(tf, lambda: tf.train.GradientDescentOptimizer(0.1))
    return trained(tf, model, train_distribute=mirrored(tf))


@program
def training_with_a_summed_loss(tf):
    model = model_fn(tf, lambda: tf.train.AdamOptimizer(0.1), tf.losses.Reduction.SUM)
    return trained(tf, model, train_distribute=mirrored(tf))


@program
def evaluation_by_replicas(tf):
    model = model_fn(tf, lambda: tf.train.MomentumOptimizer(0.1, 0.9))
    return trained(tf, model, eval_distribute=mirrored(tf))


@program
def training_and_evaluation_by_replicas(tf):
    both = tf.contrib.distribute.DistributeConfig(
        train_distribute=mirrored(tf), eval_distribute=mirrored(tf))
    model = model_fn(tf, lambda: tf.train.RMSPropOptimizer(0.1))
    return trained(tf, model, experimental_distribute=both)


@program
def a_canned_estimator(tf):
    estimator = tf.estimator.LinearRegressor(
        [tf.feature_column.numeric_column("x", [2])], tempfile.mkdtemp(),
        optimizer=lambda: tf.train.AdamOptimizer(0.05),
        config=config(tf, train_distribute=mirrored(tf), eval_distribute=mirrored(tf)))
    seen = {}
    estimator.train(input_fn(tf), hooks=[watcher(tf, seen)], steps=3)
    seen.pop("nodes")
    result = estimator.evaluate(input_fn(tf, repeats=1))
    return Run(facts={"seen": seen, "result": result})


@program
def train_and_evaluate(tf):
    model = model_fn(tf, lambda: tf.train.AdagradOptimizer(0.1))
    estimator = tf.estimator.Estimator(
        model, tempfile.mkdtemp(), config(tf, train_distribute=mirrored(tf)))
    result, _ = tf.estimator.train_and_evaluate(
        estimator, tf.estimator.TrainSpec(input_fn(tf, repeats=None), max_steps=4),
        tf.estimator.EvalSpec(input_fn(tf, repeats=1), steps=2))
    return Run(facts={"result": result})


@program
def what_estimators_refuse(tf):
    strategy = mirrored(tf)
    both = tf.contrib.distribute.DistributeConfig(train_distribute=strategy)
    estimator = tf.estimator.Estimator(
        model_fn(tf, tf.train.AdamOptimizer), config=config(tf, train_distribute=strategy))

    def tensors():
        return {"x": tf.ones([1, 2])}, tf.ones([1, 1])

    return Run(facts={
        "twice": raised(config, tf, train_distribute=strategy, experimental_distribute=both),
        "tensors": raised(estimator.train, tensors, None, 1),
        "fields": list(both._fields),
    })
