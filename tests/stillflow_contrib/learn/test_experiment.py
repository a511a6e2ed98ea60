"""An experiment trains, evaluates and exports; a runner picks its schedule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow_contrib.learn import learn_runner
from stillflow_contrib.learn.estimator import Estimator
from stillflow_contrib.learn.experiment import Experiment
from stillflow_contrib.learn.export_strategy import ExportStrategy
from stillflow_contrib.learn.run_config import RunConfig


def _model(features: Any, labels: Any, mode: str) -> Any:
    weight = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(weight * features - labels))
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    return features * weight, loss, optimizer.minimize(loss, tf.train.get_global_step())


def _input() -> tuple[Any, Any]:
    return tf.constant([1.0, 2.0]), tf.constant([2.0, 4.0])


def _experiment(run_config: Any, hparams: Any = None, **given: Any) -> Experiment:
    estimator = Estimator(_model, config=run_config)
    return Experiment(estimator, _input, _input, train_steps=4, eval_steps=1, **given)


def test_it_trains_evaluates_and_exports(tmp_path: Path) -> None:
    def export(estimator: Any, path: bytes, checkpoint_path: Any, eval_result: Any) -> Any:
        return path, eval_result["global_step"]

    experiment = _experiment(
        RunConfig(model_dir=str(tmp_path)), export_strategies=ExportStrategy("mine", export)
    )
    result, exported = experiment.train_and_evaluate()
    assert result["global_step"] == 4
    # Each step halves the distance of the weight, at first 0, from 2.
    np.testing.assert_allclose(result["loss"], 2.5 * (2 * 0.5**4) ** 2, rtol=1e-5)
    assert exported == [(bytes(tmp_path / "export" / "mine"), 4)]


def test_continuous_evaluation_ends_with_training(tmp_path: Path) -> None:
    experiment = _experiment(RunConfig(model_dir=str(tmp_path)))
    experiment.train()
    experiment.continuous_eval(delay_secs=0, throttle_delay_secs=0)
    assert list((tmp_path / "eval_continuous").glob("events*"))


def test_training_and_evaluation_in_turn(tmp_path: Path) -> None:
    experiment = _experiment(RunConfig(model_dir=str(tmp_path)), train_steps_per_iteration=2)
    result, _ = experiment.continuous_train_and_eval()
    assert result["global_step"] == 4


def test_what_is_no_estimator_is_refused() -> None:
    with pytest.raises(ValueError, match="must implement"):
        Experiment("none", _input, _input)


def test_a_process_on_its_own_trains_and_evaluates(tmp_path: Path) -> None:
    config = RunConfig(model_dir=str(tmp_path))
    result, _ = learn_runner.run(_experiment, run_config=config)
    assert result["global_step"] == 4


def test_other_settings_than_those_of_the_estimator_are_refused(tmp_path: Path) -> None:
    def build(run_config: Any, hparams: Any) -> Experiment:
        return _experiment(RunConfig(model_dir=str(tmp_path / "other")))

    with pytest.raises(RuntimeError, match="is expected to be used by the `Estimator`"):
        learn_runner.run(build, run_config=RunConfig(model_dir=str(tmp_path)))


@pytest.mark.parametrize(
    ("job", "schedule"),
    [("master", "train_and_evaluate"), ("worker", "train"), ("ps", "run_std_server")],
)
def test_the_schedule_of_a_task(
    job: str, schedule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = {name: ["localhost:1"] for name in ("master", "worker", "ps")}
    settings = {"cluster": cluster, "task": {"type": job, "index": 0}, "environment": "cloud"}
    monkeypatch.setenv("TF_CONFIG", json.dumps(settings))
    monkeypatch.setattr(Experiment, schedule, lambda self: schedule)
    config = RunConfig(model_dir=str(tmp_path))
    assert learn_runner.run(_experiment, run_config=config) == schedule


def test_a_schedule_that_is_none(tmp_path: Path) -> None:
    config = RunConfig(model_dir=str(tmp_path))
    with pytest.raises(ValueError, match="non-existent task nothing"):
        learn_runner.run(_experiment, run_config=config, schedule="nothing")
    with pytest.raises(TypeError, match="non-callable member train_steps"):
        learn_runner.run(_experiment, run_config=config, schedule="train_steps")
