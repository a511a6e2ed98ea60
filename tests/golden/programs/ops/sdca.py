"""Stochastic dual coordinate ascent: its operations, models and estimators.

TensorFlow shuffles the examples of a step without a seed: values are of steps of one example, or
of examples that share no feature.
"""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

LOSSES = ("logistic_loss", "squared_loss", "hinge_loss", "smooth_hinge_loss", "poisson_loss")
FLOAT = "sums in single precision, in another order"
LENGTHS = (0, 1, 3, 7, 8, 15, 16, 17, 31, 32, 33, 64, 100, 143, 144, 145, 200, 300, 555)
LABELS = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0]
WEIGHTS = [1.0, 2.0, 0.5, 0.0, 1.0, 3.0]
# Example, feature: no two examples share one; the fourth has none.
WHOSE = [0, 0, 1, 1, 2, 4, 5]
FEATURES = [40, 7, 3, 90, 11, 2, 5]
VALUES = [1.0, -2.0, 0.5, 3.0, 1.5, -1.0, 4.0]


@program
def fingerprints(tf):
    texts = [bytes(bytearray((7 * i + n) % 256 for i in range(n))) for n in LENGTHS]
    return Run(
        {"known": tf.raw_ops.SdcaFprint(input=texts)},
        facts={"matrix": raised(tf.raw_ops.SdcaFprint, input=[["a"]])},
    )


def step(
    tf,
    loss_type,
    state,
    labels=LABELS,
    weights=WEIGHTS,
    second=True,
    rows=(),
    values=True,
    l1=0.1,
    l2=1.5,
    partitions=1,
    drawn=False,
    **others,
):
    """Return a step on examples that share no feature."""
    # TensorFlow writes to the memory of the state: no two steps may have the same.
    state = np.float32(state) + tf.random_uniform([], 0.0, 0.0)
    known = sorted(FEATURES)
    arguments = {
        "sparse_example_indices": [WHOSE],
        "sparse_feature_indices": [FEATURES],
        "sparse_feature_values": [VALUES] if values else [],
        "dense_features": rows,
        "example_weights": weights,
        "example_labels": labels,
        "sparse_indices": [known],
        "sparse_weights": [[0.25 * (n % 5) - 0.5 for n in range(len(known))]],
        "dense_weights": [[0.5, -0.25, 0.0]] * len(rows),
        "example_state_data": state,
        "loss_type": loss_type,
        "l1": l1,
        "l2": l2,
        "num_loss_partitions": partitions,
        "num_inner_iterations": 1,
    }
    arguments.update(others)
    if second:
        return tf.raw_ops.SdcaOptimizerV2(adaptive=drawn, **arguments)
    return tf.raw_ops.SdcaOptimizer(adaptative=drawn, **arguments)


def outputs(found):
    state, sparse, dense = found
    fetches = {"state": state}
    fetches.update({f"sparse_{n}": each for n, each in enumerate(sparse)})
    fetches.update({f"dense_{n}": each for n, each in enumerate(dense)})
    return fetches


@program(rtol=1e-5, atol=1e-6, reason=FLOAT)
def losses(tf):
    duals = np.float32([0, 0.5, 1.25, -0.5, -1, 2])
    state = np.stack([duals, duals, duals, duals], 1)
    fetches = {}
    for loss in LOSSES:
        for second in (False, True):
            for name, each in outputs(step(tf, loss, state, second=second)).items():
                fetches[f"{loss}_{second}_{name}"] = each
        found = step(tf, loss, 0 * state, values=False, l1=0.0, partitions=3)
        for name, each in outputs(found).items():
            fetches[f"{loss}_ones_{name}"] = each
    return Run(fetches)


@program(rtol=1e-5, atol=1e-6, reason=FLOAT)
def dense_features(tf):
    fetches = {}
    none = {
        "sparse_example_indices": [[]],
        "sparse_feature_indices": [[]],
        "sparse_feature_values": [[]],
    }
    for loss in LOSSES:
        for place in range(6):
            for partitions, drawn in ((1, False), (4, True)):
                row = [[1.0, 0.5 * place, -2.0]]
                found = step(
                    tf,
                    loss,
                    [[0.1 * place, 0, 0, 0]],
                    [LABELS[place]],
                    [WEIGHTS[place]],
                    rows=[row],
                    partitions=partitions,
                    drawn=drawn,
                    **none,
                )
                for name, each in outputs(found).items():
                    fetches[f"{loss}_{place}_{partitions}_{name}"] = each
    return Run(fetches)


@program(rtol=1e-5, atol=1e-6, reason=FLOAT)
def odd_indices(tf):
    state = np.zeros((6, 4), np.float32)
    falling = {"sparse_example_indices": [[0, 1, 1, 0, 2, 4, 5]]}
    twice = {
        "sparse_example_indices": [[0, 0, 1, 2, 4, 5]],
        "sparse_indices": [[2, 3, 7, 5, 11, 40, 7]],
        "sparse_feature_indices": [[40, 7, 3, 11, 2, 5]],
        "sparse_feature_values": [VALUES[:6]],
    }
    fetches = {}
    for name, others in (("falling", falling), ("twice", twice)):
        for key, each in outputs(step(tf, "squared_loss", state, **others)).items():
            fetches[f"{name}_{key}"] = each
    return Run(fetches)


@program
def refused(tf):
    state = np.zeros((6, 4), np.float32)
    wrong = [
        ("state", {"state": state[:5]}),
        ("unknown", {"state": state, "sparse_indices": [[2, 3, 5, 7, 11, 12, 90]]}),
        ("twice", {"state": state, "sparse_feature_indices": [[7, 7, 3, 90, 11, 2, 5]]}),
        ("wide", {"state": state, "rows": [np.ones((6, 4), np.float32)]}),
    ]
    runs = [Run(outputs(step(tf, "squared_loss", **others)), fails=True) for _, others in wrong]
    for loss in LOSSES:
        for label in (-1.0, 0.5, 2.0):
            if loss == "squared_loss" or (loss == "poisson_loss" and label > 0):
                continue
            found = step(tf, loss, state, labels=[label] + LABELS[1:])
            runs.append(Run(outputs(found), fails=True))
    nothing = {
        "sparse_example_indices": [],
        "sparse_feature_indices": [],
        "sparse_feature_values": [],
        "sparse_indices": [],
        "sparse_weights": [],
    }
    runs.append(Run(outputs(step(tf, "squared_loss", state, **nothing)), fails=True))
    with tf.Graph().as_default():
        runs.append(
            Run(
                facts={
                    "loss": raised(step, tf, "other_loss", state),
                    "partitions": raised(step, tf, "squared_loss", state, partitions=0),
                }
            )
        )
    return runs


@program
def shrinking(tf):
    weights = [
        tf.Variable([0.5, -0.5, 0.1, -0.1, 0.0], name="a", use_resource=False),
        tf.Variable([[2.0, -0.3], [0.25, -3.0]], name="b", use_resource=False),
    ]
    op = tf.raw_ops.SdcaShrinkL1(weights=weights, l1=0.5, l2=2.0)
    return Run(
        {"a": weights[0], "b": weights[1]},
        setup=[tf.global_variables_initializer()],
        train=op,
        steps=2,
    )


def examples_of(tf, columns=1, width=2):
    """One example at a time."""

    def fed(dtype, shape, name):
        return tf.placeholder(dtype, shape, name=name)

    features = []
    for n in range(columns):
        ids = fed(tf.int64, [None], f"features_{n}")
        features.append(
            tf.contrib.linear_optimizer.SparseFeatureColumn(
                tf.zeros_like(ids), ids, fed(tf.float32, [None], f"values_{n}")
            )
        )
    return {
        "sparse_features": features,
        "dense_features": [fed(tf.float32, [1, width], "rows")] if width else [],
        "example_labels": fed(tf.float32, [1], "labels"),
        "example_weights": fed(tf.float32, [1], "weights"),
        "example_ids": fed(tf.string, [1], "ids"),
    }


def feeds_of(examples, steps):
    feeds = []
    for step in range(steps):
        place = step % 4
        feed = {
            examples["example_ids"]: [b"example %d" % place],
            examples["example_labels"]: [float(place % 2)],
            examples["example_weights"]: [1.0 + 0.5 * place],
        }
        for n, column in enumerate(examples["sparse_features"]):
            feed[column.feature_indices] = [(place + n) % 5, 5 + place]
            feed[column.feature_values] = [1.0, 0.5 * place - 1]
        for rows in examples["dense_features"]:
            feed[rows] = [[0.25 * place, 1.0]]
        feeds.append(feed)
    return feeds


def variables_of(tf, columns=1, width=2, parts=None):
    def sparse(n):
        if not parts:
            return tf.Variable(tf.zeros([9]), name=f"sparse_{n}")
        return [
            tf.Variable(tf.zeros([size]), name=f"sparse_{n}_{part}")
            for part, size in enumerate(parts)
        ]

    return {
        "sparse_features_weights": [sparse(n) for n in range(columns)],
        "dense_features_weights": [tf.Variable(tf.zeros([width]), name="dense")] if width else [],
    }


def model_run(tf, columns=1, width=2, parts=None, counted=False, steps=6, **options):
    examples = examples_of(tf, columns, width)
    variables = variables_of(tf, columns, width, parts)
    settings = {
        "symmetric_l1_regularization": 0.1,
        "symmetric_l2_regularization": 1.5,
        "loss_type": "squared_loss",
    }
    settings.update(options)
    model = tf.contrib.linear_optimizer.SdcaModel(examples, variables, settings)
    step = tf.Variable(0, name="step", trainable=False, dtype=tf.int64) if counted else None
    train = model.update_weights(model.minimize(step))
    fetches = {
        "predictions": model.predictions(examples),
        "loss": model.unregularized_loss(examples),
        "regularized": model.regularized_loss(examples),
        "gap": model.approximate_duality_gap(),
    }
    for n, variable in enumerate(tf.global_variables()):
        fetches[f"variable_{n}"] = variable
    return Run(
        fetches,
        feeds_of(examples, steps),
        [tf.global_variables_initializer()],
        train,
        steps,
        facts={
            "variables": [each.name for each in tf.global_variables()],
            "saveables": [each.name for each in tf.get_collection("saveable_objects")],
        },
    )


ROUNDED = {"rtol": 1e-4, "atol": 1e-5, "reason": FLOAT}


@program(**ROUNDED)
def model_squared(tf):
    return model_run(tf)


@program(**ROUNDED)
def model_logistic(tf):
    return model_run(tf, columns=2, loss_type="logistic_loss", num_loss_partitions=2)


@program(**ROUNDED)
def model_hinge(tf):
    return model_run(tf, width=0, loss_type="hinge_loss", adaptive=False)


@program(**ROUNDED)
def model_smooth_hinge(tf):
    return model_run(
        tf, counted=True, loss_type="smooth_hinge_loss", symmetric_l2_regularization=0.25
    )


@program(**ROUNDED)
def model_poisson(tf):
    return model_run(tf, columns=0, loss_type="poisson_loss", symmetric_l1_regularization=0.0)


@program(**ROUNDED)
def model_in_parts(tf):
    return model_run(tf, columns=2, parts=(3, 2, 2, 2), num_table_shards=3)


@program
def model_refused(tf):
    examples, variables = examples_of(tf), variables_of(tf)
    options = {
        "symmetric_l1_regularization": 0.0,
        "symmetric_l2_regularization": 1.0,
        "loss_type": "squared_loss",
    }

    def made(examples=examples, variables=variables, **others):
        given = dict(options, **others)
        return raised(tf.contrib.linear_optimizer.SdcaModel, examples, variables, given)

    return Run(
        facts={
            "nothing": made(examples=None),
            "loss": made(loss_type="absolute_loss"),
            "l1": made(symmetric_l1_regularization=-1.0),
            "l2": made(symmetric_l2_regularization=-0.5),
            "list": made(examples=dict(examples, dense_features=1)),
        }
    )
