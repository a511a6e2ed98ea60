"""Servers of this process: state that outlives the sessions which name a server as their target."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from stillflow import errors
from stillflow.runtime.resources import Resources

_OWN_STATE = "op state"  # of a session's operations, which sessions do not share


class LocalServer:
    """The state behind a target.

    Args:
      target: what sessions name it by, `grpc://host:port`.
      job: the job it is a task of.
      task: which task it is.
      config: the `ConfigProto` of sessions that bring none, or None.
    """

    def __init__(self, target: str, job: str, task: int, config: Any) -> None:
        self.target = target
        self.device_prefix = f"/job:{job}/replica:0/task:{task}/device:"
        self.config = config
        self._lock = threading.Lock()
        self._shared: Resources | None = None

    def resources(self, make: Callable[[], Resources]) -> Resources:
        """The state of one of its sessions; `make` gives an empty one."""
        with self._lock:
            if self._shared is None:
                self._shared = make()
        return _OfSession(self._shared)

    def reset(self, containers: list[str] | None) -> None:
        """Forgets the state in some containers, or all of it."""
        with self._lock:
            if self._shared is not None:
                self._shared.clear(containers or None)


class _OfSession(Resources):
    """A session's view of a server's state: what operations keep to themselves is its own."""

    def __init__(self, shared: Resources) -> None:
        super().__init__(shared.device_of, shared.from_array)
        self._shared = shared

    def get(self, container: str, kind: str, name: str, create: Callable[[], Any]) -> Any:
        if kind == _OWN_STATE:
            return super().get(container, kind, name, create)
        return self._shared.get(container, kind, name, create)

    def find(self, container: str, kind: str, name: str) -> Any:
        if kind == _OWN_STATE:
            return super().find(container, kind, name)
        return self._shared.find(container, kind, name)


_servers: dict[str, LocalServer] = {}


def add(server: LocalServer) -> None:
    """Makes a server known by its target."""
    _servers[server.target] = server


def find(target: bytes) -> LocalServer | None:
    """The server behind a target; None for the empty one, which is the session itself.

    Raises:
      tf.errors.NotFoundError: if there is no such server in this process.
    """
    if not target:
        return None
    name = target.decode(errors="replace")
    server = _servers.get(name)
    if server is None:
        raise errors.NotFoundError(
            None,
            None,
            f'No session factory registered for the given session options: {{target: "{name}"}} '
            "Stillflow runs sessions in this process only, on tf.train.Servers that it started; "
            "remote targets are not supported yet.",
        )
    return server
