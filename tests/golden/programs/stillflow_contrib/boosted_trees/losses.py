"""Losses of single examples, as boosted trees take them."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

LABELS = np.array([[0], [1], [1], [0], [1], [0]], np.float32)
LOGITS = np.array([[-3], [-0.3], [0.05], [0.4], [2], [9]], np.float32)
WEIGHTS = np.array([[1], [2], [0.5], [1], [3], [0]], np.float32)
SCORES = np.random.RandomState(2).normal(size=[6, 3]).astype(np.float32) * 3


def _losses(tf):
    return internal_module(
        tf, "stillflow_contrib.boosted_trees.losses", "contrib.boosted_trees.python.utils.losses")


def _run(tf, made):
    return Run({
        name: {"loss": loss, "gradient": tf.gradients(loss, x), "second": tf.gradients(
            tf.gradients(loss, x), x)} for name, (x, (loss, _)) in made.items()
    }, facts={name: update.type for name, (_, (_, update)) in made.items()})


@program
def two_classes(tf):
    losses, made = _losses(tf), {}
    for name in ("squared_hinge", "logistic", "exp", "full_exp"):
        x = tf.constant(LOGITS)
        loss = getattr(losses, f"per_example_{name}_loss")
        made[name] = x, loss(tf.constant(LABELS, tf.int32 if name == "logistic" else tf.float32),
                             tf.constant(WEIGHTS), x)
    x = tf.constant(LOGITS)
    made["wide"] = x, losses.per_example_exp_loss(LABELS, WEIGHTS, x, name="wide", eps=0.7)
    return _run(tf, made)


@program
def numbers(tf):
    losses, made = _losses(tf), {}
    for name, quantile, weights in (("low", 0.1, WEIGHTS), ("high", 0.9, None)):
        x = tf.constant(LOGITS)
        made[name] = x, losses.per_example_quantile_regression_loss(
            LABELS * 3, weights, x, quantile)
    x = tf.constant(SCORES)
    made["squared"] = x, losses.per_example_squared_loss(SCORES[::-1].copy(), WEIGHTS, x)
    return _run(tf, made)


@program
def classes(tf):
    losses, made = _losses(tf), {}
    for name, shape, weights in (("column", [6, 1], WEIGHTS), ("row", [6], None)):
        x = tf.constant(SCORES)
        labels = np.array([0, 2, 1, 1, 0, 2]).reshape(shape)
        made[name] = x, losses.per_example_maxent_loss(labels, weights, x, 3)
    return _run(tf, made)


@program
def refused(tf):
    losses = _losses(tf)
    return Run(facts={
        name: raised(getattr(losses, f"per_example_{name}_loss"), LABELS, WEIGHTS, SCORES)
        for name in ("exp", "full_exp")
    })
