"""TPUs of Google's cloud, by their names or by the addresses of their servers."""

from __future__ import annotations

import os
import re
import sys
import urllib.request
from collections import defaultdict
from typing import Any, NamedTuple
from urllib.error import URLError

from stillflow import errors
from stillflow.distribute.cluster_resolver.base import ClusterResolver, format_master_url
from stillflow.graph.eager_mode import executing_eagerly_outside_functions
from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.platform import tf_logging as logging
from stillflow.runtime.session.session import Session
from stillflow.train.cluster_spec import ClusterSpec
from stillflow.train.server import Server
from stillflow_contrib.distribute.google_cloud import require_client

# Where the environment says which TPU: that of Kubernetes, then the user's.
_KUBERNETES, _USERS = "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "TPU_NAME"
_DISCOVERY = "TPU_API_DISCOVERY_URL"
_METADATA = "http://metadata.google.internal/computeMetadata/v1"
_HEADERS = {"Metadata-Flavor": "Google"}
_ADDRESS = "grpc://"
_TARGETS = ("localhost:", "/bns", "uptc://")  # names that are targets as they are
_CORE = re.compile(r".*task:(?P<host>\d+)/.*device:TPU:(?P<core>\d+)$")
_MOST_RETRIES = 120
_NO_CLIENT = (
    "googleapiclient and oauth2client must be installed before using the TPU cluster resolver. "
    "Execute: `pip install --upgrade google-api-python-client` and `pip install --upgrade "
    "oauth2client` to install with pip."
)


class DeviceDetails(NamedTuple):
    """The cores of TPUs: those of each host, by their numbers, and how many there are."""

    device_map: dict[str, list[str]]
    total_cores: int


def is_running_in_gce() -> bool:
    """Return True on a machine of Google Compute Engine, whose metadata server answers."""
    request = urllib.request.Request(_METADATA, headers=_HEADERS)
    six = sys.modules.get("six")  # whose function programs of its time replace
    web = urllib.request if six is None else six.moves.urllib.request
    try:
        answer = web.urlopen(request, timeout=1)
    except URLError:
        return False
    return bool(answer.info().get("Metadata-Flavor") == "Google")


@export(
    "distribute.cluster_resolver.TPUClusterResolver", "contrib.cluster_resolver.TPUClusterResolver"
)
class TPUClusterResolver(ClusterResolver):
    """Resolver of TPUs: the API of Cloud TPUs is asked for those that go by a name.

    Args:
      tpu: a name, an address, "grpc://host:port", or several addresses with commas between; "" or
        "local" for this process. What Kubernetes says or TPU_NAME if None.
      zone: of a TPU that goes by its name; that of this machine by default.
      project: of such a TPU, likewise.
      job_name: the job that the TPUs make.
      coordinator_name: the job of this process, if the cluster is to have it.
      coordinator_address: its address; a server is started if None, where the cloud is asked.
      credentials: of the account.
      service: the API, instead of that of the package `googleapiclient`.
      discovery_url: where that is described.

    Raises:
      ValueError: if no TPU is given.
      RuntimeError: if "" is given on a machine of Google's cloud.
      ImportError: if there is a name, no service, and the package is not installed.
    """

    task_type: Any = None
    task_id: Any = None
    rpc_layer: Any = None
    _coordinator_port = ""

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
        name = self._only(tpu)
        if not name and is_running_in_gce():
            raise RuntimeError(
                "You need to specify a TPU Name if you are running in the Google Cloud environment."
            )
        self._is_target = name in ("", "local") or name.startswith(_TARGETS)
        if name.startswith("/bns"):
            name = re.sub(r":\d+$", "", name)
        self._is_named = not self._is_target and not name.startswith(_ADDRESS)
        self._tpu = name.removeprefix(_ADDRESS).encode()
        self.task_type, self.task_id = job_name, 0
        self.rpc_layer = None if self._is_target else "grpc"
        self._credentials, self._service = credentials, service
        self._discovery_url = self._environment_discovery_url() or discovery_url
        if self._is_named and service is None:
            require_client(_NO_CLIENT)
        self._place = (
            project or (self._metadata("project/project-id") if self._is_named else ""),
            zone or (self._metadata("instance/zone") if self._is_named else ""),
        )
        self._coordinator_name, self._coordinator_address = coordinator_name, coordinator_address
        if coordinator_name and not coordinator_address and (self._is_named or self._in_gke()):
            self._serve()

    @classmethod
    def _only(cls, tpu: Any) -> str:
        """Return the one TPU of a list, or by default that of the environment."""
        if isinstance(tpu, list):
            if not tpu:
                raise ValueError("At least one TPU must be specified.")
            if len(tpu) > 1:
                raise NotImplementedError(
                    "Using multiple TPUs in a single session is not yet implemented"
                )
            (tpu,) = tpu
        if tpu is None:
            tpu = cls._gke_endpoints() if cls._in_gke() else cls._env_var_fallback()
        if tpu is None:
            raise ValueError("Please provide a TPU Name to connect to.")
        return tpu.decode() if isinstance(tpu, bytes) else str(tpu)

    @staticmethod
    def _in_gke() -> bool:
        return _KUBERNETES in os.environ

    @staticmethod
    def _gke_endpoints() -> str:
        return os.environ[_KUBERNETES]

    @staticmethod
    def _env_var_fallback() -> str | None:
        return os.environ.get(_USERS)

    @staticmethod
    def _environment_discovery_url() -> str | None:
        return os.environ.get(_DISCOVERY)

    def _should_resolve(self) -> bool:
        return self._is_named

    def _metadata(self, path: str) -> str:
        """Return the last part of what this machine's metadata say."""
        found = self._request_compute_metadata(path)
        text = found.decode() if isinstance(found, bytes) else found
        return str(text).rpartition("/")[2]

    def _request_compute_metadata(self, path: str) -> bytes:
        request = urllib.request.Request(f"{_METADATA}/{path}", headers=_HEADERS)
        answer: bytes = urllib.request.urlopen(request).read()
        return answer

    def _serve(self) -> None:
        """Start a server, the coordinator, on all addresses: TPUs connect to it."""
        address = self._metadata("instance/network-interfaces/0/ip")
        self._server = Server({"local": ["0.0.0.0:0"]}, protocol="grpc", start=True)
        target = self._server.target
        port = (target.decode() if isinstance(target, bytes) else target).rpartition(":")[2]
        self._coordinator_port, self._coordinator_address = port, f"{address}:{port}"

    @property
    def environment(self) -> str:
        return "google" if self._is_target else ""

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Return the target for a task of TPUs that go by a name, or for the first address."""
        if self._is_named:
            return self._target(task_type, task_id, rpc_layer)
        return format_master_url(self._addresses()[0], rpc_layer or self.rpc_layer)

    def get_master(self) -> str:
        """See `master`."""
        return self.master()

    def get_job_name(self) -> str | None:
        """Return the job of TPUs; None for addresses, outside of Google's cloud, in graph mode."""
        if executing_eagerly_outside_functions() or self._is_named or is_running_in_gce():
            return str(self.task_type)
        return None

    def cluster_spec(self) -> Any:
        """Return the TPUs, and this process if it has a name in the cluster.

        Return None for a target where graphs are built.

        Raises:
          ValueError: if the cloud has no such TPU.
          RuntimeError: if it is not ready.
        """
        if self._is_named:
            addresses = self._named_addresses()
        elif self._is_target and not executing_eagerly_outside_functions():
            return None
        else:
            addresses = self._addresses()
        jobs = {self.task_type: addresses}
        if self._coordinator_address:
            jobs[self._coordinator_name] = [self._coordinator_address]
        return ClusterSpec(jobs)

    def _addresses(self) -> list[str]:
        return [each.removeprefix(_ADDRESS) for each in self._tpu.decode().split(",")]

    def _named_addresses(self) -> list[str]:
        found, name = self._fetch_cloud_tpu_metadata(), self._tpu.decode()
        if found.get("state", "READY") != "READY":
            raise RuntimeError(f'TPU "{name}" is not yet ready; state: "{found["state"]}"')
        hosts = found.get("networkEndpoints") or [found]  # as it was before there were several
        return [f"{host['ipAddress']}:{host['port']}" for host in hosts]

    def _fetch_cloud_tpu_metadata(self) -> Any:
        name = "projects/{}/locations/{}/nodes/".format(*self._place) + self._tpu.decode()
        try:
            nodes = self._tpu_service().projects().locations().nodes()
            return nodes.get(name=name).execute()
        except Exception as error:
            raise ValueError(
                f"Could not lookup TPU metadata from name '{self._tpu!r}'. Please doublecheck the "
                f"tpu argument in the TPUClusterResolver constructor. Exception: {error}"
            ) from error

    def _tpu_service(self) -> Any:
        """Return the API; a new one each time, as old connections may have failed."""
        if self._service:
            return self._service
        discovery, application = require_client(_NO_CLIENT)
        credentials = self._credentials
        if credentials in (None, "default"):
            credentials = application.get_application_default()
        where = {"discoveryServiceUrl": self._discovery_url} if self._discovery_url else {}
        return discovery.build("tpu", "v1", credentials=credentials, cache_discovery=False, **where)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Return the number of cores of each host of TPUs, from a session's list of devices.

        Raises:
          RuntimeError: if no session can be opened, or hosts have different numbers of cores.
        """
        del task_type, task_id
        for attempt in range(_MOST_RETRIES + 1):
            try:
                with Session(self.master(), Graph(), config_proto) as session:
                    devices = session.list_devices()
                break
            except errors.DeadlineExceededError:
                text = (
                    "Failed to connect to master. The TPU might not be ready (e.g. still "
                    f"scheduling) or the master address is incorrect: got ({self.master()})"
                )
                logging.warning("%s Retrying (%d/%d)...", text, attempt + 1, _MOST_RETRIES)
        else:
            raise RuntimeError(text)
        cores, total = self._get_device_dict_and_cores(devices)
        return {"TPU": self._verify_and_return_same_core_count(cores) if total else 0}

    @staticmethod
    def _get_device_dict_and_cores(devices: Any) -> DeviceDetails:
        cores = defaultdict(list)
        for device in devices:
            if found := _CORE.match(device.name):
                cores[found["host"]].append(found["core"])
        return DeviceDetails(cores, sum(map(len, cores.values())))

    @staticmethod
    def _verify_and_return_same_core_count(device_dict: Any) -> int:
        counts = {len(cores) for cores in device_dict.values()}
        if len(counts) != 1:
            raise RuntimeError(
                "TPU cores on each device is not the same. This should never happen. Devices: "
                f"{device_dict}"
            )
        return counts.pop()

    def __deepcopy__(self, memo: Any) -> TPUClusterResolver:
        return self  # of a `RunConfig`, which copies all that it has
