"""Hooks that stop training, and evaluate in its midst."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.estimator.early_stopping import read_eval_metrics
from stillflow.estimator.last_step import _StopAtCheckpointStepHook

X = np.arange(8, dtype=np.float32)[:, None]


def input_fn():
    data = tf.data.Dataset.from_tensor_slices(({"x": X}, 2 * X))
    return data.repeat().batch(4)


def model(folder):
    columns = [tf.feature_column.numeric_column("x")]
    return tf.estimator.LinearRegressor(columns, model_dir=str(folder))


def test_training_stops_once_an_evaluation_is_good_enough(tmp_path):
    estimator = model(tmp_path)
    hook = tf.estimator.experimental.stop_if_lower_hook(
        estimator, "loss", 1e9, run_every_secs=None, run_every_steps=1
    )
    estimator.train(input_fn, steps=5, hooks=[hook])
    assert estimator.get_variable_value("global_step") == 5
    estimator.evaluate(input_fn, steps=1)
    estimator.train(input_fn, steps=5, hooks=[hook])
    assert estimator.get_variable_value("global_step") == 6


def test_metrics_are_read_by_step(tmp_path):
    estimator = model(tmp_path)
    for _ in range(2):
        estimator.train(input_fn, steps=3)
        estimator.evaluate(input_fn, steps=1)
    metrics = read_eval_metrics(estimator.eval_dir())
    assert list(metrics) == [3, 6]
    assert metrics[6]["loss"] < metrics[3]["loss"]
    assert not read_eval_metrics(str(tmp_path / "nothing"))


def test_evaluations_see_the_variables_of_the_moment(tmp_path):
    estimator = model(tmp_path)
    hook = tf.estimator.experimental.InMemoryEvaluatorHook(
        estimator, input_fn, steps=2, every_n_iter=4
    )
    estimator.train(input_fn, max_steps=8, hooks=[hook])
    losses = [metrics["loss"] for metrics in read_eval_metrics(estimator.eval_dir()).values()]
    assert len(losses) == 3
    assert losses == sorted(losses, reverse=True)


def test_workers_wait_for_the_last_checkpoint(tmp_path):
    estimator = model(tmp_path)
    estimator.train(input_fn, steps=3)
    hook = _StopAtCheckpointStepHook(str(tmp_path), 3, wait_after_file_check_secs=0)
    estimator.train(input_fn, steps=9, hooks=[hook])
    assert estimator.get_variable_value("global_step") == 4
    with pytest.raises(ValueError, match="last_step must be specified"):
        _StopAtCheckpointStepHook(str(tmp_path), None)
