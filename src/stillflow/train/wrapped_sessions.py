"""Layers around a session: hooks, threads that stop with it, recovery from lost machines."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from stillflow import errors
from stillflow.platform import tf_logging as logging
from stillflow.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

# Errors of a lost machine; a new session may succeed.
PREEMPTION_ERRORS = (errors.AbortedError, errors.UnavailableError)


class StepContext:
    """Argument of a `step_fn`.

    Args:
      session: the bare session.
      run_with_hooks_fn: runs with the hooks.
    """

    def __init__(self, session: Any, run_with_hooks_fn: Callable[..., Any]) -> None:
        self._session = session
        self._run_with_hooks_fn = run_with_hooks_fn

    @property
    def session(self) -> Any:
        """The bare session: no hook sees its runs."""
        return self._session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """Run as `MonitoredSession.run` does."""
        return self._run_with_hooks_fn(*args, **kwargs)

    def request_stop(self) -> None:
        """End the training loop.

        Raises:
          StopIteration: always; that is how.
        """
        raise StopIteration("step_fn has requested the iterations to stop.")


class WrappedSession:
    """A layer that hands everything on.

    Args:
      sess: the session below.
    """

    def __init__(self, sess: Any) -> None:
        self._sess = sess

    graph = property(attrgetter("_sess.graph"), doc="The graph of the session.")

    sess_str = property(attrgetter("_sess.sess_str"), doc="The target of the session.")

    def should_stop(self) -> bool:
        """Return True if this layer or one below wants to end."""
        if self._check_stop() or not self._sess:
            return True
        return isinstance(self._sess, WrappedSession) and self._sess.should_stop()

    def _check_stop(self) -> bool:
        return False

    def close(self) -> None:
        """Close the session below."""
        if not self._sess:
            return
        try:
            self._sess.close()
        except PREEMPTION_ERRORS as error:
            logging.warning(
                "An error occurred when attempting to close the session. This may be due to a "
                "preemption in a connected worker or parameter server. Error: %s", error,
            )  # fmt: skip
        finally:
            self._sess = None

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run in the session below."""
        return self._sess.run(*args, **kwargs)

    def run_step_fn(self, step_fn: Any, raw_session: Any, run_with_hooks: Any) -> Any:
        """Call `step_fn` with a `StepContext`."""
        return step_fn(StepContext(raw_session, run_with_hooks or self.run))


def _log_preemption(what: str, error: errors.OpError) -> None:
    logging.info(
        "%s This may be due to a preemption in a connected worker or parameter server. The "
        "current session will be closed and a new session will be created. This error may also "
        "occur due to a gRPC failure caused by high memory or network bandwidth usage in the "
        "parameter servers. If this error occurs repeatedly, try increasing the number of "
        "parameter servers assigned to the job. Error: %s", what, error,
    )  # fmt: skip


class RecoverableSession(WrappedSession):
    """Session that is recreated after the loss of a machine.

    Args:
      sess_creator: makes sessions.
    """

    def __init__(self, sess_creator: Any) -> None:
        self._sess_creator = sess_creator
        super().__init__(self._create_session())

    def _create_session(self) -> CoordinatedSession:
        while True:
            try:
                return self._sess_creator.create_session()
            except PREEMPTION_ERRORS as error:
                _log_preemption("An error was raised while a session was being created.", error)

    def _check_stop(self) -> bool:
        try:
            return bool(self._sess._check_stop()) if self._sess else True
        except PREEMPTION_ERRORS as error:
            _log_preemption(
                "An error was raised while considering whether the session is complete.", error
            )
            self.close()
            self._sess = self._create_session()
            return False
        except Exception:
            return True  # the next run raises it

    def _persistently(self, action: Callable[[], Any]) -> Any:
        while True:
            try:
                if not self._sess:
                    self._sess = self._create_session()
                return action()
            except PREEMPTION_ERRORS as error:
                _log_preemption("An error was raised.", error)
                self.close()
                self._sess = None

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Run, and repeat after the loss of a machine."""
        return self._persistently(
            lambda: self._sess.run(
                fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata
            )
        )

    def run_step_fn(self, step_fn: Any, raw_session: Any, run_with_hooks: Any) -> int:
        """Call `step_fn`, again and again where machines are lost."""
        return self._persistently(
            lambda: self._sess.run_step_fn(step_fn, raw_session, self._sess.run)
        )


class CoordinatedSession(WrappedSession):
    """Session that stops its threads when it ends, and raises their errors.

    Args:
      sess: the session below.
      coord: the `Coordinator` of the threads.
      stop_grace_period_secs: how long they may take to end.
    """

    def __init__(self, sess: Any, coord: Any, stop_grace_period_secs: float = 120) -> None:
        super().__init__(sess)
        self._coord = coord
        self._stop_grace_period_secs = stop_grace_period_secs

    def _check_stop(self) -> bool:
        self._coord.raise_requested_exception()
        return bool(self._coord.should_stop())

    def close(self) -> None:
        """End the threads and close the session.

        Raises:
          BaseException: the error of a thread.
        """
        self._coord.request_stop()
        try:
            self._coord.join(
                stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True
            )
        finally:
            try:
                super().close()
            except Exception as error:
                logging.vlog(1, "Ignored exception: %s", error)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run; a machine lost in a thread is reported before the errors that it causes here."""
        try:
            return self._sess.run(*args, **kwargs)
        except PREEMPTION_ERRORS:
            raise
        except Exception as raised:
            try:
                self._coord.raise_requested_exception()
            except PREEMPTION_ERRORS:
                raise
            except Exception:
                raise raised from None
            raise


class HookedSession(WrappedSession):
    """Calls hooks around each run.

    Args:
      sess: the session below.
      hooks: `SessionRunHook`s.
    """

    def __init__(self, sess: Any, hooks: list[SessionRunHook]) -> None:
        super().__init__(sess)
        self._hooks = hooks
        self._should_stop = False

    def _check_stop(self) -> bool:
        return self._should_stop

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Run the fetches of the caller and the hooks in one run.

        Raises:
          RuntimeError: if the end was asked for, or two feed the same tensor.
        """
        from stillflow.protos import RunMetadata, RunOptions

        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        wanted: dict[Any, Any] = {"caller": fetches}
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._sess)
        options = options or RunOptions()
        feed_dict = self._call_hook_before_run(context, wanted, feed_dict, options)
        run_metadata = run_metadata or RunMetadata()
        results = super().run(
            fetches=wanted, feed_dict=feed_dict, options=options, run_metadata=run_metadata
        )
        for hook in self._hooks:
            hook.after_run(context, SessionRunValues(results.get(hook), options, run_metadata))
        self._should_stop = self._should_stop or context.stop_requested
        return results["caller"]

    def _call_hook_before_run(
        self, context: SessionRunContext, wanted: dict[Any, Any], feeds: Any, options: Any
    ) -> Any:
        hook_feeds: dict[Any, Any] = {}
        for hook in self._hooks:
            request = hook.before_run(context)
            if request is None:
                continue
            if request.fetches is not None:
                wanted[hook] = request.fetches
            if request.feed_dict:
                _check_disjoint(hook_feeds, request.feed_dict, "Same tensor is fed by two hooks.")
                hook_feeds.update(request.feed_dict)
            if request.options:
                _merge_options(options, request.options)
        if not hook_feeds:
            return feeds
        if not feeds:
            return hook_feeds
        _check_disjoint(feeds, hook_feeds, "Same tensor is fed by a SessionRunHook and user.")
        hook_feeds.update(feeds)
        return hook_feeds


def _check_disjoint(one: dict[Any, Any], other: dict[Any, Any], message: str) -> None:
    both = set(one) & set(other)
    if both:
        raise RuntimeError(f"{message} Conflict(s): {list(both)}")


def _merge_options(options: Any, more: Any) -> None:
    """Add other options' requests to options."""
    for name in (
        "trace_level", "timeout_in_ms", "inter_op_thread_pool", "output_partition_graphs",
    ):  # fmt: skip
        setattr(options, name, max(getattr(options, name), getattr(more, name)))
    watches = more.debug_options.debug_tensor_watch_opts
    options.debug_options.debug_tensor_watch_opts.extend(watches)
    if more.debug_options.reset_disk_byte_usage:
        options.debug_options.reset_disk_byte_usage = True
    if more.report_tensor_allocations_upon_oom:
        options.report_tensor_allocations_upon_oom = True
