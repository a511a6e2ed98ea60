"""The cluster that the environment variable TF_CONFIG describes."""

from __future__ import annotations

from typing import Any

from stillflow.distribute.cluster_resolver.base import ClusterResolver
from stillflow.estimator.cluster_task import environment as tf_config
from stillflow.graph.export import export
from stillflow.train.cluster_spec import ClusterSpec


@export(
    "distribute.cluster_resolver.TFConfigClusterResolver",
    "contrib.cluster_resolver.TFConfigClusterResolver",
)
class TFConfigClusterResolver(ClusterResolver):
    """Resolver that reads TF_CONFIG at each call.

    Args:
      task_type: the job of this process, if not the one that TF_CONFIG names.
      task_id: its index, likewise.
      rpc_layer: the protocol of targets, likewise.
      environment: value of `environment`.
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        self._task_type = task_type
        self._task_id: Any = task_id
        self._rpc_layer, self._environment = rpc_layer, environment

    @property
    def task_type(self) -> str | None:
        """The job of this process; None if nothing says it."""
        if self._task_type is not None:
            return str(self._task_type)
        found = tf_config().get("task", {}).get("type")
        return None if found is None else str(found)

    @task_type.setter
    def task_type(self, task_type: Any) -> None:
        self._task_type = task_type

    @property
    def task_id(self) -> int | None:
        """Its index; None if nothing says it."""
        if self._task_type is not None:
            return int(self._task_id)
        found = tf_config().get("task", {}).get("index")
        return None if found is None else int(found)

    @task_id.setter
    def task_id(self, task_id: Any) -> None:
        self._task_id = task_id

    @property
    def rpc_layer(self) -> str | None:
        """The protocol of targets."""
        return tf_config().get("rpc_layer") if self._rpc_layer is None else self._rpc_layer

    @rpc_layer.setter
    def rpc_layer(self, rpc_layer: Any) -> None:
        self._rpc_layer = rpc_layer

    @property
    def environment(self) -> str | None:
        return self._environment

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[Any, Any]:
        """Return the devices of a task, of this process if none is named."""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        return super().num_accelerators(task_type, task_id, config_proto)

    def cluster_spec(self) -> ClusterSpec:
        """Return the cluster; an empty one if TF_CONFIG has none."""
        return ClusterSpec(tf_config().get("cluster", {}))

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Return the target that TF_CONFIG names, or that of a task.

        "" for a cluster of one task.
        """
        del rpc_layer
        given = tf_config().get("session_master")
        if given is not None:
            return str(given)
        cluster = self.cluster_spec()
        if sum(cluster.num_tasks(job) for job in cluster.jobs) <= 1:
            return ""
        return self._target(task_type, task_id, None)
