"""Recurrent estimators of tf.contrib.estimator: the graph of each mode, and what they learn."""

from __future__ import annotations

import tempfile

import numpy as np
from tests.golden.programs.train.saver import fixed_uuid
from tests.golden.registry import Run, program, raised


def columns(tf):
    c = tf.contrib.feature_column
    words = c.sequence_categorical_column_with_identity("words", 5)
    embedded = tf.feature_column.embedding_column(words, 3)
    return [c.sequence_numeric_column("price"), embedded]


def sparse(tf, places, values):
    """Return a SparseTensor of whose shape as little is known as of those that are fed."""
    unknown = tf.placeholder_with_default
    return tf.SparseTensor(
        unknown(np.int64(places), [None, 2]),
        unknown(values, [None]),
        unknown(np.int64([3, 3]), [2]),
    )


def features(tf):
    places = [[0, 0], [0, 1], [1, 0], [2, 0], [2, 1], [2, 2]]
    return {
        "price": sparse(tf, places, np.arange(6, dtype="float32")),
        "words": sparse(tf, places, np.int64([1, 0, 4, 2, 2, 3])),
        "age": tf.constant([[0.5], [1.0], [2.0]]),
        "weight": tf.constant([[1.0], [2.0], [0.5]]),
    }


def config(tf):
    return tf.estimator.RunConfig(tempfile.gettempdir(), tf_random_seed=7)


def classifier(tf):
    return tf.contrib.estimator.RNNClassifier(columns(tf), num_units=[4], config=config(tf))


def of_words(tf):
    age = tf.feature_column.numeric_column("age")
    return tf.contrib.estimator.RNNClassifier(
        columns(tf), [age], num_units=[4, 3], cell_type="gru", n_classes=3, config=config(tf),
        weight_column="weight",
        optimizer=tf.train.GradientDescentOptimizer(0.5))  # fmt: skip


def regression(tf):
    head = tf.contrib.estimator.regression_head()
    return tf.contrib.estimator.RNNEstimator(
        head, columns(tf), cell_type="lstm", num_units=[4], optimizer="Adam", config=config(tf)
    )


def labels_of(tf, name):
    values = {"classifier": [[0], [1], [1]], "words": [[1], [0], [2]],
              "regression": [[0.5], [1.5], [-1.0]]}  # fmt: skip
    return tf.constant(values[name])


MAKERS = {"classifier": classifier, "words": of_words, "regression": regression}


def build(tf, name, mode):
    tf.set_random_seed(7)
    tf.train.get_or_create_global_step()
    estimator = MAKERS[name](tf)
    labels = None if mode == "infer" else labels_of(tf, name)
    with fixed_uuid():
        spec = estimator.model_fn(features(tf), labels, mode, estimator.config)
    setup = [tf.global_variables_initializer(), tf.local_variables_initializer(),
             tf.tables_initializer()]  # fmt: skip
    facts = {"variables": [v.name for v in tf.trainable_variables()],
             "outputs": sorted(spec.export_outputs or {}),
             "metrics": sorted(spec.eval_metric_ops or {})}  # fmt: skip
    if mode == "train":
        return Run({"predictions": spec.predictions}, setup=setup, facts=facts,
                   train=[spec.train_op, spec.loss], steps=3)  # fmt: skip
    fetches = {"predictions": spec.predictions}
    if mode == "eval":
        fetches.update(
            loss=spec.loss, updates=[spec.eval_metric_ops[key][1] for key in facts["metrics"]]
        )
    return Run(fetches, setup=setup, facts=facts)


for _name in MAKERS:
    for _mode in ("train", "eval", "infer"):

        def _build(tf, name=_name, mode=_mode):
            return build(tf, name, mode)

        _build.__name__ = f"{_name}_{_mode}"
        program(_build)


@program
def refused(tf):
    c = tf.contrib.estimator
    made = columns(tf)
    dense = tf.feature_column.numeric_column("age")
    wrong = c.RNNClassifier([dense], num_units=[3], config=config(tf))
    unknown = c.RNNClassifier(made, num_units=[3], cell_type="x", config=config(tf))
    return Run({}, facts={
        "both": raised(c.RNNClassifier, made, num_units=[3], rnn_cell_fn=len),
        "type": raised(c.RNNClassifier, made, cell_type="gru", rnn_cell_fn=len),
        "sequences": raised(c.RNNEstimator, c.regression_head(), made, num_units=[3],
                            return_sequences=True),
        "column": raised(wrong.model_fn, features(tf), labels_of(tf, "classifier"), "train",
                         wrong.config)["class"],
        "cell": raised(unknown.model_fn, features(tf), labels_of(tf, "classifier"), "train",
                       unknown.config)["class"],
        "features": raised(unknown.model_fn, [1], None, "infer", unknown.config),
    })  # fmt: skip
