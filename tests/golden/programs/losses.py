"""tf.losses: each loss with weights and reductions, collections, regularisation."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

LABELS = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]], np.float32)
GUESSES = np.array([[0.1, 0.8, 0.3], [0.6, 0.2, 0.9]], np.float32)


@program
def regression_losses(tf):
    labels = tf.placeholder(tf.float32, [None, 3])
    guesses = tf.placeholder(tf.float32, [None, 3])
    losses = tf.losses
    fetches = {
        "mean_squared_error": losses.mean_squared_error(labels, guesses),
        "absolute_difference": losses.absolute_difference(labels, guesses),
        "huber_loss": losses.huber_loss(labels, guesses, delta=0.25),
        "log_loss": losses.log_loss(labels, guesses),
        "hinge_loss": losses.hinge_loss(labels, guesses),
        "cosine_distance": losses.cosine_distance(labels, guesses, axis=1),
        "pairwise": losses.mean_pairwise_squared_error(labels, guesses),
        "total": losses.get_total_loss(),
    }
    facts = {"collection": [t.name for t in losses.get_losses()]}
    return Run(fetches, {labels: LABELS, guesses: GUESSES}, facts=facts)


@program
def classification_losses(tf):
    logits = tf.placeholder(tf.float32, [None, 3])
    labels = tf.placeholder(tf.float32, [None, 3])
    classes = tf.placeholder(tf.int32, [None])
    losses = tf.losses
    fetches = {
        "softmax": losses.softmax_cross_entropy(labels, logits),
        "smoothed": losses.softmax_cross_entropy(labels, logits, label_smoothing=0.1),
        "sparse": losses.sparse_softmax_cross_entropy(classes, logits),
        "sparse_column": losses.sparse_softmax_cross_entropy(classes[:, tf.newaxis], logits),
        "sigmoid": losses.sigmoid_cross_entropy(labels, logits),
        "sigmoid_smoothed": losses.sigmoid_cross_entropy(labels, logits, label_smoothing=0.2),
    }
    fetches["gradients"] = [tf.gradients(fetches[n], logits) for n in sorted(fetches)]
    return Run(fetches, {logits: GUESSES * 3.0, labels: LABELS, classes: [2, 0]})


@program
def weights_of_losses(tf):
    labels, guesses = tf.placeholder(tf.float32, [None, 3]), tf.constant(GUESSES)
    mse = tf.losses.mean_squared_error
    fetches = {
        "scalar": mse(labels, guesses, weights=2.0),
        "rows": mse(labels, guesses, weights=[[1.0], [0.0]]),
        "elements": mse(labels, guesses, weights=tf.constant(LABELS)),
        "zero": mse(labels, guesses, weights=0.0),
        "sparse": tf.losses.sparse_softmax_cross_entropy([0, 1], guesses, weights=[0.5, 2.0]),
        "compute": tf.losses.compute_weighted_loss(tf.abs(guesses), weights=0.5),
    }
    fetches["gradient"] = tf.gradients(fetches["rows"], guesses)
    facts = {"weights": raised(mse, tf.ones([2, 3]), guesses, weights=[1.0, 2.0]),
             "shapes": raised(mse, tf.ones([3, 3]), guesses),
             "none": raised(mse, None, guesses)}
    return Run(fetches, {labels: LABELS}, facts=facts)


@program
def reductions_of_losses(tf):
    labels, guesses = tf.constant(LABELS), tf.placeholder(tf.float32, [2, 3])
    fetches = {}
    for name in ["NONE", "SUM", "SUM_OVER_BATCH_SIZE", "SUM_BY_NONZERO_WEIGHTS", "MEAN",
                 "SUM_OVER_NONZERO_WEIGHTS"]:
        reduction = getattr(tf.losses.Reduction, name)
        fetches[name] = tf.losses.absolute_difference(
            labels, guesses, weights=[[0.0, 1.0, 2.0]], reduction=reduction)
    facts = {"bad": raised(tf.losses.absolute_difference, labels, guesses, reduction="none_such"),
             "all": list(tf.losses.Reduction.all())}
    return Run(fetches, {guesses: GUESSES}, facts=facts)


@program
def collections_of_losses(tf):
    x = tf.placeholder(tf.float32, [2, 3])
    with tf.variable_scope("a"):
        tf.losses.add_loss(tf.reduce_sum(x))
        tf.losses.mean_squared_error(x, LABELS, scope="mse")
    with tf.variable_scope("b"):
        tf.losses.absolute_difference(x, LABELS, loss_collection=None)
        tf.losses.log_loss(x, GUESSES, loss_collection="mine")
    w = tf.get_variable("w", [2], initializer=tf.ones_initializer(),
                        regularizer=lambda v: tf.reduce_sum(v) * 0.5)
    fetches = {
        "total": tf.losses.get_total_loss(),
        "no_regularization": tf.losses.get_total_loss(add_regularization_losses=False),
        "regularization": tf.losses.get_regularization_loss(),
        "scoped": tf.losses.get_losses(scope="a/mse"),
        "mine": tf.losses.get_losses(loss_collection="mine"),
    }
    return Run(fetches, {x: GUESSES}, setup=[w.initializer])


@program
def training_with_a_total_loss(tf):
    x, y = tf.placeholder(tf.float32, [None, 1]), tf.placeholder(tf.float32, [None, 1])
    w = tf.get_variable("w", initializer=tf.constant([[0.5]]),
                        regularizer=lambda v: 0.01 * tf.nn.l2_loss(v))
    tf.losses.huber_loss(y, tf.matmul(x, w))
    total = tf.losses.get_total_loss(name="total")
    train = tf.train.GradientDescentOptimizer(0.1).minimize(total)
    return Run({"w": w, "total": total}, {x: [[1.0], [2.0]], y: [[2.0], [4.5]]},
               setup=[w.initializer], train=[train], steps=4)
