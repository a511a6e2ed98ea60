"""Metrics as objects, where operations run when they are called and in graphs."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.eager.immediate import ImmediateGraph

metrics = tf.contrib.eager.metrics


@pytest.fixture
def eager():
    with ImmediateGraph().as_default():
        yield


def test_means_are_weighted_and_begin_anew(eager):
    mean = metrics.Mean("loss")
    mean([1.0, 3.0])
    mean([6.0], weights=[2.0])
    assert (mean.result().numpy(), mean.name) == (4.0, "loss")
    mean.init_variables()
    mean(1.0)
    assert mean.result().numpy() == 1.0


def test_variables_built_before_the_first_call_stay(eager):
    mean = metrics.Mean()
    mean.build()
    before = mean.numer
    mean(3.0)
    assert mean.numer is before
    assert len(mean.variables) == 2


def test_kinds_of_accuracy(eager):
    one_hot = tf.constant([[0.0, 1.0], [1.0, 0.0]])
    scores = tf.constant([[0.2, 0.8], [0.1, 0.9]])
    cases = (
        (metrics.Accuracy(), tf.constant([1, 2, 3]), tf.constant([1, 2, 4]), 2 / 3),
        (metrics.CategoricalAccuracy(), one_hot, scores, 0.5),
        (metrics.SparseAccuracy(), tf.constant([1, 1]), scores, 1.0),
        (metrics.BinaryAccuracy(0.5), tf.constant([0.0, 1.0]), tf.constant([0.7, 0.6]), 0.5),
    )
    for metric, labels, predictions, expected in cases:
        metric(labels, predictions)
        assert metric.result().numpy() == pytest.approx(expected)


def test_metrics_of_one_kind_are_added_up(eager):
    total, part = metrics.Mean(), metrics.Mean()
    total(1.0)
    part([2.0, 3.0])
    total.aggregate([part])
    assert total.result().numpy() == 2.0
    with pytest.raises(TypeError, match="All metrics must be the same type"):
        total.aggregate([metrics.Accuracy()])


def test_variables_are_made_when_it_is_built_only(eager):
    mean = metrics.Mean()
    mean(1.0)
    with pytest.raises(RuntimeError, match="except in build"):
        mean.add_variable("more")


def test_in_a_graph_a_call_is_an_operation():
    with tf.Graph().as_default(), tf.Session() as session:
        mean = metrics.Mean()
        x = tf.placeholder(tf.float32, [None])
        update, result = mean(x), mean.result()
        session.run(mean.init_variables())
        session.run(update, {x: [1.0, 3.0]})
        session.run(update, {x: [5.0]})
        assert session.run(result) == 3.0
