"""tf.estimator.train_and_evaluate: evaluates checkpoints of a training as they come."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from stillflow.estimator import coordinated
from stillflow.estimator.cluster_task import TaskType, environment
from stillflow.estimator.estimator import Estimator
from stillflow.estimator.exporters import Exporter
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.platform import tf_logging as logging
from stillflow.protos import ConfigProto
from stillflow.train.hook_timer import SecondOrStepTimer
from stillflow.train.saving_hooks import CheckpointSaverListener
from stillflow.train.server import Server
from stillflow.train.session_run_hook import SessionRunHook

# A worker waits this long for each that starts before it, and not longer than a minute.
_DELAY, _LONGEST_DELAY = 5, 60
_TRAINERS = (TaskType.CHIEF, TaskType.MASTER, TaskType.WORKER)
# How often it is said that there is nothing new to evaluate, in seconds.
_REMINDER = 600


class _TrainFields(NamedTuple):
    input_fn: Any
    max_steps: Any
    hooks: Any


@export("estimator.TrainSpec")
class TrainSpec(_TrainFields):
    """Specification of training.

    Args:
      input_fn: gives the input.
      max_steps: the global step to end at; None to train as long as there is input.
      hooks: `SessionRunHook`s.

    Raises:
      ValueError: if `max_steps` is not positive.
      TypeError: if something is of the wrong kind.
    """

    __slots__ = ()

    def __new__(
        cls, input_fn: Callable[..., Any], max_steps: int | None = None, hooks: Any = None
    ) -> TrainSpec:
        _check_input_fn(input_fn)
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        return super().__new__(cls, input_fn, max_steps, _hooks(hooks))


class _EvalFields(NamedTuple):
    input_fn: Any
    steps: Any
    name: Any
    hooks: Any
    exporters: Any
    start_delay_secs: Any
    throttle_secs: Any


@export("estimator.EvalSpec")
class EvalSpec(_EvalFields):
    """Specification of evaluation, with exporters.

    Args:
      input_fn: gives the input.
      steps: over how many batches; None for all.
      name: of this evaluation, where there are several.
      hooks: `SessionRunHook`s.
      exporters: an `Exporter`, or several of different names.
      start_delay_secs: how long an evaluator waits at first, in seconds.
      throttle_secs: how much time is between evaluations at least, in seconds.

    Raises:
      ValueError: if a number is out of range, or names are not unique.
      TypeError: if something is of the wrong kind.
    """

    __slots__ = ()

    def __new__(
        cls, input_fn: Callable[..., Any], steps: int | None = 100, name: str | None = None,
        hooks: Any = None, exporters: Any = None, start_delay_secs: int = 120,
        throttle_secs: int = 600,
    ) -> EvalSpec:  # fmt: skip
        _check_input_fn(input_fn)
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"`name` must be string, given: {name}")
        hooks, exporters = _hooks(hooks), _exporters(exporters)
        for setting, value in (
            ("start_delay_secs", start_delay_secs),
            ("throttle_secs", throttle_secs),
        ):
            if value < 0:
                raise ValueError(f"Must specify {setting} >= 0, given: {value}")
        return super().__new__(
            cls, input_fn, steps, name, hooks, exporters, start_delay_secs, throttle_secs
        )


def _check_input_fn(input_fn: Any) -> None:
    if not callable(input_fn):
        raise TypeError(f"`input_fn` must be callable, given: {input_fn}")


def _hooks(hooks: Any) -> tuple[Any, ...]:
    hooks = tuple(hooks or ())
    for hook in hooks:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks must be `SessionRunHook` instances, given: {hook}")
    return hooks


def _exporters(exporters: Any) -> tuple[Any, ...]:
    if isinstance(exporters, Exporter):
        exporters = [exporters]
    try:
        exporters = tuple(exporters or ())
    except TypeError:
        exporters = (exporters,)
    if not all(isinstance(exporter, Exporter) for exporter in exporters):
        raise TypeError(
            "`exporters` must be an Exporter, an iterable of Exporter, or `None`, found "
            f"{exporters}."
        )
    names = [exporter.name for exporter in exporters]
    for index, name in enumerate(names):
        if not name:
            raise ValueError(
                "An Exporter cannot have a name that is `None` or empty. All exporter names: "
                f"{names}"
            )
        if not isinstance(name, str):
            raise ValueError(f"An Exporter must have a string name. Given: {type(name)}")
        if name in names[:index]:
            raise ValueError(
                "`exporters` must have unique names. Such a name cannot be `None`. All exporter "
                f"names: {names}"
            )
    return exporters


@export("estimator.train_and_evaluate")
def train_and_evaluate(
    estimator: Any, train_spec: Any, eval_spec: Any
) -> tuple[dict[str, Any], list[bytes]] | None:
    """Train, and evaluate checkpoints; in a cluster, run the task of TF_CONFIG.

    Args:
      estimator: an `Estimator`.
      train_spec: a `TrainSpec`.
      eval_spec: an `EvalSpec`.

    Returns:
      Without a cluster: the metrics of the last evaluation (None if there was none), and what the
      exporters returned after it.

    Raises:
      TypeError: if an argument is of the wrong kind.
      ValueError: if the task is none that can be run.
    """
    for name, value, kind in (
        ("eval_spec", eval_spec, EvalSpec),
        ("estimator", estimator, Estimator),
        ("train_spec", train_spec, TrainSpec),
    ):
        if not isinstance(value, kind):
            raise TypeError(
                f"`{name}` must have type `tf.estimator.{kind.__name__}`. Got: {type(value)}"
            )
    config = estimator.config
    if coordinated.is_coordinated(config):

        def evaluate(local: Any) -> None:
            _Job(local, train_spec, eval_spec).evaluate_continuously()

        coordinated.train_and_evaluate(estimator, train_spec, evaluate)
        return None
    if config.task_type == TaskType.EVALUATOR and config.task_id > 0:
        raise ValueError(
            "For distributed training, there can only be one `evaluator` task (with task id 0).  "
            f"Given task id {config.task_id}"
        )
    job = _Job(estimator, train_spec, eval_spec)
    if not config.cluster_spec and config.task_type != TaskType.EVALUATOR:
        return job.run_local()
    tasks = {
        TaskType.CHIEF: job.train_in_cluster,
        TaskType.WORKER: job.train_in_cluster,
        TaskType.MASTER: job.run_master,
        TaskType.EVALUATOR: job.evaluate_continuously,
        TaskType.PS: job.serve,
    }
    if config.task_type not in tasks:
        raise ValueError(
            f"Task type {config.task_type} is not supported. Supported task types are "
            f"{sorted(tasks)}"
        )
    tasks[config.task_type]()
    return None


class _Job:
    """A task's part of training and evaluating."""

    def __init__(self, estimator: Any, train_spec: TrainSpec, eval_spec: EvalSpec) -> None:
        self._estimator = estimator
        self._train_spec = train_spec
        self._eval_spec = eval_spec
        self._config = estimator.config
        self._evaluator = _Evaluator(estimator, eval_spec, train_spec.max_steps)

    def run_local(self) -> tuple[Any, Any]:
        logging.info("Running training and evaluation locally (non-distributed).")
        logging.info(
            "Start train and evaluate loop. The evaluate will happen after every checkpoint. "
            "Checkpoint frequency is determined based on RunConfig arguments: "
            f"save_checkpoints_steps {self._config.save_checkpoints_steps} or "
            f"save_checkpoints_secs {self._config.save_checkpoints_secs}."
        )
        self._train([_EvaluatingListener(self._evaluator, self._eval_spec.throttle_secs)])
        return self._evaluator.metrics, self._evaluator.exports

    def run_master(self) -> None:
        listener = _EvaluatingListener(self._evaluator, self._eval_spec.throttle_secs)
        self.train_in_cluster([listener])

    def _train(self, listeners: Any) -> None:
        self._estimator.train(
            self._train_spec.input_fn, hooks=list(self._train_spec.hooks),
            max_steps=self._train_spec.max_steps, saving_listeners=listeners,
        )  # fmt: skip

    def train_in_cluster(self, listeners: Any = None) -> None:
        if environment().get("environment") != "google":
            self._start_server()
        if self._config.task_type == TaskType.WORKER:
            longest = self._config.experimental_max_worker_delay_secs
            longest = _LONGEST_DELAY if longest is None else longest
            _wait(min(longest, (self._config.task_id + 1) * _DELAY), "before starting training")
        self._train(listeners)

    def serve(self) -> None:
        server = self._start_server()
        if server is not None:
            server.join()

    def _start_server(self) -> Server | None:
        config = self._config
        if not config.master:
            jobs = config.cluster_spec.jobs
            alone = len(jobs) == 1 and config.cluster_spec.num_tasks(jobs[0]) == 1
            if alone and config.task_type in _TRAINERS:
                logging.info(
                    "Skip starting Tensorflow server as there is only one node in the cluster."
                )
                return None
            raise RuntimeError(
                "Could not start server; be sure to specify master in RunConfig or set the "
                "TF_CONFIG environment variable."
            )
        logging.info("Start Tensorflow server.")
        session_config = ConfigProto(log_device_placement=False)
        if config.session_config is not None:
            session_config.gpu_options.CopyFrom(config.session_config.gpu_options)
        server = Server(
            config.cluster_spec, job_name=config.task_type, task_index=config.task_id,
            config=session_config, start=False, protocol=config.protocol,
        )  # fmt: skip
        server.start()
        return server

    def evaluate_continuously(self) -> None:
        _wait(self._eval_spec.start_delay_secs, "before starting eval")
        last = self._train_spec.max_steps
        while True:
            start = time.time()
            done = self._evaluator.evaluate_and_export()
            step = self._evaluator.metrics[GraphKeys.GLOBAL_STEP] if done else None
            if step and last and step >= last:
                logging.info("Exiting evaluation, global_step=%s >= train max_steps=%s", step, last)
                return
            _wait(
                self._eval_spec.throttle_secs - (time.time() - start),
                "before starting next eval run",
            )


def _wait(seconds: float, purpose: str) -> None:
    if seconds > 0:
        logging.info("Waiting %f secs %s.", seconds, purpose)
        time.sleep(seconds)


class _Evaluator:
    """Evaluator of each new checkpoint, which calls the exporters."""

    def __init__(self, estimator: Any, spec: EvalSpec, last_step: int | None) -> None:
        self._estimator = estimator
        self._spec = spec
        self._last_step = last_step
        self._evaluated: str | None = None
        self._reminded = 0.0
        self.metrics: Any = None
        self.exports: Any = None

    def evaluate_and_export(self) -> bool:
        """Evaluate a new checkpoint and return True; set `metrics` and `exports`."""
        path = self._estimator.latest_checkpoint()
        if not path or path == self._evaluated:
            self._remind(
                "No new checkpoint ready for evaluation. Skip the current evaluation pass as "
                "evaluation results are expected to be same for the same checkpoint."
                if path
                else "Estimator is not trained yet. Will start an evaluation when a checkpoint is "
                "ready."
            )
            return False
        self.metrics = self._estimator.evaluate(
            self._spec.input_fn, steps=self._spec.steps, name=self._spec.name,
            checkpoint_path=path, hooks=self._spec.hooks,
        )  # fmt: skip
        final = bool(self._last_step and self.metrics[GraphKeys.GLOBAL_STEP] >= self._last_step)
        self.exports = [
            exporter.export(
                self._estimator,
                os.path.join(self._estimator.model_dir, "export", exporter.name),
                path, self.metrics, final,
            )
            for exporter in self._spec.exporters
        ]  # fmt: skip
        self._reminded = 0.0
        self._evaluated = path
        return True

    def _remind(self, message: str) -> None:
        if time.time() - self._reminded > _REMINDER:
            logging.warning(message)
            self._reminded = time.time()


class _EvaluatingListener(CheckpointSaverListener):
    """Listener that evaluates checkpoints as they are saved, except the initial one."""

    def __init__(self, evaluator: _Evaluator, throttle_secs: float) -> None:
        self._evaluator = evaluator
        self._throttle_secs = throttle_secs

    def begin(self) -> None:
        self._timer = SecondOrStepTimer(every_secs=self._throttle_secs)
        self._is_first = True

    def after_save(self, session: Any, global_step_value: Any) -> None:
        if self._is_first:
            self._is_first = False
        elif self._timer.should_trigger_for_step(global_step_value):
            self._evaluate(global_step_value)
        else:
            logging.info(
                "Skip the current checkpoint eval due to throttle secs "
                f"({self._throttle_secs} secs)."
            )

    def end(self, session: Any, global_step_value: Any) -> None:
        if global_step_value != self._timer.last_triggered_step():
            self._evaluate(global_step_value)

    def _evaluate(self, step: Any) -> None:
        self._timer.update_last_triggered_step(step)
        if not self._evaluator.evaluate_and_export():
            raise RuntimeError("There was no new checkpoint after the training.")
