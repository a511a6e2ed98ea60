"""Clusters in Google's cloud: machines of an instance group, and TPUs."""

from __future__ import annotations

import os
from typing import Any

from stillflow.distribute.cluster_resolver.base import ClusterResolver, format_master_url
from stillflow.graph.export import export
from stillflow.train.cluster_spec import ClusterSpec

# Where the environment says which TPU: that of Kubernetes, then the user's.
_VARIABLES = ("KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "TPU_NAME")
_NO_RESOLVING = ("", "local")
_ADDRESS = "grpc://"
_OF_GOOGLE = ("localhost:", "/bns")  # names that are targets as they are


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


def _compute_engine(credentials: Any) -> Any:
    try:
        from googleapiclient import discovery  # type: ignore[import-not-found]
        from oauth2client.client import GoogleCredentials  # type: ignore[import-not-found]
    except ImportError:
        raise ImportError(
            "googleapiclient must be installed before using the GCE cluster resolver"
        ) from None
    if credentials == "default":
        credentials = GoogleCredentials.get_application_default()
    return discovery.build("compute", "v1", credentials=credentials)


@export(
    "distribute.cluster_resolver.TPUClusterResolver", "contrib.cluster_resolver.TPUClusterResolver"
)
class TPUClusterResolver(ClusterResolver):
    """TPUs by the address of their servers; Stillflow does not look Cloud TPUs up by their names.

    Args:
      tpu: an address, "grpc://host:port", or several of them with commas between; "" or "local" for
        this process. TPU_NAME or what Kubernetes says if None.
      zone: ignored for addresses, as are the arguments from here on.
      project: the project.
      job_name: the job that the TPUs make.
      coordinator_name: the job of this process, if the cluster is to have it.
      coordinator_address: its address.
      credentials: of the account.
      service: the API that knows TPUs.
      discovery_url: where that is described.

    Raises:
      ValueError: if no TPU is given.
      ImportError: if it is the name of a Cloud TPU.
    """

    def __init__(
        self,
        tpu: Any = None,
        zone: str | None = None,
        project: str | None = None,
        job_name: str = "worker",
        coordinator_name: str | None = None,
        coordinator_address: str | None = None,
        credentials: Any = "default",
        service: Any = None,
        discovery_url: str | None = None,
    ) -> None:
        del zone, project, credentials, service, discovery_url
        tpu = _only(tpu)
        self._is_target = tpu.startswith(_OF_GOOGLE)
        if tpu not in _NO_RESOLVING and not tpu.startswith((_ADDRESS, *_OF_GOOGLE)):
            raise ImportError(
                f'Stillflow cannot look up the Cloud TPU "{tpu}": give its address, '
                '"grpc://host:port". TensorFlow needs googleapiclient and oauth2client for that.'
            )
        self._addresses = [each.removeprefix(_ADDRESS) for each in tpu.split(",")]
        self._coordinator = coordinator_name, coordinator_address
        self.task_type, self.task_id = job_name, 0
        self.rpc_layer = None if self._is_target else "grpc"

    @property
    def environment(self) -> str:
        return "google" if self._is_target else ""

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Return the target for the first of the addresses."""
        del task_type, task_id
        return format_master_url(self._addresses[0], rpc_layer or self.rpc_layer)

    def get_master(self) -> str:
        """See `master`."""
        return self.master()

    def get_job_name(self) -> None:
        """Return the job of TPUs that are looked up by name: none."""
        return

    def cluster_spec(self) -> Any:
        """Return the TPUs, and this process if it has a name in the cluster.

        Return None for a target.
        """
        if self._is_target:
            return None
        jobs = {self.task_type: self._addresses}
        name, address = self._coordinator
        if name and address:
            jobs[name] = [address]
        return ClusterSpec(jobs)


def _only(tpu: Any) -> str:
    """Return the one TPU of a list, or by default that of the environment."""
    if isinstance(tpu, list):
        if not tpu:
            raise ValueError("At least one TPU must be specified.")
        if len(tpu) > 1:
            raise NotImplementedError(
                "Using multiple TPUs in a single session is not yet implemented"
            )
        (tpu,) = tpu
    for name in _VARIABLES:
        tpu = os.environ.get(name) if tpu is None else tpu
    if tpu is None:
        raise ValueError("Please provide a TPU Name to connect to.")
    return str(tpu)
