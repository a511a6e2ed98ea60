"""Ready-made estimators and heads of tf.contrib.learn: graphs of each mode, and what they learn."""

from __future__ import annotations

import functools
import shutil
import tempfile

import numpy as np
from tests.golden.programs.estimator.canned import (
    AGE,
    BINARY,
    JOB,
    NUMBERS,
    PAIRS,
    SPECIES,
    WEIGHT,
    WORDS,
    X,
)
from tests.golden.programs.feature_column.columns import WORDS as WORDS_FILE
from tests.golden.programs.stillflow_contrib.layers.feature_columns import with_named_tables
from tests.golden.registry import Run, program, raised


def columns(tf):
    layers = tf.contrib.layers
    job = layers.sparse_column_with_hash_bucket("job", 10)
    age = layers.real_valued_column("age")
    ages = layers.bucketized_column(age, [30.0, 50.0])
    wide = [job, ages, layers.crossed_column([job, ages], 20)]
    deep = [age, layers.real_valued_column("x", dimension=3), layers.embedding_column(job, 2)]
    return wide, deep


def tensors(tf, fed=False):
    """Return the features; words and ages are fed, so that the number of ids is unknown."""
    rows = len(AGE)
    words = tf.placeholder(tf.string, [None], name="words") if fed else JOB.tolist()
    job = tf.SparseTensor([[row, 0] for row in range(rows)], words, [rows, 1])
    age = tf.constant(AGE[:, None])
    if fed:
        age = tf.placeholder(tf.float32, [None, 1], name="ages")
    return {"job": job, "age": age, "x": tf.constant(X),
            "weight": tf.constant(WEIGHT)}


def built(tf, estimator, labels, mode):
    """Return the graph of a mode, a few steps, and what the model gives."""
    tf.set_random_seed(1)
    tf.train.create_global_step()
    features = tensors(tf, fed=True)
    feeds = {features["job"].values: JOB, features["age"]: AGE[:, None]}
    labels = labels if isinstance(labels, dict) else tf.constant(labels)
    setup = [tf.global_variables_initializer, tf.local_variables_initializer,
             tf.tables_initializer]
    facts = {"settings": sorted(estimator.params)}
    if mode == "infer":
        model = estimator._get_predict_ops(features)
        fetches = {str(key): value for key, value in model.predictions.items()}
        facts["outputs"] = sorted(
            (str(name), kind, sorted(values))
            for name, (kind, values) in model.output_alternatives.items())
        return Run(fetches, feeds, facts=facts, setup=[make() for make in setup])
    if mode == "eval":
        model = estimator._get_eval_ops(features, labels, None)
        pairs = sorted(model.eval_metric_ops.items())
        updates = {str(key): update for key, (_, update) in pairs}
        values = {str(key): value for key, (value, _) in pairs}
        return [Run({"model_loss": model.loss, **updates}, feeds, facts=facts,
                    setup=[make() for make in setup]), Run(values)]
    model = estimator._get_train_ops(features, labels)
    facts["summaries"] = [tensor.name for tensor in tf.get_collection("summaries")]
    facts["variables"] = [variable.name for variable in tf.global_variables()]
    return Run({"loss": model.loss}, feeds, facts=facts, setup=[make() for make in setup],
               train=model.train_op, steps=3)


MODES = ("train", "eval", "infer")


def in_each_mode(build, **settings):
    for mode in MODES:
        def one(tf, mode=mode):
            folder = tempfile.mkdtemp()
            try:
                estimator, labels = build(tf, folder)
                return built(tf, estimator, labels, mode)
            finally:
                shutil.rmtree(folder)

        one.__name__ = f"{build.__name__}_{mode}"
        one.__module__ = build.__module__
        own = settings if mode == "train" else {}
        program(**own)(with_named_tables(one))
    return build


# The bias is read and written in the same step.
with_a_race = functools.partial(
    in_each_mode, rtol=2e-3, reason="TensorFlow may read the centered bias before or after")


@in_each_mode
def deep_classes(tf, folder):
    return tf.contrib.learn.DNNClassifier([4, 3], columns(tf)[1], folder, n_classes=3,
                                          weight_column_name="weight"), SPECIES[:, None]


@with_a_race
def deep_two_classes(tf, folder):
    layers = tf.contrib.layers
    job = layers.embedding_column(layers.sparse_column_with_hash_bucket("job", 10), 2)
    age = layers.real_valued_column("age")
    return tf.contrib.learn.DNNClassifier(
        [4], [job, age], folder, activation_fn="tanh", enable_centered_bias=True,
        optimizer=tf.train.GradientDescentOptimizer(0.01), gradient_clip_norm=1.0,
        embedding_lr_multipliers={job: 0.5}), BINARY


@in_each_mode
def deep_numbers(tf, folder):
    return tf.contrib.learn.DNNRegressor([4], columns(tf)[1], folder, dropout=0.5,
                                         label_dimension=2), PAIRS


@in_each_mode
def wide_classes(tf, folder):
    return tf.contrib.learn.LinearClassifier(
        columns(tf)[0], folder, n_classes=3, label_keys=sorted(set(WORDS.tolist()))), WORDS


@in_each_mode
def wide_two_classes(tf, folder):
    return tf.contrib.learn.LinearClassifier(columns(tf)[0], folder, gradient_clip_norm=0.5,
                                             weight_column_name="weight"), BINARY[:, None]


@in_each_mode
def wide_numbers(tf, folder):
    layers = tf.contrib.layers
    job = layers.sparse_column_with_hash_bucket("job", 10)
    ages = layers.bucketized_column(layers.real_valued_column("age"), [30.0])
    cross = layers.crossed_column([job, ages], 30)
    return tf.contrib.learn.LinearRegressor([job, cross], folder, _joint_weights=True,
                                            optimizer="Adam"), NUMBERS


@in_each_mode
def both(tf, folder):
    wide, deep = columns(tf)
    return tf.contrib.learn.DNNLinearCombinedClassifier(
        folder, linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[4, 3],
        fix_global_step_increment_bug=True), BINARY


@in_each_mode
def both_counting_twice(tf, folder):
    wide, deep = columns(tf)
    return tf.contrib.learn.DNNLinearCombinedRegressor(
        folder, linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[4],
        dnn_dropout=0.2, gradient_clip_norm=1.0,
        linear_optimizer=tf.train.FtrlOptimizer(0.1)), NUMBERS[:, 0]


@in_each_mode
def present_columns(tf, folder):
    """Columns of tf.feature_column in estimators of tf.contrib.learn."""
    fc = tf.feature_column
    job = fc.categorical_column_with_hash_bucket("job", 10)
    deep = [fc.numeric_column("age"), fc.embedding_column(job, 2)]
    return tf.contrib.learn.DNNLinearCombinedEstimator(
        tf.contrib.learn.regression_head(), folder, linear_feature_columns=[job],
        dnn_feature_columns=deep, dnn_hidden_units=[4],
        fix_global_step_increment_bug=True), NUMBERS


@in_each_mode
def labels_of_many_classes(tf, folder):
    head = tf.contrib.learn.multi_label_head(3, metric_class_ids=[0, 2], head_name="labels",
                                             weight_column_name="weight")
    return tf.contrib.learn.DNNEstimator(head, [4], columns(tf)[1], folder), np.stack(
        [BINARY, 1 - BINARY, BINARY], 1)


@in_each_mode
def two_heads(tf, folder):
    learn = tf.contrib.learn
    heads = [learn.regression_head(label_name="number", head_name="first"),
             learn.multi_class_head(3, label_name="class", head_name="second",
                                    metric_class_ids=[1])]
    labels = {"number": tf.constant(NUMBERS), "class": tf.constant(SPECIES)}
    head = learn.multi_head(heads, loss_weights=[2.0, 0.5])
    return learn.DNNEstimator(head, [4], columns(tf)[1], folder), labels


@in_each_mode
def hinge(tf, folder):
    return tf.contrib.learn.LinearEstimator(columns(tf)[0], tf.contrib.learn.binary_svm_head(),
                                            folder), BINARY


@with_a_race
def counts(tf, folder):
    head = tf.contrib.learn.poisson_regression_head(enable_centered_bias=True, head_name="counts")
    return tf.contrib.learn.LinearEstimator(columns(tf)[0], head, folder), (
        SPECIES.astype(np.float32))


def rounded(values):
    return {key: round(float(value), 4) for key, value in sorted(values.items())}


def iris_flowers(tf):
    """150 flowers made of numbers: three clouds."""
    rows = np.arange(150)
    centres = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])
    noise = 0.3 * np.sin(rows[:, None] * np.array([1.0, 2.3, 3.7, 5.1]))
    return (centres[rows % 3] + noise).astype(np.float32), rows % 3


@program(rtol=1e-3, reason="two hundred steps of training")
def iris_with_a_validation_monitor(tf):
    """Return the tutorial on logging and monitoring of 2016 and 2017."""
    learn = tf.contrib.learn
    data, target = iris_flowers(tf)
    folder = tempfile.mkdtemp()
    try:
        metrics = {
            "accuracy": learn.MetricSpec(tf.contrib.metrics.streaming_accuracy,
                                         learn.PredictionKey.CLASSES),
            "precision": learn.MetricSpec(tf.contrib.metrics.streaming_precision,
                                          learn.PredictionKey.CLASSES),
        }
        monitor = learn.monitors.ValidationMonitor(
            data[100:], target[100:], every_n_steps=50, metrics=metrics,
            early_stopping_metric="loss", early_stopping_metric_minimize=True,
            early_stopping_rounds=200)
        classifier = learn.DNNClassifier(
            feature_columns=[tf.contrib.layers.real_valued_column("", dimension=4)],
            hidden_units=[10, 20, 10], n_classes=3, model_dir=folder,
            config=learn.RunConfig(tf_random_seed=3, save_checkpoints_secs=None,
                                   save_checkpoints_steps=50))
        classifier.fit(x=data[:100], y=target[:100], steps=200, monitors=[monitor])
        result = classifier.evaluate(x=data[100:], y=target[100:])
        new = np.array([[6.4, 3.2, 4.5, 1.5], [5.8, 3.1, 5.0, 1.7]], dtype=np.float32)
        facts = {
            "result": rounded(result),
            "classes": list(map(int, classifier.predict(new, as_iterable=True))),
            "probabilities": [[round(float(p), 3) for p in row]
                              for row in classifier.predict_proba(new)],
            "variables": sorted(classifier.get_variable_names()),
            "best": [monitor.best_step > 0, monitor.early_stopped],
        }
    finally:
        shutil.rmtree(folder)
    return Run(facts=facts)


@program(rtol=1e-3, reason="a hundred steps of training")
def census_of_wide_and_deep(tf):
    """Return the tutorial on wide and deep learning of 2016 and 2017."""
    learn = tf.contrib.learn
    folder = tempfile.mkdtemp()

    def input_fn():
        return {key: value for key, value in tensors(tf).items() if key != "weight"}, (
            tf.constant(BINARY))

    try:
        wide, deep = columns(tf)
        model = learn.DNNLinearCombinedClassifier(
            model_dir=folder, linear_feature_columns=wide, dnn_feature_columns=deep,
            dnn_hidden_units=[10, 5], fix_global_step_increment_bug=True,
            config=learn.RunConfig(tf_random_seed=5))
        model.fit(input_fn=input_fn, steps=100)
        results = model.evaluate(input_fn=input_fn, steps=1)
        facts = {"results": rounded(results), "names": sorted(model.get_variable_names())}
    finally:
        shutil.rmtree(folder)
    return Run(facts=facts)


@program(rtol=1e-3, reason="a hundred steps of training")
def houses_of_boston(tf):
    """Return the tutorial on input functions of 2016 and 2017."""
    learn = tf.contrib.learn
    folder = tempfile.mkdtemp()
    names = ["crim", "rm", "tax"]
    data = {name: X[:, place] for place, name in enumerate(names)}

    def input_fn():
        features = {name: tf.constant(values) for name, values in data.items()}
        return features, tf.constant(NUMBERS[:, 0])

    try:
        regressor = learn.DNNRegressor(
            feature_columns=[tf.contrib.layers.real_valued_column(name) for name in names],
            hidden_units=[10, 10], model_dir=folder, config=learn.RunConfig(tf_random_seed=5))
        regressor.fit(input_fn=input_fn, steps=100)
        ev = regressor.evaluate(input_fn=input_fn, steps=1)
        predicted = [round(float(value), 3) for value in regressor.predict(input_fn=input_fn)]
    finally:
        shutil.rmtree(folder)
    return Run(facts={"loss": rounded(ev), "predicted": predicted[:4]})


@program
def inferred_columns(tf):
    learn = tf.contrib.learn
    facts = {
        "array": [str(c) for c in learn.infer_real_valued_columns_from_input(X)],
        "dict": sorted(str(c) for c in learn.infer_real_valued_columns_from_input(
            {"a": X, "b": AGE})),
        "function": [str(c) for c in learn.infer_real_valued_columns_from_input_fn(
            lambda: ({"x": tf.constant(X)}, None))],
        "strings": raised(learn.infer_real_valued_columns_from_input_fn,
                          lambda: (tf.constant(["a"]), None)),
    }
    return Run(facts=facts)


@program
def refusals(tf):
    learn = tf.contrib.learn
    age = tf.contrib.layers.real_valued_column("age")
    facts = {
        "classes": raised(learn.multi_class_head, 1),
        "labels": raised(learn.multi_label_head, 1),
        "two": raised(learn.multi_class_head, 2, label_keys=["a", "b"]),
        "ids": raised(learn.multi_class_head, 2, metric_class_ids=[1]),
        "class_id": raised(learn.multi_class_head, 3, metric_class_ids=[3]),
        "keys": raised(learn.multi_class_head, 3, label_keys=["a"]),
        "loss": raised(learn.multi_class_head, 3, loss_fn=lambda labels, logits: 0),
        "names": raised(learn.multi_head, [learn.regression_head()]),
        "weights": raised(learn.multi_head, [learn.regression_head(head_name="a")], [1, 2]),
        "columns": raised(learn.DNNLinearCombinedClassifier),
        "none": raised(learn.LinearClassifier, []),
        "files": raised(learn.read_batch_examples, "no_such_*", 2, tf.TFRecordReader),
        "batch": raised(learn.read_batch_examples, __file__, 0, tf.TFRecordReader),
    }
    head = learn.regression_head()
    features = {"age": tf.constant([[1.0]])}
    facts["mode"] = raised(head.create_model_fn_ops, features, "x", logits=tf.constant([[1.0]]))
    facts["logits"] = raised(head.create_model_fn_ops, features, "infer")
    facts["train"] = raised(head.create_model_fn_ops, features, "train", tf.constant([1.0]),
                            logits=tf.constant([[1.0]]))
    del age
    return Run(facts=facts)


@program
def batches_of_files(tf):
    learn = tf.contrib.learn
    parse = {"age": tf.FixedLenFeature([1], tf.float32), "job": tf.VarLenFeature(tf.string)}
    made = learn.read_batch_features(WORDS_FILE, 2, parse, tf.TFRecordReader, num_epochs=1,
                                     randomize_input=False, queue_capacity=20)
    lines = learn.read_batch_examples([WORDS_FILE], 3, tf.TextLineReader, queue_capacity=50,
                                      seed=3, name="lines")
    keys, pairs = learn.read_keyed_batch_examples(
        WORDS_FILE, 2, tf.TextLineReader, num_threads=2, read_batch_size=2, randomize_input=False,
        queue_capacity=9, parse_fn=lambda text: {"length": tf.strings.length(text)})
    records = learn.read_batch_record_features(WORDS_FILE, 2, parse, num_epochs=2)
    facts = {"age": made["age"].name, "job": made["job"].values.name, "lines": lines.name,
             "keys": keys.name, "lengths": pairs["length"].name,
             "records": records["age"].name,
             "runners": [runner.name for runner in tf.get_collection("queue_runners")]}
    return Run(facts=facts)


@program
def a_users_model_with_metrics_of_two_classes(tf):
    def model(features, labels, mode):
        weight = tf.get_variable("w", initializer=[[0.5], [-1.0]])
        predictions = tf.sigmoid(tf.matmul(features["x"], weight))
        if mode == "infer":
            return predictions, None, None
        loss = tf.losses.log_loss(labels, predictions)
        step = tf.train.get_global_step()
        return predictions, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss, step)

    def inputs():
        x = tf.constant([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [-1.0, 0.5]])
        return {"x": x}, tf.constant([[1.0], [0.0], [1.0], [1.0]])

    folder = tempfile.mkdtemp()
    try:
        estimator = tf.contrib.learn.LogisticRegressor(
            model, thresholds=[0.25, 0.5], model_dir=folder)
        estimator.fit(input_fn=inputs, steps=2)
        found = estimator.evaluate(input_fn=inputs, steps=1)
        predicted = list(estimator.predict(input_fn=lambda: inputs()[0], as_iterable=True))
    finally:
        shutil.rmtree(folder)
    return Run(facts={"evaluated": {key: float(found[key]) for key in sorted(found)},
                      "predicted": np.array(predicted[:4])})
