"""The state a session keeps: variables, queues, random streams, by container and name."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

from stillflow import errors
from stillflow.graph import trust
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation
from stillflow.graph.trust import Policy
from stillflow.runtime.interrupts import Interrupt
from stillflow.util.weak import LiveSet


class Bounds:
    """The policy of the graph that a session runs, shared by all views of its state.

    Attributes:
      policy: None for a graph that is trusted.
    """

    def __init__(self, forget_plans: Callable[[], Any]) -> None:
        self.policy: Policy | None = None
        self._forget_plans = forget_plans

    def limit(self, graph: Any, policy: Policy | None, alone: bool) -> None:
        """Take the policy of a graph, or else of the context that the session was made in.

        Args:
          graph: the graph of the session.
          policy: that of the context.
          alone: False where tasks of a cluster share the run.

        Raises:
          UnimplementedError: if a cluster would run a graph that is limited.
        """
        policy = trust.of(graph) or policy
        if policy is not self.policy:
            self.policy = policy
            self._forget_plans()
        if self.policy is not None and not alone:
            self.policy = None  # the state is not this session's alone
            raise errors.unimplemented(
                "A cluster does not run graphs that come from outside and are limited: its tasks "
                "would not know the limits. Run this one in a session without a target, or trust "
                'it if you know where it comes from (stillflow.graph.trust.limit(graph, "all")).'
            )

    def check(self, node: Any) -> None:
        """Raise PermissionDeniedError for a node that the policy does not allow.

        The body of a function that was loaded from outside has a policy of its own.
        """
        own = trust.of(node.op.graph)
        if own is not None:
            own.check(node)
        if self.policy is not None and self.policy is not own:
            self.policy.check(node)


class DeclaredShapes:
    """The plans that rely on declared shapes of variables, shared by all views of a state.

    Attributes:
      left: the number of variables that have left their declared shapes.
    """

    def __init__(self) -> None:
        self.left = 0
        self._graphs: LiveSet[Graph] = LiveSet()
        self._lock = threading.Lock()

    def relied_on_by(self, graph: Graph) -> None:
        """Register a graph whose plans use the state."""
        with self._lock:
            self._graphs.add(graph)

    def leave(self) -> None:
        """Count a variable that leaves its shape; the plans of all graphs are made again."""
        with self._lock:
            self.left += 1
            for graph in self._graphs:
                graph._edition += 1


class Resources:
    """A session's named objects.

    Args:
      device_of: the torch device an operation runs on.
      from_array: makes a run-time value of a numpy array.
    """

    def __init__(
        self, device_of: Callable[[Operation], Any], from_array: Callable[[Any], Any]
    ) -> None:
        self._objects: dict[tuple[str, str, str], Any] = {}
        self._lock = threading.RLock()  # making one object may ask for another
        self.device_of = device_of
        self.several = False  # whether values have to be moved between devices
        self.threads = 0  # of kernels, at most; 0: as many as there are
        self.engines: Any = None  # the `Choice` of engines for pure regions, if any
        self.compiles = False  # whether operations are to be compiled, marked or not
        self.draws_again = False  # whether operations may have to draw the same numbers twice
        self.from_array = from_array
        self.interrupt = Interrupt()
        self._on_host: Resources | None = None
        self.declared_shapes = DeclaredShapes()
        self.bounds = Bounds(lambda: self.forget("function", ""))

    def configure(self, config: Any) -> None:
        """Take over the options of a `ConfigProto` that plans follow."""
        self.compiles = config.graph_options.optimizer_options.global_jit_level > 0
        self.threads = config.intra_op_parallelism_threads

    def on_host(self) -> Resources:
        """Return the same state, for operations that run on the host with any devices."""
        if not self.several:
            return self
        if self._on_host is None:
            view = copy.copy(self)
            view.device_of, view.several = _host, False
            self._on_host = view
        return self._on_host

    def drawing_again(self) -> Resources:
        """Return the same state, for operations that may have to draw random numbers twice."""
        view = copy.copy(self)
        view.draws_again, view._on_host = True, None
        return view

    def at(self, device: str) -> Resources:
        """Return the state of the task that a device string names.

        In a cluster each has its own.
        """
        del device
        return self

    def get(self, container: str, kind: str, name: str, create: Callable[[], Any]) -> Any:
        """Return the object of that name, made by `create` if there is none yet."""
        key = (container, kind, name)
        found = self._objects.get(key)
        if found is None:
            with self._lock:
                found = self._objects.get(key)
                if found is None:
                    found = self._objects[key] = create()
        return found

    def own(self, container: str, kind: str, name: str, create: Callable[[], Any]) -> Any:
        """Return an object like those of `get` that belongs to one session alone."""
        return self.get(container, kind, name, create)

    def find(self, container: str, kind: str, name: str) -> Any:
        """Return the object of that name, or None."""
        return self._objects.get((container, kind, name))

    def forget(self, kind: str, prefix: str) -> bool:
        """Forget objects of a kind whose names begin so; say whether there were any."""
        with self._lock:
            keys = [key for key in self._objects if key[1] == kind and key[2].startswith(prefix)]
            for key in keys:
                del self._objects[key]
        return bool(keys)

    def clear(self, containers: list[str] | None = None) -> None:
        """Forget all objects, or those of some containers."""
        with self._lock:
            if not containers:
                self._objects.clear()
                return
            for key in [key for key in self._objects if key[0] in containers]:
                del self._objects[key]

    def close(self) -> None:
        """Stop running loops, close all that can be closed and forget everything."""
        self.interrupt.leave(errors.cancelled("Session has been closed."))
        for thing in list(self._objects.values()):
            close = getattr(thing, "close_session", None)
            if close is not None:
                close()
        self.clear()


def _host(_op: Operation) -> str:
    return "cpu"


def resources_of_host() -> Resources:
    """State of a session without any, all of whose operations are on the host."""
    from stillflow.ops.values import from_array

    return Resources(_host, from_array)
