"""Creators of sessions, which recreate one after a failure."""

from __future__ import annotations

import abc
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.train.scaffold import Scaffold
from stillflow.train.session_manager import SessionManager


@export("train.SessionCreator")
class SessionCreator(abc.ABC):
    """Base class of session creators for a `MonitoredSession`."""

    @abc.abstractmethod
    def create_session(self) -> Any:
        """Return a session, its variables initialized or restored."""
        raise NotImplementedError(f"create_session is not implemented for {self}.")


class _WithManager(SessionCreator):
    def __init__(self, scaffold: Any, master: str, config: Any) -> None:
        self._scaffold = scaffold or Scaffold()
        self._session_manager: Any = None
        self._master = master
        self._config = config

    def _get_session_manager(self) -> Any:
        if not self._session_manager:
            self._session_manager = SessionManager(
                local_init_op=self._scaffold.local_init_op,
                ready_op=self._scaffold.ready_op,
                ready_for_local_init_op=self._scaffold.ready_for_local_init_op,
                graph=get_default_graph(),
            )
        return self._session_manager


@export("train.ChiefSessionCreator")
class ChiefSessionCreator(_WithManager):
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
        super().__init__(scaffold, master, config)
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_filename_with_path = checkpoint_filename_with_path

    def create_session(self) -> Any:
        """Return a session, its variables restored or initialized."""
        self._scaffold.finalize()
        return self._get_session_manager().prepare_session(
            self._master,
            saver=self._scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_filename_with_path,
            config=self._config,
            init_op=self._scaffold.init_op,
            init_feed_dict=self._scaffold.init_feed_dict,
            init_fn=self._scaffold.init_fn,
        )


@export("train.WorkerSessionCreator")
class WorkerSessionCreator(_WithManager):
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
        super().__init__(scaffold, master, config)
        self._max_wait_secs = max_wait_secs

    def create_session(self) -> Any:
        """Return a session, once its variables are ready."""
        self._scaffold.finalize()
        return self._get_session_manager().wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_secs
        )
