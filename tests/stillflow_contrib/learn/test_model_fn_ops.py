"""Results of a model function of `tf.contrib.learn` for each mode."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow_contrib.learn.keys import PredictionKey, ProblemType
from stillflow_contrib.learn.mode_keys import ModeKeys
from stillflow_contrib.learn.model_fn_ops import ModelFnOps


def test_a_loss_of_one_element_becomes_a_scalar() -> None:
    with tf.Graph().as_default():
        found = ModelFnOps(ModeKeys.EVAL, predictions=[1.0], loss=tf.constant([[2.0]]))
        assert found.loss.shape == []
        assert found.eval_metric_ops == {}
        with pytest.raises(ValueError, match="Loss must be scalar"):
            ModelFnOps(ModeKeys.EVAL, predictions=[1.0], loss=tf.constant([1.0, 2.0]))


@pytest.mark.parametrize(
    ("mode", "lack"),
    [(ModeKeys.TRAIN, "train_op"), (ModeKeys.EVAL, "loss"), (ModeKeys.INFER, "predictions")],
)
def test_what_a_mode_needs(mode: str, lack: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=f"Missing {lack}"):
        ModelFnOps(mode)


def test_the_same_for_the_core_estimator() -> None:
    with tf.Graph().as_default():
        outputs = {PredictionKey.SCORES: tf.constant([1.0])}
        found = ModelFnOps(
            ModeKeys.INFER, predictions=outputs,
            output_alternatives={"head": (ProblemType.LINEAR_REGRESSION, outputs)},
        )  # fmt: skip
        spec = found.estimator_spec()
        assert spec.mode == tf.estimator.ModeKeys.PREDICT
        assert spec.export_outputs["head"].value is outputs[PredictionKey.SCORES]


def test_a_hook_must_be_one() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match="SessionRunHook"):
        ModelFnOps(ModeKeys.INFER, predictions=[1.0], training_hooks=["none"])
