"""Tasks of a cluster that are in this process: state that outlives the sessions on them."""

from __future__ import annotations

import secrets
import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from stillflow import errors
from stillflow.runtime.cluster.guests import Guest, SessionResources, Task, task_name
from stillflow.runtime.cluster.peers import Peers
from stillflow.runtime.cluster.rendezvous import Rendezvous
from stillflow.runtime.devices.devices import DeviceAttributes, session_devices
from stillflow.runtime.resources import Resources

Cluster = dict[Task, str]


def cluster_of(cluster_def: Any) -> Cluster:
    """Return the addresses that a `ClusterDef` names."""
    return {(job.name, index): job.tasks[index] for job in cluster_def.job for index in job.tasks}


class LocalTask:
    """Task of a cluster, and its state.

    Args:
      target: the target for sessions, `grpc://host:port`.
      task: which one it is.
      config: the `ConfigProto` of sessions that bring none, or None.
      cluster_def: all tasks.
    """

    def __init__(self, target: str, task: Task, config: Any, cluster_def: Any) -> None:
        self.target, self.task, self.config = target, task, config
        self.cluster_def = cluster_def
        self.rendezvous = Rendezvous()
        self._incarnation = secrets.randbits(63) | 1
        self._guests: dict[str, Guest] = {}
        self._sessions: list[weakref.WeakMethod[Any]] = []
        self._shared: Resources | None = None
        self._lock = threading.Lock()

    def devices(self, task: Task | None = None) -> list[DeviceAttributes]:
        """Return the devices of the task, by the name that it has in a session's cluster."""
        prefix = f"{task_name(task or self.task)}/device:"
        found = session_devices(self.config, prefix)
        return [replace(device, incarnation=self._incarnation) for device in found]

    def open(
        self, handle: str, task: Task, cluster_def: Any, config: Any, asks: bool = False
    ) -> Guest:
        """Open a session.

        Args:
          handle: its name.
          task: which task of its cluster this is.
          cluster_def: its cluster.
          config: its `ConfigProto`, or None.
          asks: whether its master is TensorFlow, so that all tasks ask for the others' values.
        """
        devices = self.devices(task)
        resources = SessionResources(_new_state() if _is_isolated(config) else self._state())
        if config is not None:
            resources.configure(config)
        peers = Peers(task, cluster_of(cluster_def), self.rendezvous, asks)
        guest = Guest(handle, task, peers, devices, resources)
        with self._lock:
            self._guests[handle] = guest
        return guest

    def guest(self, handle: str) -> Guest:
        """Return a session that was let in.

        Raises:
          tf.errors.AbortedError: if there is none.
        """
        guest = self.find(handle)
        if guest is None:
            raise errors.AbortedError(
                None, None, f"Session handle is not found: {handle}. Possibly this worker "
                f'("{task_name(self.task)}") just restarted.',
            )  # fmt: skip
        return guest

    def find(self, handle: str) -> Guest | None:
        """Return a session that was let in and has not left; None if there is none."""
        return self._guests.get(handle)

    def close(self, handle: str) -> None:
        """Close a session, and abort its steps here."""
        with self._lock:
            guest = self._guests.pop(handle, None)
        if guest is not None:
            guest.close()

    def watch_resets(self, abort: Callable[[], None]) -> None:
        """Has a method of a session called when the cluster is reset by way of this task."""
        with self._lock:
            self._sessions.append(weakref.WeakMethod(abort))

    def end_sessions(self) -> None:
        """End the sessions that have this task as their target."""
        with self._lock:
            sessions, self._sessions = self._sessions, []
        for session in sessions:
            abort = session()
            if abort is not None:
                abort()

    def clear(self, containers: list[str] | None) -> None:
        """Forget the state in some containers, or all."""
        with self._lock:
            shared = self._shared
        if shared is not None:
            shared.clear(containers or None)

    def queue_lengths(self) -> dict[str, int]:
        """Return how many elements are in each queue."""
        with self._lock:
            states = [self._shared, *(guest.resources for guest in self._guests.values())]
        objects = [each for state in states if state for each in [*state._objects.items()]]
        return {name: queue.size() for (_, kind, name), queue in objects if kind == "queue"}

    def running_steps(self) -> int:
        """Return the number of steps that this task takes part in now."""
        with self._lock:
            return sum(len(guest.steps._open) for guest in self._guests.values())

    def _state(self) -> Resources:
        with self._lock:
            if self._shared is None:
                self._shared = _new_state()
            return self._shared


def _is_isolated(config: Any) -> bool:
    """Return True if a session does not share its state: by an option, or with its own cluster."""
    return config is not None and (
        config.isolate_session_state
        or (
            config.HasField("cluster_def")
            and not config.experimental.share_session_state_in_clusterspec_propagation
        )
    )


def _new_state() -> Resources:
    from stillflow.ops.values import from_array

    return Resources(lambda op: "cpu", from_array)


_tasks: dict[str, LocalTask] = {}


def add(task: LocalTask) -> None:
    """Make a task known by its target."""
    _tasks[task.target] = task


def find(target: str) -> LocalTask | None:
    """Return the started task of this process behind a target."""
    return _tasks.get(target)
