"""Estimators in clusters whose tasks a coordinator gives a strategy each."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillflow.distribute import cluster_tasks, worker_context
from stillflow.distribute.coordinator import CoordinatorMode, run_distribute_coordinator
from stillflow.estimator.cluster_task import ClusterTask, TaskType, global_id
from stillflow.train.cluster_spec import ClusterSpec

if TYPE_CHECKING:
    from stillflow.estimator.estimator import Estimator


def is_coordinated(config: Any) -> bool:
    """Return True if tasks get their strategies of a coordinator."""
    return bool(config._distribute_coordinator_mode and config.cluster_spec)


def train_and_evaluate(estimator: Any, train_spec: Any, evaluate: Callable[[Any], None]) -> None:
    """Train, evaluate or serve, as TF_CONFIG says; or train by a remote cluster's servers.

    Each task works with a copy of the estimator; `evaluate(copy)` evaluates checkpoints until
    training is over.
    """
    config = estimator.config
    is_client = config._distribute_coordinator_mode == CoordinatorMode.STANDALONE_CLIENT

    def train(strategy: Any) -> None:
        local = _copy_for_task(estimator, train_distribute=strategy)
        # Hooks are for one graph, so of the workers in one client the chief has them.
        runs_hooks = not is_client or worker_context.current().is_chief
        hooks = list(train_spec.hooks) if runs_hooks else []
        local.train(train_spec.input_fn, hooks=hooks, max_steps=train_spec.max_steps)

    def evaluate_copy(strategy: Any) -> None:
        evaluate(_copy_for_task(estimator, eval_distribute=strategy))

    run_distribute_coordinator(
        train, config.train_distribute, evaluate_copy, config.eval_distribute,
        mode=config._distribute_coordinator_mode,
        cluster_spec=config.cluster_spec if is_client else None,
        session_config=config.session_config,
    )  # fmt: skip


def run_alone(estimator: Any, use: str, call: Callable[[Any, bool], Any]) -> Any:
    """Train or evaluate by a remote cluster's servers, with a strategy of one graph.

    `use` is "train" or "evaluate"; `call` gets a copy of the estimator, and whether it is the
    chief. ValueError if the cluster, or the strategy, asks for `train_and_evaluate`.
    """
    config = estimator._config
    name = {"train": "train_distribute", "evaluate": "eval_distribute"}[use]
    strategy = getattr(config, name)
    spec = cluster_tasks.normalize_cluster_spec(config.cluster_spec)
    if TaskType.EVALUATOR in spec.jobs:
        raise ValueError("'evaluator' job is not supported if you don't use `train_and_evaluate`")
    if config._distribute_coordinator_mode != CoordinatorMode.STANDALONE_CLIENT:
        method = "estimator.train" if use == "train" else "Estimator.evaluate"
        raise ValueError(f"Only `STANDALONE_CLIENT` mode is supported when you call `{method}`")
    if strategy.extended.experimental_between_graph:
        raise ValueError(
            f"`Estimator.{use}` API is not supported for {type(strategy).__name__} with "
            "`STANDALONE_CLIENT` mode."
        )

    def work(configured: Any) -> Any:
        local = _copy_for_task(estimator, **{name: configured})
        return call(local, worker_context.current().is_chief)

    return run_distribute_coordinator(
        work, strategy, mode=config._distribute_coordinator_mode, cluster_spec=spec,
        session_config=config.session_config,
    )  # fmt: skip


def _copy_for_task(estimator: Any, **strategies: Any) -> Estimator:
    """Return a copy of the estimator that knows the task whose function runs."""
    local = copy.deepcopy(estimator)
    config = local._config
    for name, strategy in strategies.items():
        setattr(config, f"_{name}", strategy)
    config._distribute_coordinator_mode = config._service = None
    config._take(_task_of(worker_context.current()))
    return local


def _task_of(context: Any) -> ClusterTask:
    spec, target = context.cluster_spec, context.master_target
    if not spec:
        return ClusterTask(ClusterSpec({}), context.task_type, context.task_id)
    jobs = spec.as_dict()
    if context.task_type == TaskType.EVALUATOR:
        return ClusterTask(
            ClusterSpec({}), context.task_type, context.task_id, target, target, 0, 0, None,
            context.is_chief,
        )  # fmt: skip
    number = 0
    if context.task_type:
        number = global_id(spec, context.task_type, context.task_id, TaskType.CHIEF)
    return ClusterTask(
        spec, context.task_type, context.task_id, target, target,
        num_ps_replicas=len(jobs.get(TaskType.PS, [])),
        num_worker_replicas=len(jobs.get(TaskType.WORKER, [])) + len(jobs.get(TaskType.CHIEF, [])),
        global_id_in_cluster=number,
        is_chief=context.is_chief,
    )  # fmt: skip
