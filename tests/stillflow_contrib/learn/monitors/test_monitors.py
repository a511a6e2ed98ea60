"""Monitors in a session: what they fetch, keep and write, and when they end training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow_contrib.learn.monitors.base import BaseMonitor
from stillflow_contrib.learn.monitors.hooks import (
    RunHookAdapterForMonitors,
    replace_monitors_with_hooks,
)
from stillflow_contrib.learn.monitors.validation import ValidationMonitor
from stillflow_contrib.learn.monitors.watching import (
    CaptureVariable,
    GraphDump,
    NanLoss,
    NanLossDuringTrainingError,
    StopAtStep,
)
from stillflow_contrib.learn.monitors.writing import CheckpointSaver, StepCounter, SummarySaver


def _train(monitors: list[Any], steps: int = 100) -> int:
    """Add 2 to the variable `total` at every step; return how many steps were made."""
    total = tf.get_variable("total", initializer=0.0)
    step = tf.train.get_or_create_global_step()
    train = tf.group(tf.assign_add(total, 2.0), tf.assign_add(step, 1))
    made = 0
    with tf.train.MonitoredSession(hooks=[RunHookAdapterForMonitors(monitors)]) as session:
        while not session.should_stop() and made < steps:
            session.run(train)
            made += 1
    return made


def test_a_variable_is_kept_at_the_first_step_and_every_third() -> None:
    with tf.Graph().as_default():
        capture = CaptureVariable("total:0", every_n=3, first_n=1)
        assert _train([capture, StopAtStep(num_steps=8)]) == 8
        assert sorted(capture.values) == [1, 4, 7]


def test_a_graph_dump_agrees_with_itself() -> None:
    with tf.Graph().as_default():
        dump = GraphDump(ignore_ops=["Const", "NoOp", "Assign"])
        _train([dump], steps=2)
        matched, differences = dump.compare(dump, 1)
        assert differences == {}
        assert len(matched) == len([name for name in dump.data[1] if isinstance(name, str)])


@pytest.mark.parametrize("fails", [True, False])
def test_a_loss_that_is_no_number_ends_training(fails: bool) -> None:
    with tf.Graph().as_default():
        monitor = NanLoss(tf.constant(np.nan), fail_on_nan_loss=fails)
        if fails:
            with pytest.raises(NanLossDuringTrainingError, match="NaN loss"):
                _train([monitor])
        else:
            assert _train([monitor]) == 1


def test_summaries_speed_and_checkpoints_are_written(tmp_path: Path) -> None:
    folder = str(tmp_path)
    with tf.Graph().as_default():
        saver = tf.train.Saver([tf.get_variable("other", initializer=1.0)])
        writer = tf.summary.FileWriterCache.get(folder)
        monitors = [
            SummarySaver(tf.summary.scalar("one", 1.0), 2, summary_writer=writer),
            StepCounter(every_n_steps=2, output_dir=folder),
            CheckpointSaver(folder, save_steps=4, saver=saver),
        ]
        _train(monitors, steps=6)
    tf.summary.FileWriterCache.clear()
    found = {
        value.tag
        for path in tmp_path.glob("events*")
        for event in tf.train.summary_iterator(str(path))
        for value in event.summary.value
    }
    assert found == {"one", "global_step/sec"}
    steps = {path.name.split(".")[1] for path in tmp_path.glob("model*.index")}
    assert steps == {"ckpt-1", "ckpt-5", "ckpt-6"}


class _Evaluated:
    """An estimator with given losses."""

    def __init__(self, folder: Path, losses: list[float]) -> None:
        self.model_dir = str(folder)
        self.losses = iter(losses)
        self.config = tf.estimator.RunConfig()

    def evaluate(self, **arguments: Any) -> dict[str, float]:
        return {"loss": next(self.losses)}


def test_training_ends_when_the_evaluation_gets_no_better(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        saver = tf.train.Saver([tf.get_variable("other", initializer=1.0)])
        validation = ValidationMonitor(
            input_fn=lambda: None,
            every_n_steps=1,
            early_stopping_rounds=2,
            check_interval_secs=None,
        )
        monitors = [CheckpointSaver(str(tmp_path), save_steps=1, saver=saver), validation]
        estimator = _Evaluated(tmp_path, [3.0, 1.0, 2.0, 2.0, 2.0])
        for monitor in monitors:
            monitor.set_estimator(estimator)
        assert _train(monitors) == 5
    assert validation.early_stopped
    assert (validation.best_step, validation.best_value) == (3, 1.0)
    assert validation.best_metrics == {"loss": 1.0}


def test_monitors_become_one_hook_after_the_others(tmp_path: Path) -> None:
    estimator = _Evaluated(tmp_path, [])
    hook = tf.train.StopAtStepHook(last_step=1)
    hooks = replace_monitors_with_hooks([BaseMonitor(), hook, BaseMonitor()], estimator)
    assert hooks[0] is hook
    assert isinstance(hooks[1], RunHookAdapterForMonitors)
    assert len(hooks) == 2


def test_methods_out_of_order_are_refused() -> None:
    monitor = BaseMonitor()
    with pytest.raises(ValueError, match="end called without begin"):
        monitor.end()
    monitor.begin(max_steps=3)
    with pytest.raises(ValueError, match="begin called twice"):
        monitor.begin()
    with pytest.raises(ValueError, match="Invalid step 4"):
        monitor.step_begin(4)
