"""EstimatorSpec: its arguments for each mode, and its errors."""

from __future__ import annotations

import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own

TRAIN, EVAL, PREDICT = "train", "eval", "infer"


def foreign():
    with tf.Graph().as_default():
        return tf.constant(1.0)


BAD = [
    (lambda: {"mode": TRAIN, "loss": tf.constant(1.0)}, ValueError, "Missing train_op"),
    (lambda: {"mode": TRAIN, "train_op": tf.no_op()}, ValueError, "Missing loss"),
    (lambda: {"mode": EVAL}, ValueError, "Missing loss"),
    (lambda: {"mode": PREDICT}, ValueError, "Missing predictions"),
    (lambda: {"mode": EVAL, "loss": 1.0}, TypeError, "loss must be Tensor"),
    (lambda: {"mode": EVAL, "loss": tf.zeros([2])}, ValueError, "Loss must be scalar"),
    (lambda: {"mode": EVAL, "loss": foreign()}, ValueError, "must be from the default graph"),
    (
        lambda: {"mode": TRAIN, "loss": tf.zeros([]), "train_op": "op"},
        TypeError, "train_op must be Operation or Tensor",
    ),
    (lambda: {"mode": PREDICT, "predictions": {"a": 1}}, TypeError, "must be Tensor"),
    (
        lambda: {"mode": EVAL, "loss": tf.zeros([]), "eval_metric_ops": {"a": 1}},
        TypeError, "must be .metric_value, update_op. tuples",
    ),
    (
        lambda: {"mode": EVAL, "loss": tf.zeros([]), "eval_metric_ops": []},
        TypeError, "eval_metric_ops must be a dict",
    ),
    (
        lambda: {"mode": EVAL, "loss": tf.zeros([]), "evaluation_hooks": [1]},
        TypeError, "All hooks must be SessionRunHook instances",
    ),
    (
        lambda: {"mode": EVAL, "loss": tf.zeros([]), "scaffold": 1},
        TypeError, r"scaffold must be tf\.train\.Scaffold",
    ),
    (
        lambda: {"mode": PREDICT, "predictions": tf.zeros([1]), "export_outputs": {"a": 1}},
        TypeError, "must be ExportOutput objects",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "error", "message"), BAD)
def test_refuses(arguments, error, message):
    with pytest.raises(error, match=message):
        tf.estimator.EstimatorSpec(**arguments())


def test_a_loss_of_one_element_becomes_a_scalar():
    spec = tf.estimator.EstimatorSpec(EVAL, loss=tf.zeros([1, 1]))
    assert spec.loss.shape == []


def test_one_output_is_the_default_one_and_of_several_one_must_be():
    value = tf.zeros([1])
    output = tf.estimator.export.PredictOutput(value)
    spec = tf.estimator.EstimatorSpec(PREDICT, value, export_outputs={"a": output})
    assert spec.export_outputs == {"a": output, "serving_default": output}
    with pytest.raises(ValueError, match="none of them is specified as the default"):
        tf.estimator.EstimatorSpec(PREDICT, value, export_outputs={"a": output, "b": output})


def test_a_copy_keeps_the_mode():
    spec = tf.estimator.EstimatorSpec(EVAL, loss=tf.zeros([]))
    assert spec._replace(loss=tf.ones([])).loss is not spec.loss
    with pytest.raises(ValueError, match="mode of EstimatorSpec cannot be changed"):
        spec._replace(mode=TRAIN)


def test_outputs_refuse_tensors_of_other_types():
    outputs = tf.estimator.export
    for make in (
        lambda: outputs.ClassificationOutput(),
        lambda: outputs.ClassificationOutput(scores=tf.constant(1)),
        lambda: outputs.ClassificationOutput(classes=tf.constant(1)),
        lambda: outputs.RegressionOutput(tf.constant(1)),
        lambda: outputs.PredictOutput(1.0),
        lambda: outputs.PredictOutput({1: tf.constant(1)}),
    ):
        with pytest.raises(ValueError, match=r"must be|At least one"):
            make()
