"""A session's access to a task: directly, if it is in this process and the target, or by a link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.arrays import Array
from stillflow.graph.operation import Tensor
from stillflow.ops.values import fetch_converter
from stillflow.runtime.cluster.guests import Guest, Task, task_name
from stillflow.runtime.cluster.links import Answer, IsTensorFlow, ask_when_there
from stillflow.runtime.cluster.packed import pack_all
from stillflow.runtime.cluster.tasks import LocalTask
from stillflow.runtime.devices.devices import DeviceAttributes


class Direct:
    """The target, in this process: its part of a step runs in the thread of `Session.run`."""

    def __init__(self, task: LocalTask, guest: Guest) -> None:
        self._task, self.guest = task, guest
        self.name = task_name(guest.task)
        self.devices = guest.devices

    def register(self, *part: Any) -> int:
        """See `Guest.register`."""
        return self.guest.register(*part)

    def abort(self, step: int) -> None:
        """Abort a step."""
        self.guest.abort(step)

    def close(self) -> None:
        """Release the session's state in the task."""
        self._task.close(self.guest.handle)


class Remote:
    """Another task, which does its part of a step by itself.

    It is waited for until it is there.

    Args:
      address: where it is.
      handle: its name of the session.
      task: which one it is.
      cluster_def: the session's cluster.
      config: the session's `ConfigProto`, or None.
      check: called now and then while it is waited for; raises what ends that.
    """

    def __init__(
        self,
        address: str,
        handle: str,
        task: Task,
        cluster_def: Any,
        config: Any,
        check: Callable[[], None],
    ) -> None:
        self._handle = handle
        self.name = task_name(task)
        session = {
            "session": handle,
            "cluster": cluster_def,
            "job": task[0],
            "task": task[1],
            "config": config,
        }
        self._link, opened = ask_when_there(address, self.name, check, open=session)
        self.devices = [
            DeviceAttributes(
                device.name, device.device_type, device.memory_limit, device.incarnation
            )
            for device in opened.devices
        ]

    def register(
        self, graph_def: Any, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> int:
        """See `Guest.register`."""
        part = {
            "session": self._handle,
            "graph": graph_def,
            "feeds": feeds,
            "fetches": fetches,
            "targets": targets,
        }
        number: int = self._link.ask(register=part).wait().part
        return number

    def begin(
        self,
        part: int,
        step: int,
        arrays: Sequence[np.ndarray],
        fed: Sequence[Tensor],
        options: Any,
        settled: Callable[[Answer], None],
    ) -> Answer:
        """Start the task's part of a step.

        Args:
          part: the number of the part.
          step: the number of the step.
          arrays: the feeds.
          fed: the tensors that it is fed for.
          options: a `RunOptions` if it is to be traced, else None.
          settled: called when it is done.
        """
        given = pack_all(arrays, [tensor.dtype for tensor in fed])
        run = {"session": self._handle, "part": part, "options": options}
        return self._link.ask(given, settled, step, run=run)

    def abort(self, step: int) -> None:
        """Abort a step."""
        self._tell(step, abort={"session": self._handle})

    def close(self) -> None:
        """Release the session's state in the task."""
        self._tell(0, close={"session": self._handle})

    def _tell(self, step: int, **content: Any) -> None:
        try:
            self._link.tell((), step, **content)
        except errors.UnavailableError:
            return  # then it has ended with the connection


class RemoteTask:
    """A target in another process.

    Args:
      target: `grpc://host:port`.
    """

    config = None  # sessions that bring none have none

    def __init__(self, target: str) -> None:
        self.target = target
        self.address = target.partition("://")[2]
        self._description: Any = None

    def _describe(self) -> Any:
        if self._description is None:
            _, self._description = ask_when_there(
                self.address, self.target, lambda: None, describe={}
            )
        return self._description

    @property
    def is_tensorflow(self) -> bool:
        """True if it is a server of TensorFlow itself."""
        try:
            self._describe()
        except IsTensorFlow:
            return True
        return False

    @property
    def task(self) -> Task:
        """The task of the cluster."""
        description = self._describe()
        return description.job, description.task

    @property
    def cluster_def(self) -> Any:
        """Its cluster."""
        return self._describe().cluster

    def watch_resets(self, abort: Callable[[], None]) -> None:
        """Sessions elsewhere learn of a reset when they miss their state."""


def fetched(tensor: Tensor, array: np.ndarray) -> Array:
    """Return an array that came from a task, as `Session.run` gives it."""
    if fetch_converter(tensor, False) is None:
        return array
    return array if array.ndim else array[()]
