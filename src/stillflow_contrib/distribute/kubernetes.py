"""The cluster that the running pods of Kubernetes make."""

from __future__ import annotations

from typing import Any

from stillflow.distribute.cluster_resolver.base import ClusterResolver
from stillflow.graph.export import export
from stillflow.train.cluster_spec import ClusterSpec


@export(
    "distribute.cluster_resolver.KubernetesClusterResolver",
    "contrib.cluster_resolver.KubernetesClusterResolver",
)
class KubernetesClusterResolver(ClusterResolver):
    """Resolver of the pods of each job in Kubernetes.

    Args:
      job_to_label_mapping: the label selectors of the pods of each job.
      tf_server_port: the port of all tasks.
      rpc_layer: the protocol of targets.
      override_client: API to ask, instead of the `CoreV1Api` of the package `kubernetes`.

    Raises:
      ImportError: if there is no client, and the package is not installed.
    """

    def __init__(
        self,
        job_to_label_mapping: dict[str, list[str]] | None = None,
        tf_server_port: int = 8470,
        rpc_layer: str = "grpc",
        override_client: Any = None,
    ) -> None:
        self._client = override_client or _client()
        self._labels = job_to_label_mapping or {"worker": ["job-name=tensorflow"]}
        self._tf_server_port = tf_server_port
        self.task_type = self.task_id = None
        self.rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """Return the cluster, with the pods of each selector by their names.

        Raises:
          RuntimeError: if a pod is not running.
        """
        jobs = {
            job: [address for label in labels for address in self._addresses(label)]
            for job, labels in self._labels.items()
        }
        return ClusterSpec(jobs)

    def _addresses(self, label: str) -> list[str]:
        pods = self._client.list_pod_for_all_namespaces(label_selector=label).items
        for pod in pods:
            if pod.status.phase != "Running":
                raise RuntimeError(
                    f'Pod "{pod.metadata.name}" is not running; phase: "{pod.status.phase}"'
                )
        ordered = sorted(pods, key=lambda pod: pod.metadata.name)
        return [f"{pod.status.host_ip}:{self._tf_server_port}" for pod in ordered]

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Return the target for a task; "" if none is named."""
        return self._target(task_type, task_id, rpc_layer)


def _client() -> Any:
    try:
        from kubernetes import client, config  # type: ignore[import-not-found]
    except ImportError:
        raise ImportError(
            "The Kubernetes Python client must be installed before using the Kubernetes Cluster "
            "Resolver. To install the Kubernetes Python client, run `pip install kubernetes` on "
            "your command line."
        ) from None
    config.load_kube_config()
    return client.CoreV1Api()
