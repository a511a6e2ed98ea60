"""The environment variable TF_CONFIG: a cluster, and the task of this process."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from stillflow.platform import tf_logging as logging
from stillflow.train.cluster_spec import ClusterSpec

_VARIABLE = "TF_CONFIG"
_LOCAL = ""


class TaskType:
    """The jobs that an estimator's cluster knows."""

    MASTER = "master"
    PS = "ps"
    WORKER = "worker"
    CHIEF = "chief"
    EVALUATOR = "evaluator"


@dataclass(frozen=True)
class ClusterTask:
    """A task and its place in a cluster. Without a cluster: one worker, which is the chief.

    Args:
      cluster_spec: the `ClusterSpec`; an empty one for a process on its own, or an evaluator.
      task_type: the job.
      task_id: the index in the job.
      master: the target of training sessions.
      evaluation_master: the target of evaluating sessions.
      num_ps_replicas: how many parameter servers.
      num_worker_replicas: how many tasks train.
      global_id_in_cluster: the index over all jobs, the chief first and servers last.
      is_chief: whether this one initializes and saves.
    """

    cluster_spec: ClusterSpec
    task_type: str = TaskType.WORKER
    task_id: int = 0
    master: str = _LOCAL
    evaluation_master: str = _LOCAL
    num_ps_replicas: int = 0
    num_worker_replicas: int = 1
    global_id_in_cluster: int | None = 0
    is_chief: bool = True


def environment() -> dict[str, Any]:
    """Return TF_CONFIG, decoded; {} if it is not set, ValueError if it is no JSON."""
    settings: dict[str, Any] = json.loads(os.environ.get(_VARIABLE) or "{}")
    if settings:
        logging.info("TF_CONFIG environment variable: %s", settings)
    return settings


def model_directory(settings: dict[str, Any], model_dir: str | None) -> str | None:
    """Return the folder of the model that the program or TF_CONFIG names."""
    named = {"model_dir": model_dir, "model_dir in TF_CONFIG": settings.get("model_dir")}
    for place, folder in named.items():
        if folder == "":
            raise ValueError(f"{place} should be non-empty.")
    *_, elsewhere = named.values()
    if not elsewhere:
        return model_dir
    if model_dir not in (None, elsewhere):
        raise ValueError(
            "`model_dir` provided in RunConfig construct, if set, must have the same value as "
            f"the model_dir in TF_CONFIG. model_dir: {model_dir}\n"
            f'TF_CONFIG["model_dir"]: {elsewhere}.\n'
        )
    logging.info("Using model_dir in TF_CONFIG: %s", elsewhere)
    return elsewhere


def service_of(settings: dict[str, Any]) -> dict[Any, Any] | None:
    """Return the entry `service` of TF_CONFIG; TypeError if it is no dict."""
    service = settings.get("service")
    if service is not None and not isinstance(service, dict):
        raise TypeError(
            f'If "service" is set in TF_CONFIG, it must be a dict. Given {type(service)}'
        )
    return service


def task_of(settings: dict[str, Any]) -> ClusterTask:
    """Return the task that TF_CONFIG gives to this process; ValueError if it contradicts itself."""
    cluster = ClusterSpec(settings.get("cluster", {}))
    if not cluster:
        return _task_on_its_own(settings, cluster)
    chief = TaskType.MASTER if TaskType.MASTER in cluster.jobs else TaskType.CHIEF
    if chief == TaskType.MASTER and TaskType.CHIEF in cluster.jobs:
        raise ValueError("If `master` node exists in `cluster`, job `chief` is not supported.")
    job, index = _checked_task(cluster, settings.get("task", {}), chief)
    if job == TaskType.EVALUATOR:
        if chief == TaskType.MASTER:
            raise ValueError(
                "If `master` node exists in `cluster`, task_type `evaluator` is not supported."
            )
        return ClusterTask(
            ClusterSpec({}), job, index, num_worker_replicas=0, global_id_in_cluster=None,
            evaluation_master=settings.get("eval_session_master", _LOCAL), is_chief=False,
        )  # fmt: skip
    jobs = cluster.as_dict()
    return ClusterTask(
        cluster, job, index, _master(settings, cluster, job, index),
        num_ps_replicas=len(jobs.get(TaskType.PS, [])),
        num_worker_replicas=len(jobs.get(TaskType.WORKER, [])) + len(jobs.get(chief, [])),
        global_id_in_cluster=global_id(cluster, job, index, chief),
        is_chief=job == chief,
    )  # fmt: skip


def _task_on_its_own(settings: dict[str, Any], cluster: ClusterSpec) -> ClusterTask:
    task = settings.get("task", {})
    if task.get("type", TaskType.WORKER) != TaskType.WORKER:
        raise ValueError('If "cluster" is not set in TF_CONFIG, task type must be WORKER.')
    if int(task.get("index", 0)) != 0:
        raise ValueError('If "cluster" is not set in TF_CONFIG, task index must be 0.')
    return ClusterTask(
        cluster,
        master=settings.get("session_master", _LOCAL),
        evaluation_master=settings.get("eval_session_master", _LOCAL),
    )


def _checked_task(cluster: ClusterSpec, task: dict[str, Any], chief: str) -> tuple[str, int]:
    if chief not in cluster.jobs:
        raise ValueError(f'If "cluster" is set in TF_CONFIG, it must have one "{chief}" node.')
    if len(cluster.job_tasks(chief)) > 1:
        raise ValueError(f'The "cluster" in TF_CONFIG must have only one "{chief}" node.')
    job, index = task.get("type"), task.get("index")
    if not job:
        raise ValueError('If "cluster" is set in TF_CONFIG, task type must be set.')
    if index is None:
        raise ValueError('If "cluster" is set in TF_CONFIG, task index must be set.')
    index = int(index)
    if index < 0:
        raise ValueError("Task index must be non-negative number.")
    if job != TaskType.EVALUATOR:
        _check_place(cluster, job, index)
    return job, index


def _check_place(cluster: ClusterSpec, job: str, index: int) -> None:
    note = (
        f"the cluster_spec:\n{cluster}\n\n"
        "Note that these values may be coming from the TF_CONFIG environment variable."
    )
    if job not in cluster.jobs:
        raise ValueError(f"{job} is not a valid task_type in {note}")
    if index >= len(cluster.job_tasks(job)):
        raise ValueError(f"{index} is not a valid task_id for task_type {job} in {note}")


def _master(settings: dict[str, Any], cluster: ClusterSpec, job: str, index: int) -> str:
    if "session_master" in settings:
        master: str = settings["session_master"]
        return master
    if len(cluster.jobs) == 1 and len(cluster.job_tasks(cluster.jobs[0])) == 1:
        return _LOCAL  # a cluster of one needs no server
    return f"grpc://{cluster.job_tasks(job)[index]}"


def global_id(cluster: ClusterSpec, job: str, index: int, chief: str) -> int:
    """Return the index of a task over all jobs of a cluster: the chief's first, servers last."""
    middle = sorted(set(cluster.jobs) - {chief, TaskType.PS})
    before = [name for name in (chief, *middle, TaskType.PS) if name in cluster.jobs]
    return sum(cluster.num_tasks(name) for name in before[: before.index(job)]) + index
