"""`tf.contrib.learn.DynamicRnnEstimator` and the target columns that it uses."""

from __future__ import annotations

import shutil
import tempfile

import numpy as np
from tests.golden.registry import Run, program, raised

STEPS = np.arange(24, dtype=np.float32).reshape(4, 3, 2) * 0.1 - 1
LENGTHS = np.array([3, 1, 2, 3])


def columns(tf):
    layers = tf.contrib.layers
    place = layers.sparse_column_with_hash_bucket("place", 3)
    return {
        "sequence_feature_columns": [layers.real_valued_column("measured", dimension=2)],
        "context_feature_columns": [layers.one_hot_column(place)],
    }


def features(tf, lengths=True, **more):
    found = {
        "measured": tf.constant(STEPS),
        "place": tf.SparseTensor([[0, 0], [1, 0], [3, 0]], ["a", "c", "b"], [4, 1]),
    }
    if lengths:
        found["sequence_length"] = tf.constant(LENGTHS, tf.int32)
    found.update(more)
    return found


def labels(tf, several, classes):
    size = [4, 3] if several else [4]
    values = np.arange(np.prod(size)).reshape(size)
    return tf.constant(
        values % classes if classes else values * 0.1, tf.int64 if classes else tf.float32
    )


def model(
    tf,
    mode,
    prediction_type,
    classes=None,
    lengths=True,
    context=True,
    more=None,
    runs=True,
    **settings,
):
    tf.set_random_seed(3)
    problem = tf.contrib.learn.ProblemType
    given = columns(tf)
    if not context:
        del given["context_feature_columns"]
    given.update(settings)
    estimator = tf.contrib.learn.DynamicRnnEstimator(
        problem.CLASSIFICATION if classes else problem.LINEAR_REGRESSION,
        prediction_type,
        num_classes=classes,
        num_units=given.pop("num_units", [3]),
        **given,
    )
    several = prediction_type == 2
    tf.train.create_global_step()
    made = estimator.model_fn(
        features(tf, lengths, **(more or {})),
        None if mode == "infer" else labels(tf, several, classes),
        mode,
        estimator.config,
    )
    fetches = dict(made.predictions)
    metrics = made.eval_metric_ops or {}
    setup = [
        tf.global_variables_initializer(),
        tf.local_variables_initializer(),
        tf.tables_initializer(),
    ]
    facts = {
        "predicted": sorted(fetches),
        "measured": sorted(metrics),
        "alternatives": sorted((made.output_alternatives or {}).items(), key=str)
        and [
            [name, kind, sorted(outputs)]
            for name, (kind, outputs) in made.output_alternatives.items()
        ],
    }
    if not runs:  # draws of different steps race in TensorFlow
        return Run(facts=facts)
    if mode == "train":
        return Run({"loss": made.loss}, train=made.train_op, steps=2, setup=setup, facts=facts)
    if made.loss is not None:
        fetches["loss"] = made.loss
    for name, (_, update) in metrics.items():
        fetches["metric_" + name] = update
    return Run(fetches, setup=setup, facts=facts)


@program
def classes_of_steps(tf):
    return model(tf, "eval", 2, classes=3)


@program
def training_on_steps(tf):
    return model(tf, "train", 2, classes=2, optimizer="Momentum", momentum=0.9, learning_rate=0.05)


@program
def probabilities_of_steps(tf):
    return model(
        tf, "infer", 2, classes=2, predict_probabilities=True, context=False, cell_type="lstm"
    )


@program
def class_of_sequences(tf):
    return model(
        tf, "infer", 1, classes=3, predict_probabilities=True, cell_type="gru", num_units=[3, 2]
    )


@program
def number_of_sequences(tf):
    return model(tf, "train", 1, lengths=False, optimizer="Adam", learning_rate=0.01)


@program
def numbers_of_steps(tf):
    return model(tf, "eval", 2, lengths=False, context=False)


@program
def a_given_state(tf):
    state = {
        "rnn_cell_state_0": tf.constant(STEPS[:, 0, :]),
        "rnn_cell_state_1": tf.constant(STEPS[:, 1, :]),
    }
    return model(tf, "eval", 1, classes=2, cell_type="lstm", num_units=2, more=state)


@program
def some_inputs_dropped(tf):
    kept = [0.5, 0.6, 0.7]
    return model(
        tf,
        "train",
        2,
        classes=2,
        num_units=[3, 2],
        dropout_keep_probabilities=kept,
        gradient_clipping_norm=None,
        runs=False,
    )


@program
def refusals(tf):
    learn = tf.contrib.learn
    kind, problem = learn.DynamicRnnEstimator, learn.ProblemType
    given = dict(columns(tf), num_units=[2])
    tensors = features(tf, rnn_cell_state_0=tf.constant(STEPS[:, 0, :]))
    estimator = kind(problem.LINEAR_REGRESSION, 1, cell_type="lstm", **given)
    dropout = kind(problem.LINEAR_REGRESSION, 1, dropout_keep_probabilities=[0.5], **given)
    unknown = kind(problem.LINEAR_REGRESSION, 1, cell_type=None, **given)
    return Run(
        facts={
            "prediction": raised(kind, problem.CLASSIFICATION, 3, **given),
            "classes": raised(kind, problem.CLASSIFICATION, 2, **given),
            "problem": raised(kind, problem.LOGISTIC_REGRESSION, 2, **given),
            "probabilities": raised(
                kind, problem.LINEAR_REGRESSION, 2, predict_probabilities=True, **given
            ),
            "state": raised(
                estimator.model_fn, tensors, labels(tf, False, None), "eval", estimator.config
            ),
            "dropout": raised(
                dropout.model_fn, features(tf), labels(tf, False, None), "train", estimator.config
            ),
            "cell": raised(
                unknown.model_fn, features(tf), labels(tf, False, None), "train", estimator.config
            ),
        }
    )


@program(rtol=1e-3, reason="some steps of training")
def estimator(tf):
    folder = tempfile.mkdtemp()
    try:
        learn = tf.contrib.learn
        made = learn.DynamicRnnEstimator(
            learn.ProblemType.CLASSIFICATION,
            2,
            num_classes=2,
            num_units=4,
            model_dir=folder,
            config=learn.RunConfig(tf_random_seed=5),
            **columns(tf),
        )

        def input_fn():
            return features(tf), labels(tf, True, 2)

        made.fit(input_fn=input_fn, steps=5)
        scores = made.evaluate(input_fn=input_fn, steps=1)
        found = made.predict(input_fn=lambda: (features(tf), None), as_iterable=False)
        facts = {
            "scores": {k: round(float(v), 3) for k, v in sorted(scores.items())},
            "predicted": {k: list(v.shape) for k, v in sorted(found.items())},
            "variables": sorted(made.get_variable_names()),
        }
    finally:
        shutil.rmtree(folder)
    return Run(facts=facts)


@program
def target_columns(tf):
    layers = tf.contrib.layers
    logits = tf.constant(STEPS[:, 0, :])
    one = tf.constant(STEPS[:, 0, :1])
    weighed = {"w": tf.constant([1.0, 2.0, 0.5, 0.0])}
    numbers = layers.regression_target(label_dimension=2)
    weighted = layers.regression_target(weight_column_name="w")
    number = layers.regression_target("label")
    many = layers.multi_class_target(2 + 1)
    two = layers.multi_class_target(2, weight_column_name="w")
    three = tf.constant(np.concatenate([STEPS[:, 0, :], STEPS[:, 1, :1]], 1))
    fetches = {
        "numbers": numbers.loss(logits, logits * 2, {}),
        "weighted": weighted.loss(one, one * 2, weighed),
        "training": weighted.training_loss(one, one * 2, weighed),
        "number": number.loss(one, tf.constant([1.0, 0.0, 2.0, 1.0]), {}),
        "predicted": number.logits_to_predictions(one),
        "many": many.loss(three, tf.constant([0, 2, 1, 1]), {}),
        "two": two.training_loss(one, tf.constant([0, 1, 1, 1]), weighed),
        "likely": two.logits_to_predictions(one, proba=True),
        "classes": many.logits_to_predictions(three),
    }
    metrics = two.get_eval_ops(weighed, one, tf.constant([[0], [1], [1], [1]]))
    fetches.update({"metric_" + name: update for name, (_, update) in metrics.items()})
    return Run(
        fetches,
        setup=[tf.local_variables_initializer()],
        facts={
            "kinds": [
                number.problem_type,
                many.problem_type,
                numbers.num_label_columns,
                two.num_label_columns,
                number.label_name,
                two.weight_column_name,
            ],
            "classes": raised(layers.multi_class_target, 1),
            "dtype": raised(many.loss, three, tf.constant([0.0, 1.0, 1.0, 1.0]), {}),
        },
    )
