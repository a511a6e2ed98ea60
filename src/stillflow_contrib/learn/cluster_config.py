"""TF_CONFIG in `tf.contrib.learn`: a cluster, the task of this process, its environment."""

from __future__ import annotations

import json
import os
from operator import attrgetter
from typing import Any

from stillflow.graph.export import export
from stillflow.train.cluster_spec import ClusterSpec


class Environment:
    """Environments of a program, which decide how it finds its cluster."""

    CLOUD = "cloud"
    GOOGLE = "google"
    LOCAL = "local"


@export("contrib.learn.TaskType")
class TaskType:
    """The jobs of a cluster."""

    MASTER = "master"
    PS = "ps"
    WORKER = "worker"


class ClusterConfig:
    """A cluster and a task of it, from the environment variable TF_CONFIG.

    Args:
      master: the target of training sessions; from the cluster if None.
      evaluation_master: the target of evaluating sessions.

    Raises:
      ValueError: if the cluster has no such task.
    """

    def __init__(self, master: str | None = None, evaluation_master: str | None = None) -> None:
        settings = tf_config()
        self._task_type = settings.get("task", {}).get("type")
        self._task_id = self.get_task_id()
        self._cluster_spec = ClusterSpec(settings.get("cluster", {}))
        if master is None:
            master = _master(self._cluster_spec, self._task_type, self._task_id)
        self._master = master
        jobs = self._cluster_spec.as_dict()
        self._num_ps_replicas = len(jobs.get(TaskType.PS, ()))
        self._num_worker_replicas = sum(
            len(jobs.get(job, ())) for job in (TaskType.WORKER, TaskType.MASTER)
        )
        self._environment = settings.get("environment", Environment.LOCAL)
        in_cloud = self._environment == Environment.CLOUD
        chief = TaskType.MASTER if in_cloud else TaskType.WORKER
        self._is_chief = self._task_type in (None, chief) and self._task_id == 0
        self._evaluation_master = evaluation_master or ""

    cluster_spec = property(attrgetter("_cluster_spec"), doc="The cluster; empty if none.")
    environment = property(attrgetter("_environment"), doc="An `Environment`.")
    evaluation_master = property(
        attrgetter("_evaluation_master"), doc="The target of evaluating sessions."
    )
    is_chief = property(attrgetter("_is_chief"), doc="Whether this task initializes and saves.")
    master = property(attrgetter("_master"), doc="The target of training sessions.")
    num_ps_replicas = property(attrgetter("_num_ps_replicas"), doc="The number of servers.")
    num_worker_replicas = property(
        attrgetter("_num_worker_replicas"), doc="The number of tasks that train."
    )
    task_id = property(attrgetter("_task_id"), doc="The index of this task in its job.")
    task_type = property(attrgetter("_task_type"), doc="The job of this task; None if not named.")

    @staticmethod
    def get_task_id() -> int:
        """Return the index of this task in its job; 0 if TF_CONFIG names none."""
        return int(tf_config().get("task", {}).get("index") or 0)


def tf_config() -> dict[str, Any]:
    """Return the environment variable TF_CONFIG, decoded; {} if it is not set."""
    settings: dict[str, Any] = json.loads(os.environ.get("TF_CONFIG") or "{}")
    return settings


def _master(cluster: ClusterSpec, job: str | None, index: int) -> str:
    if not cluster:
        return ""
    if len(cluster.jobs) == 1 and len(cluster.job_tasks(cluster.jobs[0])) == 1:
        return ""  # a cluster of one needs no server
    if not job:
        return ""
    if job not in cluster.jobs:
        raise ValueError(
            f"{job} is not a valid task_type in the cluster_spec:\n{cluster}\n\nNote that these "
            "values may be coming from the TF_CONFIG environment variable."
        )
    addresses = cluster.job_tasks(job)
    if not 0 <= index < len(addresses):
        raise ValueError(
            f"{index} is not a valid task_id for task_type {job} in the cluster_spec:\n{cluster}"
            "\n\nNote that these value may be coming from the TF_CONFIG environment variable."
        )
    return f"grpc://{addresses[index]}"
