"""Tasks of a cluster, by job, and their network addresses."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.platform.compat import as_bytes
from stillflow.protos import ClusterDef


@export("train.ClusterSpec")
class ClusterSpec:
    """The tasks of a cluster.

    Args:
      cluster: {job: addresses} with a list or {index: address} for each job, a `ClusterDef`, or a
        ClusterSpec to copy.

    Raises:
      TypeError: if it is none of these, or a name or address is no string.

    Example:
      >>> cluster = tf.train.ClusterSpec({"ps": ["a:2222"], "worker": ["b:2222", "c:2222"]})
      >>> cluster.jobs, cluster.num_tasks("worker"), cluster.task_address("worker", 1)
      (['ps', 'worker'], 2, 'c:2222')
    """

    def __init__(self, cluster: Any) -> None:
        if isinstance(cluster, dict):
            self._cluster_spec = {name: _by_index(name, tasks) for name, tasks in cluster.items()}
            self._cluster_def = _message(self._cluster_spec)
            return
        if isinstance(cluster, ClusterDef):
            self._cluster_def = cluster
        elif isinstance(cluster, ClusterSpec):
            self._cluster_def = ClusterDef()
            self._cluster_def.MergeFrom(cluster.as_cluster_def())
        else:
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network "
                "addresses, or a `ClusterDef` protocol buffer"
            )
        self._cluster_spec = {job.name: dict(job.tasks.items()) for job in self._cluster_def.job}

    def __bool__(self) -> bool:
        return bool(self._cluster_spec)

    def __eq__(self, other: object) -> bool:
        return self._cluster_spec == (
            other._cluster_spec if isinstance(other, ClusterSpec) else other
        )

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        jobs = self.as_dict()
        return f"ClusterSpec({{{', '.join(f'{key!r}: {jobs[key]!r}' for key in sorted(jobs))}}})"

    def as_dict(self) -> dict[str, Any]:
        """{job: addresses}: a list, or {index: address} where indices are missing."""
        result: dict[str, Any] = {}
        for job, tasks in self._cluster_spec.items():
            whole = bool(tasks) and max(tasks) + 1 == len(tasks)
            result[job] = self.job_tasks(job) if whole else dict(sorted(tasks.items()))
        return result

    def as_cluster_def(self) -> Any:
        """Return this as a `ClusterDef`."""
        return self._cluster_def

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._cluster_spec)

    def _job(self, job_name: str) -> dict[int, str]:
        try:
            return self._cluster_spec[job_name]
        except KeyError:
            raise ValueError(f"No such job in cluster: {job_name!r}") from None

    def num_tasks(self, job_name: str) -> int:
        """Return the number of tasks of a job.

        Raises:
          ValueError: if there is no such job.
        """
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Return the indices of a job's tasks, sorted."""
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Return the address of a task.

        Raises:
          ValueError: if there is no such job or task.
        """
        try:
            return self._job(job_name)[task_index]
        except KeyError:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}") from None

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Return the addresses of a job's tasks by index, None where one is missing."""
        tasks = self._job(job_name)
        return [tasks.get(index) for index in range(max(tasks) + 1)]


def _by_index(job_name: str, tasks: Any) -> dict[int, str]:
    if isinstance(tasks, (list, tuple)):
        return dict(enumerate(tasks))
    if isinstance(tasks, dict):
        return dict(tasks)
    raise TypeError(
        f"The tasks for job {job_name!r} must be a list or a dictionary from integers to strings."
    )


def _message(jobs: dict[str, dict[int, str]]) -> Any:
    message = ClusterDef()
    for job_name, tasks in sorted(jobs.items()):
        job = message.job.add()
        job.name = _text(job_name, "Job name")
        for index, address in sorted(tasks.items()):
            job.tasks[index] = _text(address, "Task address")
    return message


def _text(value: Any, what: str) -> str:
    try:
        return as_bytes(value).decode()
    except TypeError:
        raise TypeError(f"{what} {value!r} must be bytes or unicode") from None
