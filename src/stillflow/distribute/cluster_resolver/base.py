"""Resolvers of clusters: the base, one for a cluster that is known, and the union of several."""

from __future__ import annotations

import abc
from collections import defaultdict
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.runtime.session.session import Session
from stillflow.train.cluster_spec import ClusterSpec


def format_master_url(master: str, rpc_layer: str | None = None) -> str:
    """Return an address with the protocol in front of it, if there is one."""
    return f"{rpc_layer}://{master}" if rpc_layer else master


@export("distribute.cluster_resolver.ClusterResolver", "contrib.cluster_resolver.ClusterResolver")
class ClusterResolver(abc.ABC):
    """Resolver of a cluster's present tasks, and of the one that sessions connect to.

    Attributes:
      task_type: the job of this process, None if it is not known.
      task_id: its index in the job, None if it is not known.
      rpc_layer: the protocol of targets, "grpc"; None if they are to name none.
    """

    task_type: Any
    task_id: Any
    rpc_layer: Any

    @abc.abstractmethod
    def cluster_spec(self) -> Any:
        """Return the cluster as it is now, a `ClusterSpec`."""
        raise NotImplementedError

    @abc.abstractmethod
    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Return the target of sessions.

        Args:
          task_type: the job of the task to be named, if not that of this process.
          task_id: its index.
          rpc_layer: the protocol, if not that of the resolver.
        """
        raise NotImplementedError

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[Any, Any]:
        """Return the number of devices of each type, from a session's list of them.

        Args:
          task_type: the job of the task whose devices count; with no index, those of all tasks.
          task_id: its index.
          config_proto: the `ConfigProto` of the session.
        """
        with Session(self.master(task_type, task_id), Graph(), config_proto) as session:
            devices = session.list_devices()
        counts: dict[str, int] = defaultdict(int)
        for device in devices:
            parts = device.name.split("/")
            named = task_type is not None and task_id is not None
            if not named or {f"job:{task_type}", f"task:{task_id}"} <= set(parts):
                counts[device.device_type] += 1
        return counts

    @property
    def environment(self) -> str | None:
        """The environment: "google" inside of Google, else empty."""
        return ""

    def _target(self, task_type: Any, task_id: Any, rpc_layer: Any) -> str:
        """Return the target for a task of the cluster; "" where no task is named."""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        if task_type is None or task_id is None:
            return ""
        address = self.cluster_spec().task_address(task_type, task_id)
        return format_master_url(address, rpc_layer or self.rpc_layer)


@export(
    "distribute.cluster_resolver.SimpleClusterResolver",
    "contrib.cluster_resolver.SimpleClusterResolver",
)
class SimpleClusterResolver(ClusterResolver):
    """A cluster that is known.

    Args:
      cluster_spec: the `ClusterSpec`.
      master: the target of sessions.
      task_type: the job of this process.
      task_id: its index in the job.
      environment: value of `environment`.
      num_accelerators: the result of `num_accelerators`.
      rpc_layer: the protocol of targets.

    Raises:
      TypeError: if `cluster_spec` is no `ClusterSpec`, or `master` no string.
    """

    task_type: Any = None
    task_id: Any = None
    rpc_layer: Any = None

    def __init__(
        self,
        cluster_spec: Any,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: Any = None,
        rpc_layer: str | None = None,
    ) -> None:
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError("cluster_spec must be a ClusterSpec.")
        if not isinstance(master, str):
            raise TypeError("master must be a string.")
        self._cluster_spec, self._master = cluster_spec, master
        self._environment, self._num_accelerators = environment, num_accelerators
        self.task_type, self.task_id, self.rpc_layer = task_type, task_id, rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """Return the cluster."""
        return self._cluster_spec

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Return the target that was given, or that of a task."""
        if task_type is not None and task_id is not None:
            return self._target(task_type, task_id, rpc_layer)
        return format_master_url(self._master, rpc_layer or self.rpc_layer)

    @property
    def environment(self) -> str:
        return self._environment

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Return the given numbers; the cluster is not asked."""
        del task_type, task_id, config_proto
        return {} if self._num_accelerators is None else self._num_accelerators


def _of_first(name: str) -> Any:
    """Return a property with the set value, or that of the first resolver."""
    private = f"_{name}"

    def get(self: UnionClusterResolver) -> Any:
        return getattr(self, private) or getattr(self._cluster_resolvers[0], name)

    def put(self: UnionClusterResolver, value: Any) -> None:
        setattr(self, private, value)

    return property(get, put, doc=f"`{name}` of the first resolver, unless it was set.")


@export(
    "distribute.cluster_resolver.UnionResolver", "contrib.cluster_resolver.UnionClusterResolver"
)
class UnionClusterResolver(ClusterResolver):
    """The tasks of several resolvers as one cluster.

    Args:
      *args: the resolvers.
      **kwargs: `rpc_layer`, `task_type` and `task_id`, where they are not those of the first one.

    Raises:
      TypeError: if an argument is no resolver.
      ValueError: if there is none, or another keyword.
    """

    rpc_layer = _of_first("rpc_layer")
    task_type = _of_first("task_type")
    task_id = _of_first("task_id")
    _cluster_resolvers: tuple[ClusterResolver, ...]

    def __init__(self, *args: ClusterResolver, **kwargs: Any) -> None:
        own = {f"_{name}": kwargs.pop(name, None) for name in ("rpc_layer", "task_type", "task_id")}
        if kwargs:
            raise ValueError(f"Unexpected kwargs provided {kwargs!r}")
        if not args:
            raise ValueError("At least one ClusterResolver is required.")
        for resolver in args:
            if not isinstance(resolver, ClusterResolver):
                raise TypeError("All arguments must be a sub-class of `ClusterResolver.`")
        vars(self).update(own, _cluster_resolvers=args)

    def cluster_spec(self) -> ClusterSpec:
        """Return the union: lists of tasks one behind the other, or all by their indices.

        Raises:
          KeyError: if two tasks of a job that goes by indices have the same one.
        """
        clusters = [resolver.cluster_spec().as_dict() for resolver in self._cluster_resolvers]
        merged: dict[str, Any] = {}
        for job in dict.fromkeys(job for cluster in clusters for job in cluster):
            parts = [cluster[job] for cluster in clusters if job in cluster]
            if all(isinstance(tasks, list) for tasks in parts):
                merged[job] = [address for tasks in parts for address in tasks]
            else:
                merged[job] = _by_index(job, parts)
        return ClusterSpec(merged)

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Return the target of the first resolver, or that of a task."""
        if task_type is not None and task_id is not None:
            return self._target(task_type, task_id, rpc_layer)
        return self._cluster_resolvers[0].master(rpc_layer=rpc_layer)

    @property
    def environment(self) -> Any:
        return self._cluster_resolvers[0].environment

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[Any, Any]:
        """Return the first resolver's numbers."""
        return self._cluster_resolvers[0].num_accelerators(task_type, task_id, config_proto)


def _by_index(job: str, parts: list[Any]) -> dict[int, str]:
    merged: dict[int, str] = {}
    for tasks in parts:
        indexed = dict(enumerate(tasks)) if isinstance(tasks, list) else tasks
        twice = merged.keys() & indexed.keys()
        if twice:
            raise KeyError(
                f"Duplicate keys detected when merging two ClusterSpecs for job {job}: {twice!r}"
            )
        merged.update(indexed)
    return merged
