"""Clusters in Google's cloud: the machines of an instance group."""

from __future__ import annotations

from typing import Any

from stillflow.distribute.cluster_resolver.base import ClusterResolver
from stillflow.graph.export import export
from stillflow.train.cluster_spec import ClusterSpec


@export(
    "distribute.cluster_resolver.GCEClusterResolver", "contrib.cluster_resolver.GCEClusterResolver"
)
class GCEClusterResolver(ClusterResolver):
    """Resolver of the machines of an instance group of Google Compute Engine.

    Args:
      project: the project.
      zone: of the group.
      instance_group: its name.
      port: of all tasks.
      task_type: the job that they make.
      task_id: the index of this process.
      rpc_layer: the protocol of targets.
      credentials: of the account; those of the machine by default.
      service: API to ask, instead of that of the package `googleapiclient`.

    Raises:
      ImportError: if there is no service, and the package is not installed.
    """

    task_id: Any = None
    rpc_layer: Any = None

    def __init__(
        self,
        project: str,
        zone: str,
        instance_group: str,
        port: int,
        task_type: str = "worker",
        task_id: int = 0,
        rpc_layer: str = "grpc",
        credentials: Any = "default",
        service: Any = None,
    ) -> None:
        self._group = {"project": project, "zone": zone, "instanceGroups": instance_group}
        self._port, self._task_type = port, task_type
        self.task_id, self.rpc_layer = task_id, rpc_layer
        self._service = _compute_engine(credentials) if service is None else service

    @property
    def task_type(self) -> str:
        """The job of the machines; it cannot be changed."""
        return self._task_type

    @task_type.setter
    def task_type(self, task_type: Any) -> None:
        raise RuntimeError(
            "You cannot reset the task_type of the GCEClusterResolver after it has been created."
        )

    def cluster_spec(self) -> ClusterSpec:
        """Return the machines that are running, by their addresses."""
        groups, machines = self._service.instanceGroups(), self._service.instances()
        request = groups.listInstances(
            **self._group, body={"instanceState": "RUNNING"}, orderBy="name"
        )
        where = {name: self._group[name] for name in ("project", "zone")}
        addresses = []
        while request is not None:
            response = request.execute()
            for machine in response["items"]:
                name = machine["instance"].rpartition("/")[2]
                found = machines.get(**where, instance=name).execute()
                addresses.append(f"{found['networkInterfaces'][0]['networkIP']}:{self._port}")
            request = groups.listInstances_next(
                previous_request=request, previous_response=response
            )
        return ClusterSpec({self._task_type: sorted(addresses)})

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Return the target for a task, this one if none is named."""
        return self._target(task_type, task_id, rpc_layer)


def require_client(text: str) -> Any:
    """Return the package that makes APIs, and the default credentials; ImportError if none."""
    try:
        from googleapiclient import discovery  # type: ignore[import-not-found]
        from oauth2client.client import GoogleCredentials  # type: ignore[import-not-found]
    except ImportError:
        raise ImportError(text) from None
    return discovery, GoogleCredentials


def _compute_engine(credentials: Any) -> Any:
    discovery, application = require_client(
        "googleapiclient must be installed before using the GCE cluster resolver"
    )
    if credentials == "default":
        credentials = application.get_application_default()
    return discovery.build("compute", "v1", credentials=credentials)
