"""tf.contrib.learn.Experiment: an estimator, its input, and schedules of training it."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillflow.contrib.framework.experimental import experimental
from stillflow.estimator.estimator import Estimator as CoreEstimator
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.platform import tf_logging as logging
from stillflow.train.checkpoint_management import latest_checkpoint
from stillflow.train.saving_hooks import CheckpointSaverHook, CheckpointSaverListener
from stillflow.train.server import Server
from stillflow.train.stopping_hooks import GlobalStepWaiterHook
from stillflow.util.function_utils import fn_args
from stillflow.util.notices import noticed
from stillflow_contrib.learn.cluster_config import Environment
from stillflow_contrib.learn.export_strategy import ExportStrategy
from stillflow_contrib.learn.interfaces import Evaluable, Trainable
from stillflow_contrib.learn.monitors.hooks import replace_monitors_with_hooks
from stillflow_contrib.learn.monitors.validation import ValidationMonitor
from stillflow_contrib.learn.run_config import RunConfig

if TYPE_CHECKING:
    from stillflow_contrib.learn.estimator import Estimator


_REMIND_SECS = 600  # how often it is logged that there is nothing to evaluate
_STEPS_PER_ITERATION = 1000
_LONGEST_DELAY, _DELAY_PER_TASK = 60, 5
_STEPS_PER_WORKER = 8000.0


class _EvaluatingListener(CheckpointSaverListener):
    """Listener that evaluates and exports each checkpoint when it is saved."""

    _latest_path: str | None = None
    eval_result: Any = None
    export_results: Any = None

    def __init__(self, eval_fn: Any, export_fn: Any, model_dir: str) -> None:
        self._eval_fn, self._export_fn = eval_fn, export_fn
        self._model_dir = model_dir

    def after_save(self, session: Any, global_step_value: Any) -> None:
        logging.info("Checking for checkpoint in %s", self._model_dir)
        found = latest_checkpoint(self._model_dir)
        if found and found != self._latest_path:
            self._latest_path, settings = found, {"checkpoint_path": found}
            self.eval_result = self._eval_fn(name="intermediate_export", **settings)
            self.export_results = self._export_fn(self.eval_result, **settings)
            return
        reason = f"due to same latest checkpoint {found}."
        if not found:
            reason = "and export since model has not been saved yet."
        logging.warning(f"Skipping evaluation {reason}")


@export("contrib.learn.Experiment")
class Experiment:
    """Experiment: trains, evaluates and exports an estimator, locally or in a cluster.

    Args:
      estimator: one of `tf.estimator`, or what is `Trainable` and `Evaluable`.
      train_input_fn: gives the input of training.
      eval_input_fn: gives the input of evaluations.
      eval_metrics: {name: `MetricSpec`}; not for estimators of `tf.estimator`.
      train_steps: the global step to end at; None for as long as there is input.
      eval_steps: over how many batches; None for all.
      train_monitors: monitors and hooks of training.
      eval_hooks: `SessionRunHook`s of evaluations.
      local_eval_frequency: how often `local_run` evaluates, in steps.
      eval_delay_secs: how long an evaluation waits before it starts.
      continuous_eval_throttle_secs: how far continuous evaluations are apart at least.
      min_eval_frequency: how often `train_and_evaluate` looks for a checkpoint, in steps; 0 for
        an evaluation at the end only.
      delay_workers_by_global_step: whether workers start by the global step, or by time.
      export_strategies: an `ExportStrategy`, or several.
      train_steps_per_iteration: how many steps `continuous_train_and_eval` makes in between.
      checkpoint_and_export: whether each checkpoint is exported.
      saving_listeners: `CheckpointSaverListener`s; for estimators of `tf.estimator` only.
      check_interval_secs: how often a checkpoint is looked for at most.

    Raises:
      ValueError: if an argument is not for this estimator, or of another type.
    """

    @noticed("contrib.learn.Experiment")
    def __init__(
        self, estimator: Any, train_input_fn: Any, eval_input_fn: Any, eval_metrics: Any = None,
        train_steps: int | None = None, eval_steps: int | None = 100, train_monitors: Any = None,
        eval_hooks: Any = None, local_eval_frequency: int | None = None,
        eval_delay_secs: float = 120, continuous_eval_throttle_secs: float = 60,
        min_eval_frequency: int | None = None, delay_workers_by_global_step: bool = False,
        export_strategies: Any = None, train_steps_per_iteration: int | None = None,
        checkpoint_and_export: bool = False, saving_listeners: Any = None,
        check_interval_secs: float | None = 5,
    ) -> None:  # fmt: skip
        self._core_estimator_used = isinstance(estimator, CoreEstimator)
        _check(estimator, eval_metrics, saving_listeners)
        self._estimator = estimator
        self._train_input_fn = train_input_fn
        self._eval_input_fn = eval_input_fn
        self._eval_metrics = eval_metrics
        self._train_steps = train_steps
        self._eval_steps = eval_steps
        self._local_eval_frequency = local_eval_frequency
        self._eval_delay_secs = eval_delay_secs
        self._continuous_eval_throttle_secs = continuous_eval_throttle_secs
        self._checkpoint_and_export = checkpoint_and_export
        self._saving_listeners = saving_listeners
        self._min_eval_frequency = 1 if min_eval_frequency is None else min_eval_frequency
        self._check_interval_secs = check_interval_secs
        self._delay_workers_by_global_step = delay_workers_by_global_step
        self._train_monitors = list(train_monitors or ())
        self._eval_hooks = list(eval_hooks or ())
        self._export_strategies = _strategies(export_strategies)
        per_iteration = train_steps_per_iteration
        if per_iteration is not None and not isinstance(per_iteration, int):
            raise ValueError("`train_steps_per_iteration` must be an integer.")
        self._train_steps_per_iteration = per_iteration

    @property
    def estimator(self) -> Estimator:
        """The estimator."""
        return self._estimator

    @property
    def eval_metrics(self) -> Any:
        """The metrics of evaluations."""
        return self._eval_metrics

    @property
    def train_steps(self) -> int | None:
        """The global step to end at."""
        return self._train_steps

    @property
    def eval_steps(self) -> int | None:
        """Over how many batches an evaluation runs."""
        return self._eval_steps

    def extend_train_hooks(self, additional_hooks: Any) -> None:
        """Add monitors and hooks of training."""
        self._train_monitors.extend(additional_hooks)

    def reset_export_strategies(
        self, new_export_strategies: Any = None
    ) -> tuple[ExportStrategy, ...]:
        """Replace the strategies of exports; return those before."""
        before = self._export_strategies
        self._export_strategies = _strategies(new_export_strategies)
        return before

    def train(self, delay_secs: float | None = None) -> Estimator:
        """Trains; as a task of a cluster, after `delay_secs`, or later the higher its index.

        Raises:
          ValueError: if there is a cluster, and the settings are not of `tf.contrib.learn`.
        """
        config = self._estimator.config
        if not isinstance(config, RunConfig):
            if config.cluster_spec and config.master:
                raise ValueError(
                    "For distributed runtime, Experiment class only works with "
                    f"tf.contrib.learn.RunConfig for now, but provided {type(config)}"
                )
        elif config.cluster_spec and config.master:
            if config.environment == Environment.LOCAL:
                logging.warn(
                    "ClusterSpec and master are provided, but environment is set to 'local'. Set "
                    "environment to 'cloud' if you intend to use the distributed runtime."
                )
            elif config.environment != Environment.GOOGLE:
                self._start_server()
        hooks = []
        if delay_secs is None:
            task = config.task_id or 0
            if self._delay_workers_by_global_step:
                hooks.append(GlobalStepWaiterHook(int(_STEPS_PER_WORKER * math.log(task + 1))))
                delay_secs = 0
            else:
                delay_secs = min(_LONGEST_DELAY, task * _DELAY_PER_TASK)
        if delay_secs > 0:
            logging.info("Waiting %d secs before starting training.", delay_secs)
            time.sleep(delay_secs)
        return self._call_train(max_steps=self._train_steps, hooks=[*self._train_monitors, *hooks])

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> Any:
        """Evaluate the latest checkpoint, after a delay; return {metric: value}."""
        self._wait(delay_secs)
        return self._call_evaluate(name=name or "one_pass")

    def _wait(self, delay_secs: float | None) -> None:
        delay_secs = self._eval_delay_secs if delay_secs is None else delay_secs
        if delay_secs:
            logging.info("Waiting %f secs before starting eval.", delay_secs)
            time.sleep(delay_secs)

    @noticed("contrib.learn.Experiment")
    def local_run(self) -> tuple[Any, Any]:
        """Train and evaluate like `train_and_evaluate`, every `local_eval_frequency` steps."""
        before = self._min_eval_frequency
        self._min_eval_frequency = self._local_eval_frequency or 0
        try:
            return self.train_and_evaluate()
        finally:
            self._min_eval_frequency = before

    def continuous_eval(
        self, delay_secs: float | None = None, throttle_delay_secs: float | None = None,
        evaluate_checkpoint_only_once: bool = True, continuous_eval_predicate_fn: Any = None,
        name: str = "continuous",
    ) -> None:  # fmt: skip
        """Evaluate and exports new checkpoints until training or the predicate ends it."""
        self._continuous_eval(
            self._eval_input_fn, name, delay_secs, throttle_delay_secs,
            evaluate_checkpoint_only_once, continuous_eval_predicate_fn,
        )  # fmt: skip

    def continuous_eval_on_train_data(
        self, delay_secs: float | None = None, throttle_delay_secs: float | None = None,
        continuous_eval_predicate_fn: Any = None, name: str = "continuous_on_train_data",
    ) -> None:  # fmt: skip
        """Evaluate like `continuous_eval` with the input of training, without exports."""
        self._continuous_eval(
            self._train_input_fn, name, delay_secs, throttle_delay_secs,
            predicate=continuous_eval_predicate_fn, exports=False,
        )  # fmt: skip

    def _continuous_eval(
        self, input_fn: Any, name: str, delay_secs: float | None, throttle: float | None,
        only_once: bool = True, predicate: Any = None, exports: bool = True,
    ) -> None:  # fmt: skip
        goes_on = _predicate(predicate)
        throttle = self._continuous_eval_throttle_secs if throttle is None else throttle
        self._wait(delay_secs)
        previous, result, warned = None, None, 0.0
        while goes_on(result, previous):
            if self._has_training_stopped(result):
                logging.info("Exiting continuous eval, train_step=%s", self._train_steps)
                return
            start = time.time()
            path = latest_checkpoint(self._estimator.model_dir)
            if path and not (only_once and path == previous):
                result = self._call_evaluate(
                    input_fn=input_fn, name=name, checkpoint_path=path
                ) or {}  # fmt: skip
                if exports:
                    self._maybe_export(result, checkpoint_path=path)
                previous, warned = path, 0.0
            else:
                result = {}
                if start - warned > _REMIND_SECS:
                    logging.warning(
                        "No new checkpoint ready for evaluation." if path else
                        "Estimator is not fitted yet. Will start an evaluation when a checkpoint "
                        "is ready."
                    )  # fmt: skip
                    warned = start
            rest = throttle - (time.time() - start)
            if rest > 0:
                logging.info("Waiting %f secs before starting next eval run.", rest)
                time.sleep(rest)

    def _has_training_stopped(self, eval_result: Any) -> bool:
        step = (eval_result or {}).get(GraphKeys.GLOBAL_STEP)
        return bool(step and self._train_steps and step >= self._train_steps)

    def train_and_evaluate(self) -> tuple[Any, Any]:
        """Trains, evaluates in between and at the end, and exports.

        Returns:
          {metric: value} of the last evaluation, and what the exports returned.
        """
        config, model_dir = self._estimator.config, self._estimator.model_dir
        secs, steps = config.save_checkpoints_secs, config.save_checkpoints_steps
        before = self._train_monitors
        listener = None
        if self._checkpoint_and_export and (secs or steps):
            listener = _EvaluatingListener(self._call_evaluate, self._maybe_export, model_dir)
            saver: Any = CheckpointSaverHook(
                model_dir, save_secs=secs, save_steps=steps, listeners=[listener]
            )
            self._train_monitors = [*before, saver]
        elif self._min_eval_frequency:
            validation = ValidationMonitor(
                input_fn=self._eval_input_fn, eval_steps=self._eval_steps,
                metrics=self._eval_metrics, every_n_steps=self._min_eval_frequency,
                check_interval_secs=self._check_interval_secs, hooks=self._eval_hooks,
            )  # fmt: skip
            self._train_monitors = [*before, validation]
        try:
            self.train(delay_secs=0)
        finally:
            self._train_monitors = before
        if listener is not None:
            return listener.eval_result, listener.export_results
        result = self._call_evaluate()
        return result, self._maybe_export(result)

    @experimental
    def continuous_train_and_eval(
        self, continuous_eval_predicate_fn: Any = None
    ) -> tuple[Any, list[Any] | None]:
        """Trains and evaluates in turn until `train_steps` or the predicate ends it.

        Returns:
          {metric: value} of the last evaluation, and what the exports returned.
        """
        goes_on = _predicate(continuous_eval_predicate_fn)
        steps = self._train_steps_per_iteration
        if steps is None:
            whole = self._train_steps
            steps = _STEPS_PER_ITERATION if whole is None else int(whole / 10)
        result, exported, path = None, None, None
        while goes_on(result, path if result else None):
            if self._has_training_stopped(result):
                logging.info("Stop training model as max steps reached")
                break
            logging.info("Training model for %s steps", steps)
            self._call_train(steps=steps, hooks=self._train_monitors)
            logging.info("Evaluating model now.")
            path = latest_checkpoint(self._estimator.model_dir)
            result = self._call_evaluate(name="one_pass", checkpoint_path=path)
            exported = self._maybe_export(result)
        return result, exported

    def _maybe_export(self, eval_result: Any, checkpoint_path: Any = None) -> list[Any]:
        base = os.path.join(os.fsencode(self._estimator.model_dir), b"export")
        return [
            strategy.export(
                self._estimator, os.path.join(base, os.fsencode(strategy.name)),
                checkpoint_path=checkpoint_path, eval_result=eval_result,
            )
            for strategy in self._export_strategies
        ]  # fmt: skip

    def run_std_server(self) -> None:
        """Serve this task of the cluster, forever."""
        self._start_server().join()

    def test(self) -> Any:
        """Trains one step, evaluates one batch and exports; returns {metric: value}."""
        self._call_train(steps=1, hooks=self._train_monitors)
        result = self._estimator_evaluate(
            input_fn=self._eval_input_fn, steps=1, name="one_pass", checkpoint_path=None, hooks=None
        )
        self._maybe_export(result)
        return result

    def _start_server(self) -> Server:
        config = self._estimator.config
        if not (config.cluster_spec and config.task_type and config.master) or (
            config.task_id is None
        ):
            raise ValueError(
                "Could not start server; be sure to specify cluster_spec, task_type, master, and "
                "task in RunConfig or set the TF_CONFIG environment variable."
            )
        server = Server(
            config.cluster_spec, job_name=config.task_type, task_index=config.task_id,
            config=config.tf_config, start=False,
        )  # fmt: skip
        server.start()
        return server

    def _call_train(
        self, hooks: Any, steps: int | None = None, max_steps: int | None = None
    ) -> Estimator:
        hooks = replace_monitors_with_hooks(hooks, self._estimator)
        arguments = {"input_fn": self._train_input_fn, "steps": steps, "max_steps": max_steps}
        if self._core_estimator_used:
            return self._estimator.train(
                hooks=hooks, saving_listeners=self._saving_listeners, **arguments
            )
        return self._estimator.fit(monitors=hooks, **arguments)

    def _call_evaluate(
        self, input_fn: Any = None, name: str | None = None, checkpoint_path: Any = None
    ) -> dict[str, Any]:
        return self._estimator_evaluate(
            input_fn=input_fn or self._eval_input_fn, steps=self._eval_steps, name=name,
            checkpoint_path=checkpoint_path, hooks=self._eval_hooks,
        )  # fmt: skip

    def _estimator_evaluate(self, **arguments: Any) -> dict[str, Any]:
        if not self._core_estimator_used:
            arguments["metrics"] = self._eval_metrics
        return self._estimator.evaluate(**arguments)


def _check(estimator: Any, eval_metrics: Any, saving_listeners: Any) -> None:
    if isinstance(estimator, CoreEstimator):
        if eval_metrics is not None:
            raise ValueError(
                "`eval_metrics` must be `None` with `tf.estimator.Estimator`. Use "
                "`eval_metric_ops` in `tf.estimator.EstimatorSpec` instead."
            )
        return
    if not isinstance(estimator, Evaluable):
        raise ValueError(
            "`estimator` must implement `tf.contrib.learn.Evaluable` or `tf.estimator.Estimator`."
        )
    if not isinstance(estimator, Trainable):
        raise ValueError(
            "`estimator` must implement `tf.contrib.learn.Trainable`or `tf.estimator.`Estimator`."
        )
    if saving_listeners is not None:
        raise ValueError("`saving_listeners` must be `None` with `tf.contrib.learn.Estimator`.")


def _strategies(given: Any) -> tuple[ExportStrategy, ...]:
    strategies = (given,) if isinstance(given, ExportStrategy) else tuple(given or ())
    for strategy in strategies:
        if not isinstance(strategy, ExportStrategy):
            raise ValueError(
                "`export_strategies` must be an ExportStrategy, an iterable of ExportStrategy, or "
                f"`None`, found {strategy}."
            )
    return strategies


def _predicate(given: Any) -> Callable[[Any, Any], Any]:
    """Return a predicate of results and a checkpoint; one of results alone is asked with these."""
    if given is None:
        return lambda eval_results, checkpoint_path: True
    if not callable(given):
        raise ValueError("`continuous_eval_predicate_fn` must be a callable, or None.")
    if "checkpoint_path" in fn_args(given):
        return lambda eval_results, path: given(eval_results, checkpoint_path=path)
    return lambda eval_results, checkpoint_path: given(eval_results)
