"""Hooks that stop training when evaluations say so."""

from __future__ import annotations

import operator
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import stillflow as tf
from stillflow.files import gfile
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.platform import tf_logging as logging
from stillflow.summary.writer import summary_iterator
from stillflow.train.global_step import get_global_step
from stillflow.train.hook_timer import SecondOrStepTimer
from stillflow.train.session_run_hook import SessionRunArgs, SessionRunHook

_EVENT_FILES = "events.out.tfevents.*"


@export("estimator.experimental.make_early_stopping_hook")
def make_early_stopping_hook(
    estimator: Any,
    should_stop_fn: Callable[[], bool],
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Return a hook that stops training, on all workers, when a function says so.

    Args:
      estimator: whose training it is.
      should_stop_fn: asked by the chief.
      run_every_secs: how often; or
      run_every_steps: after how many steps.

    Raises:
      TypeError: if the estimator is none, or the function no function.
      ValueError: if both ways to say how often are given.
    """
    from stillflow.estimator.estimator import Estimator

    if not isinstance(estimator, Estimator):
        raise TypeError(
            f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}"
        )
    if run_every_secs is not None and run_every_steps is not None:
        raise ValueError("Only one of `run_every_secs` and `run_every_steps` must be set.")
    if estimator.config.is_chief:
        return _StopOnPredicateHook(should_stop_fn, run_every_secs, run_every_steps)
    return _CheckForStoppingHook()


def read_eval_metrics(eval_dir: str) -> OrderedDict[int, dict[str, float]]:
    """Return the numbers in event files of evaluations, in a folder, by step and name."""
    metrics: dict[int, dict[str, float]] = {}
    for event in _events(eval_dir):
        found = {
            value.tag: value.simple_value
            for value in event.summary.value
            if value.HasField("simple_value")
        }
        if found:
            metrics.setdefault(event.step, {}).update(found)
    return OrderedDict(sorted(metrics.items()))


def _events(eval_dir: str) -> Iterator[Any]:
    if gfile.file_exists(eval_dir):
        for path in gfile.get_matching_files(os.path.join(eval_dir, _EVENT_FILES)):
            yield from summary_iterator(path)


def _since(eval_dir: str, metric_name: str, min_steps: int) -> Iterator[tuple[int, float]]:
    """Yield the evaluated steps from one on, with the value of a metric."""
    for step, metrics in read_eval_metrics(eval_dir).items():
        if step >= min_steps:
            yield step, metrics[metric_name]


def _when_crossed(
    estimator: Any, metric_name: str, threshold: float, higher: bool, eval_dir: str | None,
    min_steps: int, run_every_secs: float | None, run_every_steps: int | None,
) -> SessionRunHook:  # fmt: skip
    folder = estimator.eval_dir() if eval_dir is None else eval_dir
    crossed = operator.gt if higher else operator.lt

    def should_stop() -> bool:
        for step, value in _since(folder, metric_name, min_steps):
            if crossed(value, threshold):
                logging.info(
                    'At step %s, metric "%s" has value %s which is %s the configured threshold '
                    "(%s) for early stopping.", step, metric_name, value,
                    "greater than" if higher else "less than", threshold,
                )  # fmt: skip
                return True
        return False

    return make_early_stopping_hook(estimator, should_stop, run_every_secs, run_every_steps)


def _when_at_rest(
    estimator: Any, metric_name: str, patience: int, higher: bool, eval_dir: str | None,
    min_steps: int, run_every_secs: float | None, run_every_steps: int | None,
) -> SessionRunHook:  # fmt: skip
    folder = estimator.eval_dir() if eval_dir is None else eval_dir
    better = operator.gt if higher else operator.lt

    def should_stop() -> bool:
        best: Any = None
        best_step = 0
        for step, value in _since(folder, metric_name, min_steps):
            if best is None or better(value, best):
                best, best_step = value, step
            if step - best_step >= patience:
                logging.info(
                    'No %s in metric "%s" for %s steps, which is greater than or equal to max '
                    "steps (%s) configured for early stopping.",
                    "increase" if higher else "decrease", metric_name, step - best_step, patience,
                )  # fmt: skip
                return True
        return False

    return make_early_stopping_hook(estimator, should_stop, run_every_secs, run_every_steps)


@export("estimator.experimental.stop_if_higher_hook")
def stop_if_higher_hook(
    estimator: Any, metric_name: str, threshold: float, eval_dir: str | None = None,
    min_steps: int = 0, run_every_secs: float | None = 60, run_every_steps: int | None = None,
) -> SessionRunHook:  # fmt: skip
    """Return a hook that stops training when a metric of an evaluation is above a threshold.

    Args:
      estimator: whose training it is.
      metric_name: of the metric.
      threshold: of it.
      eval_dir: the folder of the evaluations' event files; the estimator's by default.
      min_steps: evaluations of earlier steps do not count.
      run_every_secs, run_every_steps: how often event files are read.
    """
    return _when_crossed(
        estimator, metric_name, threshold, True, eval_dir, min_steps, run_every_secs,
        run_every_steps,
    )  # fmt: skip


@export("estimator.experimental.stop_if_lower_hook")
def stop_if_lower_hook(
    estimator: Any, metric_name: str, threshold: float, eval_dir: str | None = None,
    min_steps: int = 0, run_every_secs: float | None = 60, run_every_steps: int | None = None,
) -> SessionRunHook:  # fmt: skip
    """Return a hook that stops training when a metric is below a threshold.

    See `stop_if_higher_hook`.
    """
    return _when_crossed(
        estimator, metric_name, threshold, False, eval_dir, min_steps, run_every_secs,
        run_every_steps,
    )  # fmt: skip


@export("estimator.experimental.stop_if_no_increase_hook")
def stop_if_no_increase_hook(
    estimator: Any, metric_name: str, max_steps_without_increase: int,
    eval_dir: str | None = None, min_steps: int = 0, run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:  # fmt: skip
    """Return a hook that stops training when a metric has not risen for so many steps.

    Args:
      max_steps_without_increase: how many.
      estimator, metric_name, ...: as of `stop_if_higher_hook`.
    """
    return _when_at_rest(
        estimator, metric_name, max_steps_without_increase, True, eval_dir, min_steps,
        run_every_secs, run_every_steps,
    )  # fmt: skip


@export("estimator.experimental.stop_if_no_decrease_hook")
def stop_if_no_decrease_hook(
    estimator: Any, metric_name: str, max_steps_without_decrease: int,
    eval_dir: str | None = None, min_steps: int = 0, run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:  # fmt: skip
    """Return a hook that stops training when a metric has not fallen for so many steps.

    Args:
      max_steps_without_decrease: how many.
      estimator, metric_name, ...: as of `stop_if_higher_hook`.
    """
    return _when_at_rest(
        estimator, metric_name, max_steps_without_decrease, False, eval_dir, min_steps,
        run_every_secs, run_every_steps,
    )  # fmt: skip


def _stop_variable() -> Any:
    """Return the variable by which the chief tells other workers to stop."""
    with tf.variable_scope("signal_early_stopping", values=[], reuse=tf.AUTO_REUSE):
        return tf.get_variable(
            "STOP", shape=[], dtype=tf.bool, initializer=tf.constant_initializer(False),
            collections=[GraphKeys.GLOBAL_VARIABLES], trainable=False,
        )  # fmt: skip


class _StopOnPredicateHook(SessionRunHook):
    """Hook that calls a predicate now and then, and tells all workers to stop if it is True."""

    def __init__(
        self, should_stop_fn: Callable[[], bool], run_every_secs: float | None = 60,
        run_every_steps: int | None = None,
    ) -> None:  # fmt: skip
        if not callable(should_stop_fn):
            raise TypeError("`should_stop_fn` must be callable.")
        self._should_stop_fn = should_stop_fn
        self._timer = SecondOrStepTimer(every_secs=run_every_secs, every_steps=run_every_steps)

    def begin(self) -> None:
        self._global_step = get_global_step()
        self._stop_op = tf.assign(_stop_variable(), True)

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        step = run_values.results
        if not self._timer.should_trigger_for_step(step):
            return
        self._timer.update_last_triggered_step(step)
        if self._should_stop_fn():
            logging.info("Requesting early stopping at global step %d", step)
            run_context.session.run(self._stop_op)
            run_context.request_stop()


class _CheckForStoppingHook(SessionRunHook):
    """Hook that stops when the chief does."""

    def begin(self) -> None:
        self._stop = _stop_variable()

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs(self._stop)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if run_values.results:
            logging.info("Early stopping requested, suspending run.")
            run_context.request_stop()
