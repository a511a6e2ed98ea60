"""The heads of canned classifiers and regressors, used by themselves."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.estimator.canned.classification_heads import BinaryLogisticHead, MultiClassHead
from stillflow.estimator.canned.regression_head import RegressionHead

LOGITS = [[-1.0], [2.0], [0.5]]
LABELS = [[0], [1], [0]]


def evaluated(spec):
    with tf.Session() as session:
        session.run([tf.local_variables_initializer(), tf.tables_initializer()])
        session.run([update for _, update in spec.eval_metric_ops.values()])
        values = {key: value for key, (value, _) in spec.eval_metric_ops.items()}
        return session.run([spec.loss, values])


def test_measures_at_thresholds_under_the_name_of_the_head(graph):
    head = BinaryLogisticHead(thresholds=[0.75], name="two")
    spec = head.create_estimator_spec({}, "eval", tf.constant(LOGITS), LABELS)
    _, metrics = evaluated(spec)
    assert metrics["accuracy/positive_threshold_0.75/two"] == 1.0
    assert metrics["precision/two"] == 0.5
    assert metrics["recall/positive_threshold_0.75/two"] == pytest.approx(1.0, abs=1e-6)


def test_adds_losses_of_regularization(graph):
    head = RegressionHead()
    spec = head.create_estimator_spec(
        {}, "eval", tf.constant(LOGITS), tf.constant([[1.0], [2.0], [0.5]]),
        regularization_losses=[tf.constant(2.0), tf.constant(1.0)],
    )  # fmt: skip
    loss, metrics = evaluated(spec)
    assert loss == 4.0 + 3.0
    assert metrics["regularization_loss"] == 3.0
    np.testing.assert_allclose(metrics["average_loss"], 4.0 / 3, rtol=1e-6)


def test_takes_a_loss_of_the_program(graph):
    head = BinaryLogisticHead(loss_fn=lambda labels, logits, features: features["x"] * logits)
    features = {"x": tf.constant([[1.0], [2.0], [4.0]])}
    loss = head.create_loss(features, "train", tf.constant(LOGITS), tf.constant(LABELS))
    with tf.Session() as session:
        assert session.run(loss.training_loss) == -1 + 4 + 2


@pytest.mark.parametrize("how", ["both", "neither"])
def test_wants_one_way_to_make_a_step(graph, how):
    options = {"both": {"optimizer": 1, "train_op_fn": 1}, "neither": {}}[how]
    with pytest.raises(ValueError, match="train_op_fn and optimizer cannot both be"):
        RegressionHead().create_estimator_spec(
            {}, "train", tf.constant(LOGITS), tf.constant(LOGITS), **options
        )


def test_refuses_labels_that_do_not_suit(graph):
    logits = tf.constant([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="You must provide a labels Tensor"):
        MultiClassHead(3).create_loss({}, "train", logits, None)
    with pytest.raises(ValueError, match="Mismatched label shape"):
        MultiClassHead(3).create_loss({}, "train", logits, tf.constant([[1, 2]]))
    with pytest.raises(ValueError, match="Labels dtype should be integer"):
        MultiClassHead(3).create_loss({}, "train", logits, tf.constant([[1.0]]))
    with pytest.raises(ValueError, match="SparseTensor labels are not supported"):
        sparse = tf.SparseTensor([[0, 0]], [1], [1, 1])
        MultiClassHead(3).create_loss({}, "train", logits, sparse)


def test_refuses_labels_out_of_range_when_they_are_known(graph):
    labels = tf.placeholder(tf.int64, [None, 1])
    loss = MultiClassHead(3).create_loss({}, "train", tf.zeros([1, 3]), labels)
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="Labels must <= n_classes - 1"),
    ):
        session.run(loss.training_loss, {labels: [[3]]})
