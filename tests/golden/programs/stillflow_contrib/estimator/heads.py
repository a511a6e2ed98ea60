"""Heads of tf.contrib.estimator for several labels, and of several heads: graphs of each mode."""

from __future__ import annotations

import numpy as np
from tests.golden.programs.train.saver import fixed_uuid
from tests.golden.registry import Run, program, raised

LOGITS = np.float32([[0.5, -1.0, 2.0], [0.0, 1.0, -0.5], [2.0, -3.0, 0.1]])
DENSE = np.int64([[1, 0, 1], [0, 1, 0], [1, 1, 1]])
WEIGHTS = np.float32([[1.0], [2.0], [0.5]])


def spec_of(tf, head, mode, logits, labels, **kwargs):
    tf.train.get_or_create_global_step()
    features = {"w": tf.constant(WEIGHTS)}
    if mode == "train":
        kwargs = kwargs or {"train_op_fn": lambda loss: tf.identity(loss, name="step")}
    with fixed_uuid():
        spec = head.create_estimator_spec(
            features, mode, logits, labels if mode != "infer" else None, **kwargs
        )
    fetches = {"predictions": {str(key): value for key, value in spec.predictions.items()}}
    if mode != "infer":
        fetches["loss"] = spec.loss
    if mode == "train":
        fetches["step"] = spec.train_op
    facts = {
        "outputs": sorted(spec.export_outputs or {}),
        "metrics": sorted(spec.eval_metric_ops or {}),
    }
    fetches["updates"] = [spec.eval_metric_ops[key][1] for key in facts["metrics"]]
    return Run(fetches, setup=[tf.global_variables_initializer(), tf.local_variables_initializer(),
                               tf.tables_initializer()], facts=facts)  # fmt: skip


def labels_of(tf, kind):
    if kind == "dense":
        return tf.constant(DENSE)
    values = ["c", "a", "b"] if kind == "words" else [2, 0, 1]
    return tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant(values), [3, 2])


def label_head(tf, kind):
    make = tf.contrib.estimator.multi_label_head
    if kind == "dense":
        return make(
            3,
            weight_column="w",
            thresholds=[0.25, 0.5],
            name="many",
            classes_for_class_based_metrics=[0, 2],
        )
    if kind == "words":
        return make(
            3,
            label_vocabulary=["a", "b", "c"],
            classes_for_class_based_metrics=["b"],
            loss_reduction=tf.losses.Reduction.SUM,
        )
    return make(
        3,
        loss_fn=lambda labels, logits: tf.reduce_max(
            tf.abs(tf.cast(labels, tf.float32) - logits), axis=-1, keepdims=True
        ),
    )


def several(tf, weights):
    c = tf.contrib.estimator
    heads = [c.multi_label_head(3, name="labels"), c.regression_head(name="number")]
    return c.multi_head(heads, weights)


def define(name, build):
    build.__name__, build.__module__ = name, __name__
    program(build)


for _mode in ("train", "eval", "infer"):
    for _kind in ("dense", "words", "ids"):
        define(
            f"labels_{_kind}_{_mode}",
            lambda tf, kind=_kind, mode=_mode: spec_of(
                tf, label_head(tf, kind), mode, tf.constant(LOGITS), labels_of(tf, kind)
            ),
        )
    for _weights in (None, [1.0, 0.5]):
        define(
            f"heads_{'weighted_' if _weights else ''}{_mode}",
            lambda tf, weights=_weights, mode=_mode: spec_of(
                tf,
                several(tf, weights),
                mode,
                tf.concat([tf.constant(LOGITS), tf.constant(WEIGHTS)], 1),
                {"labels": tf.constant(DENSE), "number": tf.constant(WEIGHTS)},
            ),
        )


@program
def losses_of_several(tf):
    head = several(tf, [2.0, 0.5])
    loss = head.create_loss(
        {},
        "train",
        {"labels": tf.constant(LOGITS), "number": tf.constant(WEIGHTS)},
        {"labels": tf.constant(DENSE), "number": tf.constant(WEIGHTS)},
    )
    return Run({"loss": loss.training_loss, "unreduced": loss.unreduced_loss,
                "labels": loss.processed_labels, "weights": loss.weights},
               facts={"name": head.name, "dimension": head.logits_dimension})  # fmt: skip


@program
def refused(tf):
    c = tf.contrib.estimator
    label, head = c.multi_label_head, several(tf, None)
    wide = tf.constant(LOGITS)
    return Run({}, facts={
        "one": raised(label, 1), "threshold": raised(label, 2, thresholds=[1.0]),
        "vocabulary": raised(label, 2, label_vocabulary=["a"])["message"],
        "listed": raised(label, 2, label_vocabulary="ab")["message"],
        "classes": raised(label, 2, classes_for_class_based_metrics=[2]),
        "words": raised(label, 2, classes_for_class_based_metrics=["a"]),
        "reduction": raised(label, 2, loss_reduction="none"),
        "loss_fn": raised(label, 2, loss_fn=lambda labels: labels),
        "heads": raised(c.multi_head, []), "name": raised(c.multi_head, [label(2)])["class"],
        "weights": raised(c.multi_head, [label(2, name="a")], [1.0, 2.0]),
        "split": raised(head.create_estimator_spec, {}, "infer", wide),
        "labels": raised(head.create_estimator_spec, {}, "eval", {}, [1])["message"],
        "none": raised(label(3).create_loss, {}, "eval", wide, None),
        "float": raised(label(3).create_loss, {}, "eval", wide,
                        tf.SparseTensor([[0, 0]], [1.0], [3, 3]))["class"],
        "mode": raised(head.create_estimator_spec, {}, "other", {
            "labels": wide, "number": wide[:, :1]}, None)["class"],
    })  # fmt: skip
