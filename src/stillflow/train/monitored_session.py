"""tf.train.MonitoredSession: a session with hooks, threads, checkpoints and recovery."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from stillflow import errors
from stillflow.distribute import worker_context
from stillflow.graph.api import get_collection
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.runtime.session.session import Session
from stillflow.train import queue_runner
from stillflow.train.coordinator import Coordinator
from stillflow.train.saving_hooks import CheckpointSaverHook, SummarySaverHook
from stillflow.train.scaffold import Scaffold
from stillflow.train.session_creator import (
    ChiefSessionCreator,
    SessionCreator,
    WorkerSessionCreator,
)
from stillflow.train.step_counter import StepCounterHook
from stillflow.train.wrapped_sessions import (
    CoordinatedSession,
    HookedSession,
    RecoverableSession,
    StepContext,
)
from stillflow.util import function_utils

USE_DEFAULT = object()


class _CoordinatedSessionCreator(SessionCreator):
    """Creator of sessions with hooks and running queues."""

    def __init__(
        self, session_creator: Any, hooks: list[Any], stop_grace_period_secs: float
    ) -> None:
        self._session_creator = session_creator
        self._hooks = hooks
        self._stop_grace_period_secs = stop_grace_period_secs
        self.forget()

    def forget(self) -> None:
        """Release the session and the coordinator of its threads."""
        self.tf_sess: Any = None
        self.coord: Any = None

    def create_session(self) -> CoordinatedSession:
        # Nothing ends in peace here: the end of the input is raised by the next run.
        session, coord = self._session_creator.create_session(), Coordinator([])
        self.tf_sess, self.coord = session, coord
        if get_collection(GraphKeys.QUEUE_RUNNERS):
            queue_runner.start_queue_runners(session, coord)
        for hook in self._hooks:
            hook.after_create_session(session, coord)
        hooked = HookedSession(session, self._hooks)
        return CoordinatedSession(hooked, coord, self._stop_grace_period_secs)


class _MonitoredSession:
    """Base of `MonitoredSession` and `SingularMonitoredSession`."""

    StepContext = StepContext
    _CoordinatedSessionCreator = _CoordinatedSessionCreator

    def __init__(
        self, session_creator: Any, hooks: Any, should_recover: bool,
        stop_grace_period_secs: float = 120,
    ) -> None:  # fmt: skip
        self._graph_was_finalized = get_default_graph().finalized
        self._hooks = hooks or []
        for hook in self._hooks:
            hook.begin()
        context = worker_context.current()
        if not session_creator:
            session_creator = context.session_creator() if context else ChiefSessionCreator()
        self._coordinated_creator = _CoordinatedSessionCreator(
            session_creator, self._hooks, stop_grace_period_secs
        )
        self._sess: Any
        if should_recover:
            self._sess = RecoverableSession(self._coordinated_creator)
        else:
            self._sess = self._coordinated_creator.create_session()

    @property
    def graph(self) -> Any:
        """The graph of the session; None once it is closed."""
        sess = self._tf_sess()
        return None if sess is None else sess.graph

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Run like `Session.run`, with the fetches of hooks in addition."""
        return self._sess.run(
            fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata
        )

    def run_step_fn(self, step_fn: Any) -> int:
        """Call a function that may run several times, with hooks and without.

        Args:
          step_fn: called with a `StepContext` as its argument `step_context`.

        Raises:
          ValueError: if it takes other arguments.
        """
        arguments = function_utils.fn_args(step_fn)
        if arguments not in (("step_context",), ("self", "step_context")):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and "
                "`step_context` arguments if it's an instance method. Got "
                f"{arguments} instead."
            )
        # The bare session is that of now: a new one may take its place during the call.
        return self._sess.run_step_fn(step_fn, self._tf_sess(), run_with_hooks=None)

    def should_stop(self) -> bool:
        """Return True if a hook, a thread or the end of the input wants to end."""
        return self._sess is None or self._sess.should_stop()

    def close(self) -> None:
        """End hooks and threads and close the session."""
        self._close_internal()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, exception_type: Any, exception_value: Any, traceback: Any) -> bool:
        if exception_type in (errors.OutOfRangeError, StopIteration):
            exception_type = None
        self._close_internal(exception_type)
        return exception_type is None

    def _close_internal(self, exception_type: Any = None) -> None:
        with contextlib.ExitStack() as at_end:
            at_end.callback(self._release)
            at_end.callback(self._close_session)
            for hook in () if exception_type else self._hooks:
                hook.end(self._tf_sess())

    def _close_session(self) -> None:
        if self._sess is None:
            raise RuntimeError("Session is already closed.")
        self._sess.close()

    def _release(self) -> None:
        self._sess = None
        self._coordinated_creator.forget()
        if not self._graph_was_finalized:
            get_default_graph()._unsafe_unfinalize()

    def _is_closed(self) -> bool:
        return self._coordinated_creator.tf_sess is None

    def _tf_sess(self) -> Session | None:
        return self._coordinated_creator.tf_sess


@export("train.MonitoredSession")
class MonitoredSession(_MonitoredSession):
    """A session that initializes itself, calls hooks and recovers where machines are lost.

    Args:
      session_creator: makes sessions; a `ChiefSessionCreator` if None.
      hooks: `SessionRunHook`s.
      stop_grace_period_secs: how long threads may take to end.
    """

    def __init__(
        self, session_creator: Any = None, hooks: Any = None, stop_grace_period_secs: float = 120
    ) -> None:
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


@export("train.SingularMonitoredSession")
class SingularMonitoredSession(_MonitoredSession):
    """A session that initializes itself and calls hooks; it does not recover.

    Args:
      hooks: `SessionRunHook`s.
      scaffold: a `Scaffold`; one of defaults if None.
      master: the target of the session.
      config: a `ConfigProto`.
      checkpoint_dir: a folder with checkpoints.
      stop_grace_period_secs: how long threads may take to end.
      checkpoint_filename_with_path: a checkpoint.
    """

    def __init__(
        self, hooks: Any = None, scaffold: Any = None, master: str = "", config: Any = None,
        checkpoint_dir: Any = None, stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: Any = None,
    ) -> None:  # fmt: skip
        creator = ChiefSessionCreator(
            scaffold=scaffold, master=master, config=config, checkpoint_dir=checkpoint_dir,
            checkpoint_filename_with_path=checkpoint_filename_with_path,
        )  # fmt: skip
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Session | None:
        """Return the bare session."""
        return self._tf_sess()


def _either(steps: Any, secs: Any, default: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return how often something is done, in steps and seconds.

    The default only if neither is given.
    """
    if steps is USE_DEFAULT and secs is USE_DEFAULT:
        return default
    return (None if steps is USE_DEFAULT else steps), (None if secs is USE_DEFAULT else secs)


def _some(steps: Any, secs: Any) -> bool:
    return bool((steps and steps > 0) or (secs and secs > 0))


@export("train.MonitoredTrainingSession")
def MonitoredTrainingSession(
    master: str = "", is_chief: bool = True, checkpoint_dir: Any = None, scaffold: Any = None,
    hooks: Any = None, chief_only_hooks: Any = None, save_checkpoint_secs: Any = USE_DEFAULT,
    save_summaries_steps: Any = USE_DEFAULT, save_summaries_secs: Any = USE_DEFAULT,
    config: Any = None, stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100, max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = USE_DEFAULT, summary_dir: Any = None,
) -> MonitoredSession:  # fmt: skip
    """Return a `MonitoredSession` that saves checkpoints and summaries and counts steps.

    Args:
      master: the target of the session.
      is_chief: whether this process initializes and saves; others wait for it.
      checkpoint_dir: where checkpoints are saved and restored from; nowhere if None.
      scaffold: a `Scaffold`; one of defaults if None.
      hooks: `SessionRunHook`s.
      chief_only_hooks: more of them, for the chief.
      save_checkpoint_secs: how often to save; every 600 seconds by default.
      save_summaries_steps: how often to write summaries; every 100 steps by default.
      save_summaries_secs: the same, in seconds.
      config: a `ConfigProto`.
      stop_grace_period_secs: how long threads may take to end.
      log_step_count_steps: how often to log the steps per second.
      max_wait_secs: how long to wait for the chief.
      save_checkpoint_steps: how often to save, in steps.
      summary_dir: where summaries go; `checkpoint_dir` if None.
    """
    summary_steps, summary_secs = _either(save_summaries_steps, save_summaries_secs, (100, None))
    save_steps, save_secs = _either(save_checkpoint_steps, save_checkpoint_secs, (None, 600))
    scaffold = scaffold or Scaffold()

    def counting(beside: str = "") -> list[Any]:
        where = _within(summary_dir or checkpoint_dir, beside)
        return _counting_hooks(scaffold, where, log_step_count_steps, summary_steps, summary_secs)

    def saving(beside: str = "") -> list[Any]:
        where = _within(checkpoint_dir, beside)
        return _saving_hooks(scaffold, where, save_steps, save_secs)

    context, given = worker_context.current(), list(hooks or ())
    if context is not None:
        given += (chief_only_hooks or ()) if context.is_chief else ()
        folder = context.folder_of_others
        if folder and save_secs:  # others would not save at the same step
            save_steps, save_secs = 1000, None
        if context.should_save_summary or folder:
            given += counting("" if context.should_save_summary else folder)
        if context.should_checkpoint or folder:
            given += saving("" if context.should_checkpoint else folder)
        creator = context.session_creator(scaffold, config, checkpoint_dir, None, max_wait_secs)
        return MonitoredSession(creator, given, stop_grace_period_secs)
    if not is_chief:
        worker = WorkerSessionCreator(
            scaffold=scaffold, master=master, config=config, max_wait_secs=max_wait_secs
        )
        return MonitoredSession(worker, given, stop_grace_period_secs)
    chief = ChiefSessionCreator(
        scaffold=scaffold, checkpoint_dir=checkpoint_dir, master=master, config=config
    )
    chief_hooks = [*(chief_only_hooks or ()), *counting(), *saving()]
    return MonitoredSession(chief, chief_hooks + given, stop_grace_period_secs)


def _within(folder: Any, beside: str) -> str | None:
    """Return a folder, or its entry called `beside`."""
    return os.path.join(folder, beside) if folder and beside else folder


def _counting_hooks(
    scaffold: Any, summary_dir: Any, log_steps: int | None, steps: Any, secs: Any
) -> list[Any]:
    """Return the hooks that write speed and summaries."""
    if not summary_dir:
        return []
    made: list[Any] = []
    if log_steps and log_steps > 0:
        made.append(StepCounterHook(output_dir=summary_dir, every_n_steps=log_steps))
    if _some(steps, secs):
        made.append(
            SummarySaverHook(
                scaffold=scaffold, save_steps=steps, save_secs=secs, output_dir=summary_dir
            )
        )
    return made


def _saving_hooks(scaffold: Any, checkpoint_dir: Any, steps: Any, secs: Any) -> list[Any]:
    """Return the hooks that save checkpoints."""
    if not checkpoint_dir or not _some(steps, secs):
        return []
    return [
        CheckpointSaverHook(checkpoint_dir, save_steps=steps, save_secs=secs, scaffold=scaffold)
    ]
