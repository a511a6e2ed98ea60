"""Hooks of tf.estimator that stop training and evaluate in its midst; tf.contrib.estimator."""

from __future__ import annotations

import os
import shutil
import tempfile

import numpy as np
from tests.golden.programs.estimator.canned import BINARY, NUMBERS, SPECIES, X
from tests.golden.registry import Run, program, raised


def input_fn(tf, labels, repeat=1):
    return lambda: tf.data.Dataset.from_tensor_slices(({"x": X}, labels)).repeat(repeat).batch(8)


def regressor(tf, folder, **settings):
    column = tf.feature_column.numeric_column("x", shape=(3,))
    config = tf.estimator.RunConfig(folder, tf_random_seed=7, log_step_count_steps=None,
                                    **settings)
    return tf.estimator.LinearRegressor([column], config=config, optimizer="SGD")


def in_a_folder(build):
    folder = tempfile.mkdtemp()
    try:
        return build(folder)
    finally:
        shutil.rmtree(folder)


def write_metrics(tf, folder, name, values):
    writer = tf.summary.FileWriter(folder)
    for step, value in values:
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag=name, simple_value=value)]),
                           step)
    writer.close()


@program
def early_stopping(tf):
    experimental = tf.estimator.experimental

    def build(folder):
        estimator = regressor(tf, folder)
        write_metrics(tf, estimator.eval_dir(), "loss", [(10, 1.0), (20, 0.5), (30, 0.7),
                                                         (40, 0.6), (50, 0.9)])
        facts = {}
        for name, make, arguments in (
            ("lower", experimental.stop_if_lower_hook, {"threshold": 0.55}),
            ("not_lower", experimental.stop_if_lower_hook, {"threshold": 0.55, "min_steps": 25}),
            ("higher", experimental.stop_if_higher_hook, {"threshold": 0.8}),
            ("no_decrease", experimental.stop_if_no_decrease_hook,
             {"max_steps_without_decrease": 30}),
            ("decreases", experimental.stop_if_no_decrease_hook,
             {"max_steps_without_decrease": 40}),
            ("no_increase", experimental.stop_if_no_increase_hook,
             {"max_steps_without_increase": 10, "min_steps": 20}),
        ):
            hook = make(estimator, "loss", run_every_secs=None, run_every_steps=2, **arguments)
            before = estimator.get_variable_value("global_step") if facts else 0
            estimator.train(input_fn(tf, NUMBERS, 4), hooks=[hook])
            facts[name] = int(estimator.get_variable_value("global_step") - before)
        facts["variables"] = sorted(estimator.get_variable_names())
        facts["types"] = [
            raised(experimental.make_early_stopping_hook, 3, lambda: True),
            raised(experimental.make_early_stopping_hook, estimator, 3),
            raised(experimental.make_early_stopping_hook, estimator, lambda: True, 1, 1),
        ]
        return Run(facts=facts)

    return in_a_folder(build)


@program(rtol=1e-5, reason="losses grow tenfold at every step")
def evaluations_in_memory(tf):
    def build(folder):
        estimator = regressor(tf, folder)
        evaluator = tf.estimator.experimental.InMemoryEvaluatorHook(
            estimator, input_fn(tf, NUMBERS), every_n_iter=3, name="memory")
        estimator.train(input_fn(tf, NUMBERS, 4), hooks=[evaluator])
        found = []
        folder = estimator.eval_dir("memory")
        for name in sorted(os.listdir(folder)):
            for event in tf.train.summary_iterator(os.path.join(folder, name)):
                found += [(event.step, value.tag, round(value.simple_value, 4))
                          for value in event.summary.value if value.HasField("simple_value")]
        facts = {"metrics": found,
                 "steps": raised(tf.estimator.experimental.InMemoryEvaluatorHook, estimator,
                                 None, every_n_iter=0)}
        last = tf.estimator.experimental.make_stop_at_checkpoint_step_hook(estimator, 3)
        facts["last"] = type(last).__name__
        return Run(facts=facts)

    return in_a_folder(build)


@program
def heads(tf):
    contrib = tf.contrib.estimator
    features = {"w": tf.constant(np.float32([1, 2, 1, 1]))}
    logits = tf.constant(np.sin(np.arange(12.0)).reshape(4, 3), tf.float32)
    one = logits[:, :1]
    fetches = {}
    for name, head, of, labels in (
        ("classes", contrib.multi_class_head(3, weight_column="w"), logits, SPECIES[:4, None]),
        ("two", contrib.binary_classification_head(thresholds=[0.3], name="a"), one,
         BINARY[:4, None]),
        ("numbers", contrib.regression_head(label_dimension=3), logits, NUMBERS[:12].reshape(4, 3)),
        ("counts", contrib.poisson_regression_head(), one, np.float32(SPECIES[:4, None])),
        ("unlikely", contrib.logistic_regression_head(), one, np.float32(BINARY[:4, None])),
    ):
        for mode in ("eval", "infer"):
            spec = head.create_estimator_spec(
                features, mode, of, None if mode == "infer" else tf.constant(labels),
                train_op_fn=lambda loss: tf.no_op())
            for key, value in sorted(spec.predictions.items()):
                fetches[f"{name}/{mode}/{key}"] = value
            if mode == "eval":
                fetches[f"{name}/loss"] = spec.loss
    return Run(fetches, setup=[tf.local_variables_initializer()])


@program
def extenders(tf):
    contrib = tf.contrib.estimator
    x = tf.Variable([3.0, 4.0])
    optimizer = contrib.clip_gradients_by_norm(tf.train.MomentumOptimizer(0.5, 0.9), 1.0)
    train = optimizer.minimize(tf.reduce_sum(tf.square(x)))
    fetches = {"x": x, "slot": optimizer.get_slot(x, "momentum")}
    facts = {"name": optimizer.get_name(), "slots": optimizer.get_slot_names()}

    def build(folder):
        estimator = contrib.forward_features(regressor(tf, folder), "x")
        estimator.train(input_fn(tf, NUMBERS))
        first = next(estimator.predict(input_fn(tf, NUMBERS)))
        facts["forwarded"] = np.round(first["x"], 4).tolist()
        facts["keys"] = [raised(contrib.forward_features, estimator, 3),
                         raised(contrib.forward_features, estimator, [3])]
        return Run(fetches, facts=facts, setup=[tf.global_variables_initializer()], train=train)

    return in_a_folder(build)


@program
def names(tf):
    estimator = tf.estimator
    return Run(facts={
        "hooks": [getattr(estimator, name) is getattr(tf.train, name) for name in (
            "SessionRunHook", "SessionRunArgs", "SessionRunContext", "SessionRunValues",
            "LoggingTensorHook", "StopAtStepHook", "CheckpointSaverHook", "NanTensorHook",
            "SummarySaverHook", "SecondOrStepTimer", "VocabInfo", "ProfilerHook")],
        "logits": raised(estimator.experimental.call_logit_fn, lambda features: 3, {}, "eval",
                         None, None),
    })
