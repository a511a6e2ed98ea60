"""Role of a task in its cluster: chief or not, and its worker number."""

from __future__ import annotations

from typing import Any

from stillflow.distribute import worker_context
from stillflow.protos import ClusterDef
from stillflow.train.cluster_spec import ClusterSpec

_TYPES = ("chief", "worker", "evaluator", "ps")


def normalize_cluster_spec(cluster_spec: Any) -> ClusterSpec:
    """Return a dict, a `ClusterDef` or a `ClusterSpec` as a `ClusterSpec`."""
    if isinstance(cluster_spec, (dict, ClusterDef)):
        return ClusterSpec(cluster_spec)
    if not isinstance(cluster_spec, ClusterSpec):
        raise ValueError(
            "`cluster_spec' should be dict or a `tf.train.ClusterSpec` or a `tf.train.ClusterDef` "
            "object"
        )
    return cluster_spec


def _jobs(cluster_spec: Any, task_type: Any, task_id: Any) -> dict[str, Any]:
    """Return the addresses of each job, if the task is one of the cluster."""
    if cluster_spec is None or task_type is None or task_id is None:
        raise ValueError("None of `cluster_spec`, `task_type`, and `task_id` should be `None`.")
    jobs: dict[str, Any] = normalize_cluster_spec(cluster_spec).as_dict()
    if task_type not in _TYPES:
        raise ValueError(
            f'Unrecognized task_type: {task_type!r}, valid task types are: "chief", "worker", '
            '"evaluator" and "ps".'
        )
    if task_type and task_type not in jobs:
        raise ValueError(f"`task_type` {task_type!r} not found in cluster_spec.")
    for only in ("chief", "evaluator"):
        if len(jobs.get(only, [])) > 1:
            raise ValueError(f"There must be at most one '{only}' job.")
    if task_id >= len(jobs[task_type]):
        raise ValueError(f"The `task_id` {task_id} exceeds the maximum id of {task_type}.")
    return jobs


def is_chief(cluster_spec: Any = None, task_type: Any = None, task_id: Any = None) -> bool:
    """Return True if a task initializes and saves: the chief, an evaluator, else the first worker.

    Where a coordinator runs the task, it knows the answer; ValueError for no such task.
    """
    current = worker_context.current()
    if current is not None:
        return bool(current.is_chief)
    jobs = _jobs(cluster_spec, task_type, task_id)
    if task_type in ("chief", "evaluator"):
        return True
    return "chief" not in jobs and task_type == "worker" and task_id == 0


def collective_leader(cluster_spec: Any, task_type: Any, task_id: Any) -> str:
    """Return the device of the task that leads collective operations; "" for one on its own.

    ValueError if the cluster has no such task.
    """
    if not normalize_cluster_spec(cluster_spec).as_dict():
        return ""
    jobs = _jobs(cluster_spec, task_type, task_id)
    if task_type == "evaluator":
        return ""
    job = "chief" if "chief" in jobs else "worker"
    return f"/job:{job}/replica:0/task:0"


def worker_count(cluster_spec: Any, task_type: Any) -> int:
    """Return the number of workers with a task: a chief is a worker, an evaluator is not."""
    jobs = _jobs(cluster_spec, task_type, 0)
    if task_type not in ("chief", "worker", "evaluator"):
        raise ValueError(f"Unexpected `task_type` {task_type!r}")
    counted = ("evaluator",) if task_type == "evaluator" else ("chief", "worker")
    return sum(len(jobs.get(job, [])) for job in counted)


def id_in_cluster(cluster_spec: Any, task_type: Any, task_id: Any) -> int:
    """Return the worker number of a task; the chief is the first."""
    jobs = _jobs(cluster_spec, task_type, task_id)
    if task_type == "chief":
        return 0
    if task_type == "worker":
        return int(task_id) + len(jobs.get("chief", []))
    if task_type == "evaluator":
        return int(task_id)
    raise ValueError(f"There is no id for task_type {task_type!r}")
