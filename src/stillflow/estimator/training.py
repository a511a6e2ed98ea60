"""The training of an estimator: the session, its hooks and the loop."""

from __future__ import annotations

from typing import Any

from stillflow.estimator.cluster_task import TaskType
from stillflow.estimator.run_config import RunConfig
from stillflow.estimator.spec import EstimatorSpec
from stillflow.graph.api import add_to_collection, get_collection
from stillflow.graph.graph_keys import GraphKeys
from stillflow.ops.summary.numbers import scalar
from stillflow.platform import tf_logging as logging
from stillflow.train.logging_hooks import LoggingTensorHook, NanTensorHook
from stillflow.train.monitored_session import MonitoredTrainingSession
from stillflow.train.saver import Saver
from stillflow.train.saving_hooks import CheckpointSaverHook, SummarySaverHook
from stillflow.train.step_counter import StepCounterHook


def train_with_spec(
    config: RunConfig, spec: EstimatorSpec, hooks: list[Any], step: Any, listeners: list[Any]
) -> Any:
    """Make steps until a hook or the input ends it; return the last loss, None without a step.

    ValueError if there are listeners, and nothing saves checkpoints.
    """
    if not any(op.op.name == "loss" for op in get_collection(GraphKeys.SUMMARIES)):
        scalar("loss", spec.loss)
    add_to_collection(GraphKeys.LOSSES, spec.loss)
    hooks = [*hooks, *_watching_hooks(config, spec, step), *spec.training_hooks]
    _provide_saver(config, spec)
    chief_hooks = _saving_hooks(config, spec, hooks, listeners)
    summary_steps, log_steps = config.save_summary_steps, config.log_step_count_steps
    if _first_worker_reports(config):
        # A master evaluates between its steps: a worker's summaries and speed are the true ones.
        summary_steps, log_steps = 0, None
        hooks += _reporting_hooks(config, spec)
    loss, steps = None, 0
    with MonitoredTrainingSession(
        master=config.master, is_chief=config.is_chief, checkpoint_dir=config.model_dir,
        scaffold=spec.scaffold, hooks=hooks,
        chief_only_hooks=(*chief_hooks, *spec.training_chief_hooks), save_checkpoint_secs=0,
        save_summaries_steps=summary_steps, config=config.session_config,
        max_wait_secs=config.session_creation_timeout_secs, log_step_count_steps=log_steps,
    ) as session:  # fmt: skip
        while not session.should_stop():
            _, loss = session.run([spec.train_op, spec.loss])
            steps += 1
    if not steps:
        logging.warning(
            "Training with estimator made no steps. Perhaps input is empty or misspecified."
        )
    return loss


def _watching_hooks(config: RunConfig, spec: EstimatorSpec, step: Any) -> list[Any]:
    hooks: list[Any] = [NanTensorHook(spec.loss)]
    if config.log_step_count_steps is not None:
        watched = {"loss": spec.loss, "step": step}
        hooks.append(LoggingTensorHook(watched, every_n_iter=config.log_step_count_steps))
    return hooks


def _provide_saver(config: RunConfig, spec: EstimatorSpec) -> None:
    if spec.scaffold.saver or get_collection(GraphKeys.SAVERS):
        return
    saver = Saver(
        sharded=True, max_to_keep=config.keep_checkpoint_max,
        keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours, defer_build=True,
        save_relative_paths=True,
    )  # fmt: skip
    add_to_collection(GraphKeys.SAVERS, saver)


def _saving_hooks(
    config: RunConfig, spec: EstimatorSpec, hooks: list[Any], listeners: list[Any]
) -> list[Any]:
    """Return the hooks that save checkpoints, unless the program has one.

    The first has listeners.
    """
    given = [*hooks, *spec.training_chief_hooks]
    savers = [hook for hook in given if isinstance(hook, CheckpointSaverHook)]
    own = []
    if not savers and (config.save_checkpoints_secs or config.save_checkpoints_steps):
        own = savers = [
            CheckpointSaverHook(
                config.model_dir, save_secs=config.save_checkpoints_secs,
                save_steps=config.save_checkpoints_steps, scaffold=spec.scaffold,
            )
        ]  # fmt: skip
    if listeners and not savers:
        raise ValueError(
            "There should be a CheckpointSaverHook to use saving_listeners. Please set one of the "
            "RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs."
        )
    for listener in listeners:
        if listener not in savers[0]._listeners:
            savers[0]._listeners.append(listener)
    return own


def _first_worker_reports(config: RunConfig) -> bool:
    jobs = config.cluster_spec.jobs if config.cluster_spec else ()
    return TaskType.WORKER in jobs and TaskType.MASTER in jobs


def _reporting_hooks(config: RunConfig, spec: EstimatorSpec) -> list[Any]:
    if config.task_type != TaskType.WORKER or config.task_id != 0:
        return []
    hooks: list[Any] = []
    if config.save_summary_steps:
        hooks.append(
            SummarySaverHook(
                save_steps=config.save_summary_steps, output_dir=config.model_dir,
                scaffold=spec.scaffold,
            )
        )  # fmt: skip
    if config.log_step_count_steps:
        hooks.append(
            StepCounterHook(every_n_steps=config.log_step_count_steps, output_dir=config.model_dir)
        )
    return hooks
