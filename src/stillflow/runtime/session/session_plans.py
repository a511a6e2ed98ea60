"""Plans of a session, with the state, the devices and the graph that they are made for."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow import errors
from stillflow.graph import trust
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.graph.rewiring import check as check_rewired
from stillflow.platform import tf_logging
from stillflow.runtime.cluster import targets
from stillflow.runtime.devices.allocation import keep_freed_memory
from stillflow.runtime.devices.devices import DeviceAttributes, session_devices
from stillflow.runtime.devices.placement import Placement
from stillflow.runtime.engines.setting import session_engines
from stillflow.runtime.executor import remedies
from stillflow.runtime.plan.cache import PlanCaches, Shapes
from stillflow.runtime.resources import Resources, resources_of_host
from stillflow.runtime.session import mixed_precision_state
from stillflow.runtime.session.fetches import Fetches
from stillflow.runtime.session.settings import session_config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from stillflow.runtime.cluster.remote_master import SharedPlan
    from stillflow.runtime.engines.choice import Choice
    from stillflow.runtime.tracing.run_metadata import TracedRuns


class SessionPlans:
    """Plans of a session's runs, which hold until the graph changes.

    Args:
      target: empty, or that of a `tf.train.Server`, whose cluster then keeps the state.
      graph: what to run; the default graph if None.
      config: a `ConfigProto`.
    """

    def __init__(self, target: str, graph: Graph | None, config: Any) -> None:
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
        self._graph = get_default_graph().of_sessions if graph is None else graph
        self._target = targets.as_bytes(target)
        self._server = targets.find(self._target)
        if config is not None and type(config).__name__ != "ConfigProto":
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
        if config is None:
            config = session_config() if self._server is None else self._server.config
        self._config = mixed_precision_state.session_config(config)
        self._closed = self._cancelled = self._aborted = False
        self._policy = trust.current()  # of graphs from outside
        # The master of a cluster's tasks; None for a session by itself.
        self._master = targets.master(self._server, self._graph, self._config, self._check_alive)
        self._lock = threading.RLock()
        self._resources: Resources | None = None
        self._fetches: dict[Any, Fetches] = {}
        self._plans: PlanCaches[Any] = PlanCaches()
        self._traced: Any = None  # made when a run is to be traced
        self._watched: Any = None  # made when a run is to be watched
        self._edition = -1
        self._changes = 0  # how often the graph had changed before a run
        alone = self._master is None
        devices = self.list_devices if self._master is None else self._master.places
        self._placement = Placement(self._graph, self._config, devices, alone)

    def _free(self) -> None:
        self._cancelled = True
        with self._lock:
            if self._resources is not None:
                self._resources.close()
            if self._master is not None:
                self._master.close()
            self._plans.clear()
            self._fetches.clear()

    def list_devices(self) -> list[DeviceAttributes]:
        """Return the devices this session can place operations on."""
        return session_devices(self._config) if self._master is None else self._master.devices()

    def _take_changes(self) -> None:
        """Drop plans of the former graph, and check its additions."""
        with self._lock:
            edition = self._graph._edition
            if edition == self._edition:  # there are none, or another thread was quicker
                return
            self._plans.clear()
            if self._master is not None:
                self._master.forget_plans()
            if self._traced is not None:
                self._traced.forget()
            check_rewired(self._graph)
            self._changes += 1
            if self._changes == remedies.MANY_CHANGES:
                tf_logging.warning(remedies.growing_graph(self._graph.get_operations()[-1]))
            self._placement.place_new()
            self._edition = edition

    def _traced_runs(self, finish: Callable[..., None]) -> TracedRuns:
        self._take_changes()
        with self._lock:
            if self._traced is None:
                from stillflow.runtime.tracing.run_metadata import TracedRuns

                self._traced = TracedRuns(
                    self._get_resources(), self._placement, self._config, finish
                )
            return self._traced

    def _execute_watched(
        self, watches: Any, handler: Fetches, feeds: dict[Tensor, np.ndarray]
    ) -> list[Any]:
        """Run as a `DebugOptions` message asks for."""
        from stillflow.runtime.executor.watched_runs import WatchedRuns

        self._take_changes()
        with self._lock:
            if self._watched is None:
                self._watched = WatchedRuns(self._get_resources(), self._placement)
        return self._watched.run(handler, feeds, watches)

    @functools.cached_property
    def _engines(self) -> Choice | None:
        """The engines that may run parts of plans."""
        return None if self._master else session_engines(self._config)

    def _plan_for(self, handler: Fetches, feeds: dict[Tensor, np.ndarray]) -> Any:
        """Return the plan for these feed shapes, or one for any of the shapes so far."""

        def make(shapes: Shapes) -> Any:
            self._placement.place_pruned(handler.tensors, handler.targets, feeds)
            dims = dict(zip(feeds, shapes, strict=True))
            make_plan = functools.partial(self._make_plan, handler, feeds, dims)
            self._check_alive()
            several = len(self._placement.devices()) > 1
            if self._engines is None or several or self._policy or trust.of(self._graph):
                return make_plan()
            return self._engines.plan_of(handler, dims, make_plan)

        with self._lock:
            shapes = tuple(array.shape for array in feeds.values())
            return self._plans.get((handler, *feeds), shapes, make)

    def _make_plan(self, handler: Fetches, feeds: Iterable[Tensor], dims: Any) -> Any:
        from stillflow.runtime.session.two_part_runs import plan_of_run

        resources = self._get_resources()
        shared = self._shared(handler, feeds)
        if shared is not None:
            return functools.partial(shared.run, resources.interrupt)
        plan = plan_of_run(resources, handler, dims, self._master is None)
        return plan if self._master is None else self._master.at_home(plan, resources.interrupt)

    def _shared(self, handler: Fetches, feeds: Iterable[Tensor]) -> SharedPlan | None:
        """Return the distributed plan of a run; None if this process does it by itself."""
        if self._master is None:
            return None
        self._take_changes()
        device_of = self._placement.device_of
        return self._master.plan(handler.tensors, handler.targets, list(feeds), device_of)

    def _check_alive(self) -> None:
        if self._cancelled:  # while another thread was about to run
            raise errors.cancelled("Session has been closed.")
        if self._aborted:
            raise errors.aborted(f"Session {id(self):x} is not found.")

    def _get_resources(self) -> Resources:
        self._check_alive()
        if self._resources is None:
            with self._lock:  # threads that run for the first time share the objects made here
                self._resources = self._resources or self._make_resources()
        self._resources.bounds.limit(self._graph, self._policy, alone=self._master is None)
        return self._resources

    def _make_resources(self) -> Resources:
        keep_freed_memory()
        resources = (self._master and self._master.resources()) or resources_of_host()
        resources.declared_shapes.relied_on_by(self._graph)
        if self._server is not None:
            self._server.watch_resets(self._abort)
        if self._config is not None:
            resources.configure(self._config)
        resources.engines = self._engines
        if not self._placement.is_on_host():
            resources.device_of = self._placement.torch_device
            resources.several = True
        return resources

    def _abort(self) -> None:
        """Make all further runs fail: the server was reset."""
        self._aborted = True
        self._plans.clear()
