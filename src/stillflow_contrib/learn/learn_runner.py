"""tf.contrib.learn.learn_runner: runs the schedule of an `Experiment`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.contrib.training.hparam import HParams
from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow_contrib.learn.cluster_config import TaskType
from stillflow_contrib.learn.experiment import Experiment
from stillflow_contrib.learn.run_config import RunConfig

_INSTEAD = "Use tf.estimator.train_and_evaluate."
_SCHEDULES = {
    TaskType.MASTER: "train_and_evaluate",
    TaskType.PS: "run_std_server",
    TaskType.WORKER: "train",
}


@export("contrib.learn.learn_runner.run")
def run(
    experiment_fn: Callable[..., Any], output_dir: str | None = None, schedule: str | None = None,
    run_config: Any = None, hparams: Any = None,
) -> str | tuple[dict[str, Any], list[Any]]:  # fmt: skip
    """Make an experiment and run a method of it.

    Args:
      experiment_fn: called with `output_dir`, or with `run_config` and `hparams`; returns an
        `Experiment`.
      output_dir: the folder of the model.
      schedule: the name of the method; that of this task of the cluster if None.
      run_config: a `RunConfig` that names a folder; instead of `output_dir`.
      hparams: `HParams`, with `run_config`.

    Returns:
      The result of the method.

    Raises:
      ValueError: if not just one of folder and settings is given, or there is no such method.
      TypeError: if the function is none, or returns something else.
    """
    if output_dir is not None and run_config is not None:
        raise ValueError("Cannot provide both `output_dir` and `run_config`")
    if output_dir is None and run_config is None:
        raise ValueError("Must set value for `output_dir` or `run_config`")
    if not callable(experiment_fn):
        raise TypeError(f'Experiment builder "{experiment_fn}" is not callable.')
    if run_config is not None:
        experiment = _with_settings(experiment_fn)(run_config=run_config, hparams=hparams)
    else:
        if not output_dir:
            raise ValueError("Must specify an output directory")
        if hparams is not None:
            raise ValueError("Must set `hparams` as None for `experiment_fn` with `output_dir`.")
        experiment = _checked(experiment_fn(output_dir=output_dir))
    schedule = schedule or _default_schedule(run_config or experiment.estimator.config)
    return _execute(experiment, schedule)


@export("contrib.learn.learn_runner.tune")
def tune(experiment_fn: Callable[..., Any], tuner: Any) -> None:
    """Give a tuner the experiment to run, as long as it has another trial.

    Args:
      experiment_fn: called with `run_config` and `hparams`; returns an `Experiment`.
      tuner: has `next_trial` and `run_experiment`.
    """
    while tuner.next_trial():
        tuner.run_experiment(_with_settings(experiment_fn, needs_hparams=True))


def _with_settings(
    experiment_fn: Callable[..., Any], needs_hparams: bool = False
) -> Callable[..., Experiment]:
    """Return the function, with a check that its estimator has the settings it is called with."""

    def checked_fn(run_config: Any, hparams: Any) -> Experiment:
        problem = _problem(run_config, hparams, needs_hparams)
        if problem:
            raise ValueError(problem)
        expected = run_config.uid()
        experiment = _checked(experiment_fn(run_config, hparams))
        _check_config(experiment.estimator.config, expected)
        return experiment

    return checked_fn


def _problem(run_config: Any, hparams: Any, needs_hparams: bool) -> str:
    """Return the reason why an experiment cannot be made of these settings, or ""."""
    if not isinstance(run_config, RunConfig):
        return "`run_config` must be `tf.contrib.learn.RunConfig` instance"
    if not run_config.model_dir:
        return "Must specify a model directory `model_dir` in `run_config`."
    if hparams is None:
        return "`hparams` cannot be `None`." if needs_hparams else ""
    return "" if isinstance(hparams, HParams) else "`hparams` must be `HParams` instance"


def _check_config(config: Any, expected: str) -> None:
    """Raise an error if an estimator's settings are not those of the id `expected`."""
    if not hasattr(config, "uid"):
        raise RuntimeError(
            "Pass `run_config` argument of the `experiment_fn` to the Estimator in Experiment. "
            "It is likely a different `RunConfig` is passed to `Estimator` or the `config` "
            "constructor argument in `Estimator` is not set."
        )
    if config.uid() != expected:
        raise RuntimeError(
            "`RunConfig` instance is expected to be used by the `Estimator` inside the "
            f"`Experiment`. expected {expected}, but got {config.uid()}"
        )


def _checked(experiment: Any) -> Experiment:
    if not isinstance(experiment, Experiment):
        raise TypeError(
            "Experiment builder did not return an Experiment instance, got "
            f"{type(experiment)} instead."
        )
    return experiment


def _execute(experiment: Experiment, schedule: str) -> str | tuple[dict[str, Any], list[Any]]:
    task = getattr(experiment, schedule, None)
    if callable(task):
        return task()
    exists = hasattr(experiment, schedule)
    failure = f"Schedule references non-{'callable member' if exists else 'existent task'}"
    logging.error("%s %s", failure, schedule)
    valid = [
        name for name in dir(experiment)
        if not name.startswith("_") and callable(getattr(experiment, name))
    ]  # fmt: skip
    logging.error("Allowed values for this experiment are: %s", valid)
    raise (TypeError if exists else ValueError)(f"{failure} {schedule}")


def _default_schedule(config: Any) -> str:
    cluster = config.cluster_spec if config else None
    if not cluster or sum(len(cluster.job_tasks(job)) for job in cluster.jobs) <= 1:
        return "train_and_evaluate"
    if not config.task_type:
        raise ValueError("Must specify a schedule")
    if config.task_type not in _SCHEDULES:
        raise ValueError(f"No default schedule for task type: {config.task_type}")
    return _SCHEDULES[config.task_type]
