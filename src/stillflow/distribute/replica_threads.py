"""Building a function once for each replica, with points at which all replicas meet.

Each replica has a thread, so that it can stop in the middle of the function: where it calls
`merge_call` it waits until the others are there too, and the thread that started the replicas
builds the operations for all of them. Only one of the threads builds at any time.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable
from typing import Any

from stillflow.distribute.device_map import DeviceMap
from stillflow.distribute.replica_context import ReplicaContext, require_replica_context
from stillflow.distribute.values import Delegate, regroup, select_replica
from stillflow.graph.api import control_dependencies, device, init_scope, name_scope
from stillflow.graph.constant_value import constant_value
from stillflow.graph.graph import get_default_graph
from stillflow.graph.summary_state import state
from stillflow.ops.constants import constant
from stillflow.variables.creation import variable_creator_scope
from stillflow.variables.variable_scope import get_variable_scope, variable_scope


def call_for_each_replica(
    strategy: Any, device_map: DeviceMap, fn: Callable[..., Any], args: Any, kwargs: Any
) -> Any:
    """Build `fn(*args, **kwargs)` for each replica; return values with parts of all.

    Values with a part for each replica are given as that part. RuntimeError if some replicas meet
    the others more often than others.
    """
    graph = get_default_graph()
    if not graph.runs_at_once:
        graph.switch_to_thread_local()
    shared = SharedVariables()
    replicas = [
        _Replica(
            strategy, device_map, number, shared, fn,
            select_replica(number, args), select_replica(number, kwargs),
        )
        for number in range(device_map.num_replicas_in_graph)
    ]  # fmt: skip
    try:
        while True:
            for replica in replicas:
                replica.go_on()
            done = [replica.done for replica in replicas]
            if all(done):
                break
            if any(done):
                raise RuntimeError(
                    "Some replicas made a different number of replica_context().merge_call() calls."
                )
            _merge(strategy, device_map, replicas)
    finally:
        for replica in replicas:
            replica.stop()
    return regroup(device_map, tuple(replica.result for replica in replicas))


def _merge(strategy: Any, device_map: DeviceMap, replicas: list[_Replica]) -> None:
    """Build the requests of the replicas, in the scopes of the first of them."""
    calls = [replica.call for replica in replicas]
    args = regroup(device_map, tuple(call.args for call in calls))
    kwargs = regroup(device_map, tuple(call.kwargs for call in calls))
    first = calls[0]
    waited_for: list[Any] = []
    for call in calls:
        waited_for += [op for op in call.control_inputs if op not in waited_for]
    with (
        name_scope(first.name_scope),
        control_dependencies(waited_for),
        variable_scope(first.variable_scope),
    ):
        result = first.fn(strategy, *args, **kwargs)
    for number, replica in enumerate(replicas):
        replica.merged = select_replica(number, result)


class _Call:
    """Call that a replica requests for all of them, and the scopes it was in."""

    def __init__(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> None:
        graph = get_default_graph()
        self.fn, self.args, self.kwargs = fn, args, kwargs
        scope = graph.get_name_scope()
        self.name_scope = scope and scope + "/"
        self.variable_scope = get_variable_scope()
        self.control_inputs = sorted(graph._current_control_dependencies(), key=_age)


def _age(op: Any) -> int:
    return int(op._id)


class _Stopped(BaseException):
    """Stop of a replica's function after another one failed."""


class _Replica:
    """A replica's thread, which builds only between `go_on()` and its next stop."""

    def __init__(
        self, strategy: Any, device_map: DeviceMap, number: int, shared: SharedVariables,
        fn: Callable[..., Any], args: Any, kwargs: Any,
    ) -> None:  # fmt: skip
        self._strategy, self._number = strategy, number
        self._device = device_map.logical_to_actual_devices(0)[number]
        self._create_variable = shared.creator(number)
        self._fn, self._args, self._kwargs = fn, args, kwargs
        self._is_building = self._is_over = False
        self._error: BaseException | None = None
        self.done = False
        self.result: Any = None
        self.call: Any = None
        self.merged: Any = None
        self.graph = get_default_graph()
        # Waiting gives up the graph's lock, which is held where a loop's body is built.
        self._turns = threading.Condition(self.graph._lock)
        self._control_flow = self.graph._get_control_flow_context()
        with init_scope():
            self._initial_graph = get_default_graph()
        self._creators = self.graph._variable_creator_stack
        self._variable_scope = get_variable_scope()
        scope = self.graph.get_name_scope()
        self._name_scope = scope and scope + "/"
        if number > 0:
            self._name_scope += f"replica_{number}/"
        self._summaries = dict(vars(state))
        self._is_alive = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def go_on(self) -> None:
        """Run the function to its end, or to the next call for all replicas."""
        with self._turns:
            self._is_building = True
            self._turns.notify_all()
            self._turns.wait_for(lambda: not self._is_building)
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Stop the thread."""
        with self._turns:
            self._is_over = True
            self._turns.notify_all()
            self._turns.wait_for(lambda: not self._is_alive)
        self._thread.join()

    def merge_call(self, call: _Call) -> Any:
        """Wait until the operations for all replicas are built, and return this replica's part."""
        self.call = call
        with self._turns:
            self._is_building = False
            self._turns.notify_all()
            self._wait()
        return self.merged

    def _wait(self) -> None:
        self._turns.wait_for(lambda: self._is_building or self._is_over)
        if self._is_over:
            raise _Stopped

    def _run(self) -> None:
        try:
            with self._turns:
                self._wait()
            vars(state).update(self._summaries)
            with contextlib.ExitStack() as stack:
                self._enter_scopes(stack)
                self.result = self._fn(*self._args, **self._kwargs)
            self.done = True
        except _Stopped:
            pass
        except BaseException as error:  # raised again where the replicas were asked for
            self._error = error
        finally:
            with self._turns:
                self._is_building = self._is_alive = False
                self._turns.notify_all()

    def _enter_scopes(self, stack: contextlib.ExitStack) -> None:
        stack.enter_context(self._initial_graph.as_default())
        stack.enter_context(self.graph.as_default())
        self.graph._variable_creator_stack = self._creators
        self.graph._set_control_flow_context(self._control_flow)
        stack.enter_context(MirroredReplicaContext(self._strategy, constant(self._number), self))
        stack.enter_context(device(self._device))
        stack.enter_context(name_scope(self._name_scope))
        stack.enter_context(variable_scope(self._variable_scope, reuse=self._number > 0))
        stack.enter_context(variable_creator_scope(self._create_variable))


class MirroredReplicaContext(ReplicaContext):
    """A replica that has a thread of its own."""

    def __init__(self, strategy: Any, replica_id_in_sync_group: Any, replica: _Replica) -> None:
        super().__init__(strategy, replica_id_in_sync_group)
        self._replica = replica

    def _merge_call(self, merge_fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if get_default_graph() is not self._replica.graph:
            raise RuntimeError(
                "`merge_call` called while defining a new graph or a tf.function. This can often "
                "happen if the function `fn` passed to `strategy.experimental_run()` is decorated "
                "with `@tf.function` (or contains a nested `@tf.function`), and `fn` contains a "
                "synchronization point, such as aggregating gradients. This behavior is not yet "
                "supported. Instead, please wrap the entire call `strategy.experimental_run(fn)` "
                "in a `@tf.function`, and avoid nested `tf.function`s that may potentially cross "
                "a synchronization boundary."
            )
        return self._replica.merge_call(_Call(merge_fn, args, kwargs))

    @property
    def devices(self) -> tuple[str]:
        require_replica_context(self)
        number = constant_value(self._replica_id)
        assert number is not None
        return (self._strategy.extended.worker_devices[int(number)],)


class SharedVariables:
    """The variables that the first replica makes, which the others find in the same order."""

    def __init__(self, made: dict[str, list[Any]] | None = None) -> None:
        self._made: dict[str, list[Any]] = {} if made is None else made

    def creator(self, number: int) -> Callable[..., Any]:
        """Return a variable creator for a replica."""
        return self._make if number == 0 else self._finder(number)

    def _make(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        variable = next_creator(**kwargs)
        self._made.setdefault(plain_name(kwargs.get("name")), []).append(variable)
        return variable

    def _finder(self, number: int) -> Callable[..., Any]:
        found: dict[str, int] = {}

        def find(next_creator: Callable[..., Any], **kwargs: Any) -> Delegate:
            del next_creator
            name = kwargs.get("name")
            plain = plain_name(name)
            place = found.get(plain, 0)
            if place >= len(self._made.get(plain, ())):
                raise RuntimeError(
                    f"Tried to create variable {name} with mismatching name on device {number}"
                )
            found[plain] = place + 1
            return self._made[plain][place]

        return find


def plain_name(name: str | None) -> str:
    """Return a variable's name without the numbers that make names unique."""
    if name is None:
        return "Variable"
    return re.sub(r"_\d$", "", re.sub(r"_\d/", "/", name))
