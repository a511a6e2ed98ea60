"""tf.train.SessionRunHook: callbacks around each run of a `MonitoredSession`."""

from __future__ import annotations

from typing import Any, NamedTuple

from stillflow.graph.export import export


@export("train.SessionRunHook")
class SessionRunHook:
    """The base of hooks; each method does nothing unless a subclass overrides it."""

    def begin(self) -> None:
        """Prepare; called once before the session is made, while the graph can still be changed."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Act on a new session; called after each creation.

        Args:
          session: the `tf.Session`.
          coord: the `Coordinator` of its threads.
        """

    def before_run(self, run_context: Any) -> Any:
        """Act before each run.

        Args:
          run_context: a `SessionRunContext`.

        Returns:
          A `SessionRunArgs` of what to run besides, or None.
        """
        return None

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Act after each run that has not failed.

        Args:
          run_context: the `SessionRunContext` that `before_run` got.
          run_values: a `SessionRunValues` of what it asked for.
        """

    def end(self, session: Any) -> None:
        """Finish; called at the end, unless a run has failed."""


class _Args(NamedTuple):
    fetches: Any
    feed_dict: Any
    options: Any


@export("train.SessionRunArgs")
class SessionRunArgs(_Args):
    """Fetches, feeds and options that a hook or the caller adds to a run.

    Args:
      fetches: as `Session.run` takes them.
      feed_dict: values for tensors, or None.
      options: a `RunOptions`, or None.
    """

    __slots__ = ()

    def __new__(cls, fetches: Any, feed_dict: Any = None, options: Any = None) -> SessionRunArgs:
        return super().__new__(cls, fetches, feed_dict, options)


@export("train.SessionRunContext")
class SessionRunContext:
    """Context of a run, for hooks.

    Args:
      original_args: the caller's `SessionRunArgs`.
      session: the session that runs.
    """

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """The caller's `SessionRunArgs`."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session that runs."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """True if a hook has requested the end."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Make `should_stop` true after this run."""
        self._stop_requested = True


@export("train.SessionRunValues")
class SessionRunValues(NamedTuple):
    """Results of a run.

    Attributes:
      results: the values of what the hook has asked for, None if that was nothing.
      options: the `RunOptions` of the run.
      run_metadata: its `RunMetadata`.
    """

    results: Any
    options: Any
    run_metadata: Any
