"""Creators of sessions, which recreate one after a failure."""

from __future__ import annotations

import abc
import functools
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.runtime.session.session import Session
from stillflow.train.scaffold import Scaffold
from stillflow.train.session_manager import SessionManager


@export("train.SessionCreator")
class SessionCreator(abc.ABC):
    """Base class of session creators for a `MonitoredSession`."""

    @abc.abstractmethod
    def create_session(self) -> Any:
        """Return a session, its variables initialized or restored."""
        raise NotImplementedError(f"create_session is not implemented for {self}.")


class _ScaffoldedCreator(SessionCreator):
    """Creator of sessions that a scaffold's operations make ready.

    Args:
      scaffold: a `Scaffold`; one of defaults if None.
      options: further arguments of the session manager's method.
    """

    def __init__(self, scaffold: Any, **options: Any) -> None:
        self._scaffold = scaffold or Scaffold()
        self._options = options

    @functools.cached_property
    def _manager(self) -> SessionManager:
        checks = self._of_scaffold("local_init_op", "ready_op", "ready_for_local_init_op")
        return SessionManager(graph=get_default_graph(), **checks)

    def _of_scaffold(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self._scaffold, name) for name in names}


@export("train.ChiefSessionCreator")
class ChiefSessionCreator(_ScaffoldedCreator):
    """Creator of sessions that restores or initializes the variables.

    Args:
      scaffold: a `Scaffold`; one of defaults if None.
      master: the target of the sessions.
      config: a `ConfigProto`.
      checkpoint_dir: a folder with checkpoints.
      checkpoint_filename_with_path: a checkpoint.
    """

    def __init__(
        self, scaffold: Any = None, master: str = "", config: Any = None,
        checkpoint_dir: Any = None, checkpoint_filename_with_path: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            scaffold, master=master, config=config, checkpoint_dir=checkpoint_dir,
            checkpoint_filename_with_path=checkpoint_filename_with_path,
        )  # fmt: skip

    def create_session(self) -> Session:
        """Return a session, its variables restored or initialized."""
        self._scaffold.finalize()
        given = self._of_scaffold("saver", "init_op", "init_feed_dict", "init_fn")
        return self._manager.prepare_session(**given, **self._options)


@export("train.WorkerSessionCreator")
class WorkerSessionCreator(_ScaffoldedCreator):
    """Creator of sessions that waits for another process to initialize the variables.

    Args:
      scaffold: a `Scaffold`; one of defaults if None.
      master: the target of the sessions.
      config: a `ConfigProto`.
      max_wait_secs: how long to wait for the other process.
    """

    def __init__(
        self, scaffold: Any = None, master: str = "", config: Any = None,
        max_wait_secs: float = 30 * 60,
    ) -> None:  # fmt: skip
        super().__init__(scaffold, master=master, config=config, max_wait_secs=max_wait_secs)

    def create_session(self) -> Session:
        """Return a session, once its variables are ready."""
        self._scaffold.finalize()
        return self._manager.wait_for_session(**self._options)
