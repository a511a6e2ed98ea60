"""A session on a cluster: which tasks it has, and how its runs are done by several of them."""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from stillflow import errors, protos
from stillflow.graph.device import DeviceSpecV2
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.debug.watches import writers_of
from stillflow.ops.values import fetch_fed
from stillflow.runtime.cluster import opening, partial_runs, tasks, watched_parts
from stillflow.runtime.cluster.access import Direct, Remote, RemoteTask
from stillflow.runtime.cluster.guests import Task, task_name
from stillflow.runtime.cluster.links import IsTensorFlow
from stillflow.runtime.cluster.partition import Part, Partition
from stillflow.runtime.cluster.plan_by_device import PlanByDevice, fed_devices
from stillflow.runtime.cluster.remote_worker import TensorFlowTask, signed
from stillflow.runtime.cluster.runs import Access, PartOfRun, Run, by_itself
from stillflow.runtime.cluster.tasks import Cluster, LocalTask
from stillflow.runtime.devices.devices import DeviceAttributes
from stillflow.runtime.interrupts import Interrupt
from stillflow.runtime.resources import Resources


class Master:
    """A session's view of its cluster.

    Args:
      target: the task that it names.
      graph: the graph of the session.
      config: its `ConfigProto`, or None.
      check: raises once the session is closed.
    """

    def __init__(
        self, target: LocalTask | RemoteTask, graph: Graph, config: Any, check: Callable[[], None]
    ) -> None:
        self._target, self._graph, self._config, self._check = target, graph, config, check
        self._handle = secrets.token_hex(8)
        self._accesses: dict[str, Access] | None = None
        self._plans: dict[Any, ClusterPlan | None] = {}
        self._registered: dict[tuple[str, bytes], int] = {}
        self._lock = threading.RLock()
        self._watched = 0  # runs that a debugger has watched

    # ---- the tasks

    def _open(self) -> dict[str, Access]:
        """Return the tasks by name, own first; waits for those that have not been started yet."""
        with self._lock:
            if self._accesses is None:
                own, cluster_def = self._own_task()
                cluster = tasks.cluster_of(cluster_def)
                others = [task for task in sorted(cluster) if task != own and self._may_use(task)]
                first = self._access(own, cluster, cluster_def, own, self._check)
                try:
                    found = opening.open_all(
                        {task: cluster[task] for task in others},
                        lambda task, check: self._access(task, cluster, cluster_def, own, check),
                        self._check,
                    )
                except BaseException:
                    first.close()
                    raise
                accesses = {own: first, **found}
                self._accesses = {task_name(task): each for task, each in accesses.items()}
            return self._accesses

    def _own_task(self) -> tuple[Task, Any]:
        """Return the target task, and the session's cluster, in which it must be."""
        config = self._config
        if config is None or not config.HasField("cluster_def"):
            return self._target.task, self._target.cluster_def
        address = self._target.target.partition("://")[2]
        cluster = tasks.cluster_of(config.cluster_def)
        matching = [task for task, there in cluster.items() if there == address]
        if len(matching) != 1:
            how = "Found multiple matching tasks" if matching else "The master is not among tasks"
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{how} that correspond to to the master. Master target: "
                f"'{self._target.target}'. ClusterDef: "
                f"{' '.join(str(config.cluster_def).split())}",
            )
        return matching[0], config.cluster_def

    def _may_use(self, task: Task) -> bool:
        """Return True if the session's device filters let a task pass."""
        names = self._config.device_filters if self._config is not None else ()
        filters = [DeviceSpecV2.from_string(name) for name in names]
        return not filters or any(
            wanted.job in (None, task[0]) and wanted.task in (None, task[1]) for wanted in filters
        )

    def _access(
        self, task: Task, cluster: Cluster, cluster_def: Any, own: Task, check: Callable[[], None]
    ) -> Access:
        address = cluster[task]
        if task == own:
            if isinstance(self._target, LocalTask):
                guest = self._target.open(self._handle, task, cluster_def, self._config)
                guest.states_of = id(self._graph)
                return Direct(self._target, guest)
            address = self._target.address
        try:
            return Remote(address, self._handle, task, cluster_def, self._config, check)
        except IsTensorFlow:
            own_session = self._config is not None and self._config.HasField("cluster_def")
            return TensorFlowTask(address, self._handle, task, cluster_def, own_session)

    def devices(self) -> list[DeviceAttributes]:
        """Return the devices of all tasks, those of the target first."""
        return [device for access in self._open().values() for device in access.devices]

    places = devices  # for operations, in this process

    def resources(self) -> Resources | None:
        """Return the session's resources in the task of this process; None if there is none."""
        own, *_ = self._open().values()
        return own.guest.resources if isinstance(own, Direct) else None

    def close(self) -> None:
        """Release the session's state in all tasks."""
        with self._lock:
            accesses, self._accesses = self._accesses or {}, None
            self._plans.clear()
        for access in accesses.values():
            access.close()

    # ---- runs

    def forget_plans(self) -> None:
        """Drop the plans of a changed graph; the tasks keep their parts."""
        self._plans.clear()

    def plan(
        self,
        tensors: Sequence[Tensor],
        targets: Sequence[Operation],
        fed: Sequence[Tensor],
        device_of: Callable[[Operation], str],
        ran: frozenset[Operation] | None = None,
        names: Mapping[Tensor, Any] | None = None,
    ) -> ClusterPlan | PlanByDevice | None:
        """Return the distributed plan of a run; None if this process can do all of it.

        Args:
          tensors: the fetches.
          targets: operations that run.
          fed: the feeds.
          device_of: the full name of an operation's device.
          ran: of a step of a partial run, the operations that earlier ones ran.
          names: of feeds that name devices, once they are known, the values.
        """
        values = None if names is None else tuple(name.item() for name in names.values())
        key = (tuple(tensors), tuple(targets), tuple(fed), ran, values)
        if names is None and (places := fed_devices(fed)):
            return PlanByDevice(
                lambda known: self.plan(tensors, targets, fed, device_of, ran, known), places
            )
        with self._lock:
            if key not in self._plans:
                accesses = self._open()
                own, access = next(iter(accesses.items()))
                known = {d.name: signed(d.incarnation) for d in self.devices()}
                partition = Partition(tensors, targets, fed, device_of, known, ran or (), names)
                alone = ran is None and not names and isinstance(access, Direct)
                if alone and partition.tasks <= {own}:
                    self._plans[key] = None
                else:
                    given = [partition.now(tensor) for tensor in fed]
                    wanted = [partition.now(tensor) for tensor in tensors]
                    parts = [self._part_of_run(part, given) for part in partition.parts()]
                    self._plans[key] = ClusterPlan(
                        parts, wanted, given, self._graph,
                        lambda: self._partial_run(tensors, targets, fed, device_of),
                        lambda options: self._begin_watched(tensors, targets, fed, options),
                    )  # fmt: skip
            return self._plans[key]

    def _partial_run(
        self, tensors: Sequence[Tensor], targets: Sequence[Operation], fed: Sequence[Tensor],
        device_of: Callable[[Operation], str],
    ) -> partial_runs.PartialRun:  # fmt: skip
        def make(
            fetched: Any, known: Any, ran: frozenset[Operation]
        ) -> ClusterPlan | PlanByDevice | None:
            return self.plan(fetched, [], known, device_of, ran)

        return partial_runs.begun(make, tensors, targets, fed, self._graph._edition)

    def _begin_watched(
        self, tensors: Sequence[Tensor], targets: Sequence[Operation], fed: Sequence[Tensor],
        options: Any,
    ) -> None:  # fmt: skip
        for writer in writers_of(options).values():
            writer.core_metadata(self._watched, options.global_step, fed, tensors, targets)
        self._watched += 1

    def _part_of_run(self, part: Part, fed: Sequence[Tensor]) -> PartOfRun:
        access = self._open()[part.task]
        fetches = [tensor.name for tensor in part.fetches]
        wanted = (part.graph, list(part.feeds.values()), fetches, part.targets)
        text = part.graph.SerializeToString(deterministic=True) + repr(wanted[1:]).encode()
        key = part.task, hashlib.sha256(text).digest()
        number = self._registered.get(key)
        if number is None:
            tensors = (part.fetches,) if isinstance(access, TensorFlowTask) else ()
            number = self._registered[key] = access.register(*wanted, *tensors)
        places = [fed.index(tensor) for tensor in part.feeds]
        return PartOfRun(access, number, part.graph, places, list(part.feeds), part.fetches)

    def at_home(self, plan: Callable[..., list[Any]], session: Interrupt) -> Any:
        """Return a plan of this process that fails as one of the cluster does; see `by_itself`."""
        return by_itself(plan, next(iter(self._open())), session, self._graph)


class ClusterPlan:
    """One `Session.run` signature, done by several tasks.

    Args:
      parts: the part of each task.
      tensors: the fetches, in order.
      fed: the feeds, in order.
      graph: the session's.
      partial: makes the state of such a run in steps.
      watch: tells a debugger the fetches, targets and feeds, as a `DebugOptions` says.
    """

    def __init__(
        self,
        parts: list[PartOfRun],
        tensors: Sequence[Tensor],
        fed: Sequence[Tensor],
        graph: Graph,
        partial: Callable[[], partial_runs.PartialRun],
        watch: Callable[[Any], None],
    ) -> None:
        self._parts, self._tensors, self._graph = parts, tensors, graph
        self._partial, self._watch = partial, watch
        self._fed = {tensor: place for place, tensor in enumerate(fed)}

    def run(self, session: Interrupt, *arrays: np.ndarray) -> list[Any]:
        """Run.

        Args:
          session: ends all runs of the session.
          *arrays: the feeds.
        """
        return self._values(Run(self._parts, arrays), session)

    def partial_run(self, runs: dict[Any, Any]) -> str:
        """Set up a run in steps, add it to `runs`, and return its handle."""
        run = self._partial()
        runs[run.handle] = run
        return run.handle

    def traced(
        self, session: Interrupt, arrays: Iterable[np.ndarray], options: Any, metadata: Any
    ) -> list[Any]:
        """Run as a `RunOptions` message (or None) says; fill in a `RunMetadata`, if there is one.

        Raises:
          tf.errors.UnimplementedError: if tensors of TensorFlow's tasks are to be watched.
        """
        wants_trace = metadata is not None and options is not None and options.trace_level > 0
        level = protos.RunOptions(trace_level=options.trace_level) if wants_trace else None
        if watched_parts.is_watched(options):
            if any(isinstance(part.access, TensorFlowTask) for part in self._parts):
                raise errors.unimplemented(
                    "Stillflow cannot watch tensors of tasks that TensorFlow's protocol asks"
                )
            self._watch(options.debug_options)
            level = protos.RunOptions(debug_options=options.debug_options)
        run = Run(self._parts, tuple(arrays), level)
        values = self._values(run, session)
        if metadata is not None:
            metadata.Clear()
            for part in run.metadata:
                metadata.MergeFrom(part)
            if options is not None and options.output_partition_graphs:
                metadata.partition_graphs.extend(part.graph for part in self._parts)
        return values

    def _values(self, run: Run, session: Interrupt) -> list[Any]:
        found = run.values(session, self._graph)
        arrays, fed = run.arrays, self._fed
        return [
            fetch_fed(arrays[fed[tensor]]) if tensor in fed else found[tensor]
            for tensor in self._tensors
        ]
