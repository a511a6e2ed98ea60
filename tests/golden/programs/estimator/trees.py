"""Estimators of boosted trees: the graph of each mode, and what they learn, explain and serve."""

from __future__ import annotations

import os
import shutil
import tempfile

import numpy as np
from tests.golden.programs.estimator.canned import MODES, Losses, built, config, serving, signatures
from tests.golden.registry import Run, program, raised

RANDOM = np.random.RandomState(3)
COUNT = 120
AGE = RANDOM.randint(1, 80, COUNT).astype("float32")
PAIR = RANDOM.randint(0, 30, (COUNT, 2)).astype("float32")
JOB = np.array(["cook", "smith", "clerk"])[RANDOM.randint(0, 3, COUNT)]
WEIGHT = (0.5 + np.arange(COUNT) % 3).astype("float32")
SCORE = 0.04 * (AGE - 40) + (JOB == "cook") + 0.05 * (PAIR[:, 0] - PAIR[:, 1])
BINARY = (SCORE + 0.5 * RANDOM.randn(COUNT) > 0.3).astype("int32")
WORDS = np.array(["no", "yes"])[BINARY]
NUMBERS = (SCORE + 0.1 * RANDOM.randn(COUNT)).astype("float32")
FEATURES = {"age": AGE, "pair": PAIR, "job": JOB}


def bucketized(tf):
    column = tf.feature_column
    age = column.bucketized_column(column.numeric_column("age"), [20.0, 40.0, 60.0])
    words = column.categorical_column_with_vocabulary_list("job", ["cook", "smith", "clerk"])
    return [column.indicator_column(words), age]


def numbers(tf):
    column = tf.feature_column
    return [*bucketized(tf)[:1], column.numeric_column("age"), column.numeric_column("pair", [2])]


def hashed(tf):
    column = tf.feature_column
    ids = column.categorical_column_with_identity("pair", 30)
    crossed = column.crossed_column([bucketized(tf)[1], "job"], 5)
    return [column.indicator_column(crossed), column.indicator_column(ids)]


def batches(tf, features, labels, size, steps):
    def make():
        data = tf.data.Dataset.from_tensor_slices((features, labels))
        return data.repeat(steps).batch(size)

    return make


def whole(tf, features, labels):
    return lambda: ({key: tf.constant(value) for key, value in features.items()},
                    tf.constant(labels))


def apart(tf, build):
    """Return calls it; variables are resources in there, as the estimators want it from then on."""
    tf.enable_resource_variables()
    try:
        return build()
    finally:
        tf.disable_resource_variables()


def rounded(by_column):
    """Return values by column in single precision, in which they were computed."""
    return {name: np.float32(value) for name, value in by_column.items()}


def learned(tf, make, features, labels, size, explain):
    """Trains twice, evaluates, predicts, explains and exports; everything that came out."""
    folder = tempfile.mkdtemp()
    try:
        found = {"losses": []}
        train = whole(tf, features, labels) if size is None else (
            batches(tf, features, labels, size, 40))
        for steps in (5, 7):  # the second one goes on from a checkpoint
            estimator = make(config(tf, folder))
            losses = Losses(tf)
            estimator.train(train, hooks=[losses], steps=steps)
            found["losses"].append(np.array(losses.values, "float32"))
        once = batches(tf, features, labels, COUNT, 1)
        found["names"] = estimator.get_variable_names()
        found["metrics"] = estimator.evaluate(once)
        predicted = list(estimator.predict(once))
        found["predictions"] = {
            str(key): np.stack([each[key] for each in predicted]) for key in predicted[0]
        }
        found["importances"] = rounded(estimator.experimental_feature_importances())
        if explain:
            explained = list(estimator.experimental_predict_with_explanations(once))
            found["bias"] = np.float32([each["bias"] for each in explained])
            found["contributions"] = [rounded(each["dfc"]) for each in explained[:9]]
        path = estimator.export_saved_model(os.path.join(folder, "served"),
                                            serving(tf, features)).decode()
        found["signatures"] = signatures(tf, path)
        found["served"] = served(tf, path, features)
        return found
    finally:
        shutil.rmtree(folder)


def served(tf, path, features):
    """Return the predictions of a SavedModel."""
    with tf.Graph().as_default(), tf.Session() as session:
        loaded = tf.saved_model.loader.load(session, ["serve"], path)
        signature = loaded.signature_def["predict"]
        names = ["Placeholder"] + [f"Placeholder_{index}" for index in range(1, len(features))]
        feeds = {f"{name}:0": value for name, value in zip(names, features.values())}
        outputs = {key: info.name for key, info in signature.outputs.items()
                   if key in ("logits", "predictions")}
        return session.run(outputs, feeds)


def golden(name, make, features, labels, modes=MODES, size=60, explain=False, learn=True):
    """Register a program for each mode's graph, and one that trains.

    `make(tf, **options)` gives the estimator.
    """

    def register(suffix, build):
        build.__name__ = name + suffix
        program(build)

    def estimator(tf):
        return lambda settings: make(tf, config=settings)

    for mode in modes:
        register("_" + mode, lambda tf, mode=mode: apart(
            tf, lambda: built(tf, estimator(tf), features, labels, mode)))
    if learn:
        register("", lambda tf: Run({}, facts=apart(
            tf, lambda: learned(tf, estimator(tf), features, labels, size, explain))))


golden(
    "classifier_of_buckets",
    lambda tf, **options: tf.estimator.BoostedTreesClassifier(
        bucketized(tf), 2, n_trees=3, max_depth=3, **options),
    FEATURES, BINARY,
)  # fmt: skip
golden(
    "classifier_of_numbers",
    lambda tf, **options: tf.estimator.BoostedTreesClassifier(
        numbers(tf), 2, n_trees=2, max_depth=2, center_bias=True, l2_regularization=0.01,
        **options),
    FEATURES, BINARY, explain=True,
)  # fmt: skip
golden(
    "classifier_in_memory",
    lambda tf, **options: tf.estimator.BoostedTreesClassifier(
        numbers(tf), 1, n_trees=4, max_depth=3, train_in_memory=True, center_bias=True, **options),
    FEATURES, BINARY, modes=("train",), size=None, explain=True,
)  # fmt: skip
golden(
    "classifier_of_words_with_weights",
    lambda tf, **options: tf.estimator.BoostedTreesClassifier(
        numbers(tf), 1, n_trees=2, max_depth=3, weight_column="weight",
        label_vocabulary=["no", "yes"], tree_complexity=0.001, pruning_mode="pre",
        min_node_weight=0.01, **options),
    dict(FEATURES, weight=WEIGHT), WORDS, modes=("train",),
)  # fmt: skip
golden(
    "regressor_that_prunes",
    lambda tf, **options: tf.estimator.BoostedTreesRegressor(
        bucketized(tf), 1, n_trees=3, max_depth=3, learning_rate=0.5, l1_regularization=0.01,
        tree_complexity=0.05, pruning_mode="post", **options),
    FEATURES, NUMBERS,
)  # fmt: skip
golden(
    "regressor_of_hashes",
    lambda tf, **options: tf.estimator.BoostedTreesRegressor(
        hashed(tf), 1, n_trees=2, max_depth=4, center_bias=True, **options),
    dict(FEATURES, pair=PAIR.astype("int64")), NUMBERS, modes=("train", "infer"), explain=True,
)  # fmt: skip
golden(
    "regressor_in_memory",
    lambda tf, **options: tf.estimator.BoostedTreesRegressor(
        bucketized(tf), 1, n_trees=3, max_depth=2, train_in_memory=True, **options),
    FEATURES, NUMBERS, modes=("train",), size=None,
)  # fmt: skip
golden(
    "estimator_with_a_head",
    lambda tf, **options: tf.estimator.BoostedTreesEstimator(
        numbers(tf), 1, tf.contrib.estimator.regression_head(
            loss_reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE),
        n_trees=2, max_depth=2, center_bias=True, **options),
    FEATURES, NUMBERS, modes=("train",), explain=True,
)  # fmt: skip


@program
def refusals(tf):
    column = tf.feature_column
    classifier, regressor = tf.estimator.BoostedTreesClassifier, tf.estimator.BoostedTreesRegressor
    plain = classifier(bucketized(tf), 1)
    words = column.categorical_column_with_vocabulary_list("job", ["cook"])

    def training(make, columns, **options):
        estimator = make(columns, 1, **options)
        inputs = {key: tf.constant(value) for key, value in FEATURES.items()}
        return raised(estimator.model_fn, inputs, tf.constant(BINARY), "train", estimator.config)

    def checked():
        return {
            "classes": raised(classifier, bucketized(tf), 1, n_classes=3),
            "more_classes": raised(classifier, bucketized(tf), 1, n_classes=3, pruning_mode=None),
            "dimensions": raised(regressor, bucketized(tf), 1, label_dimension=2),
            "more_dimensions": raised(regressor, bucketized(tf), 1, label_dimension=2,
                                      pruning_mode=None),
            "categories": raised(classifier, [words], 1),
            "complexity": training(classifier, bucketized(tf)[1:], tree_complexity=0.1),
            "no_complexity": training(classifier, bucketized(tf)[1:], pruning_mode="pre"),
            "pruning": training(classifier, bucketized(tf)[1:], pruning_mode="after"),
            "rank": training(classifier, [column.numeric_column("pair", [2, 1])]),
            "not_centered": raised(list, plain.experimental_predict_with_explanations(None)),
        }

    return Run({}, facts=apart(tf, checked))


@program
def trained_in_memory(tf):
    def trained():
        found = {}
        folder = tempfile.mkdtemp()
        try:
            for kind, labels in (("classifier", BINARY), ("regressor", NUMBERS)):
                train = getattr(
                    tf.contrib.estimator, f"boosted_trees_{kind}_train_in_memory")

                def batch(labels=labels):
                    return tf.data.Dataset.from_tensors((FEATURES, labels))

                losses = Losses(tf)
                estimator = train(
                    batch, numbers(tf), n_trees=3, max_depth=2, center_bias=True,
                    config=config(tf, os.path.join(folder, kind)), train_hooks=[losses])
                found[kind] = np.array(losses.values, "float32")
                found[kind + "_metrics"] = estimator.evaluate(batch, steps=1)
            return found
        finally:
            shutil.rmtree(folder)

    return Run({}, facts=apart(tf, trained))
