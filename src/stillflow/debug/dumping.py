"""Sessions and hooks that write tensors of runs into a folder, for later inspection."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from stillflow.debug.dump_dir import FEEDS, FETCHES
from stillflow.debug.watching import WatchOptions
from stillflow.debug.wrapper_session import BaseDebugWrapperSession, watched_options
from stillflow.protos import Event
from stillflow.train.session_run_hook import SessionRunArgs, SessionRunHook


class _Folders:
    """A folder for each run, under one root, which must not exist, or be empty.

    `watch_fn` takes fetches and feeds, and gives a `WatchOptions`. ValueError if the root is a
    file, or not empty.
    """

    def __init__(self, session_root: str, watch_fn: Callable[..., Any] | None) -> None:
        check_folder(session_root, "session_root")
        if watch_fn is not None and not callable(watch_fn):
            raise TypeError("watch_fn is not callable")
        self._root = os.path.expanduser(session_root)
        self._watch_fn = watch_fn
        self._count = 0

    def watch(self, graph: Any, fetches: Any, feed_dict: Any, options: Any) -> Any:
        """Return the `RunOptions` of the next run."""
        watch = WatchOptions() if self._watch_fn is None else self._watch_fn(fetches, feed_dict)
        folder = os.path.join(self._root, f"run_{time.time_ns() // 1000}_{self._count}")
        self._count += 1
        os.makedirs(folder)
        keys = feed_dict.keys() if feed_dict else None
        for name, told in ((FETCHES, fetches), (FEEDS, keys)):
            event = Event(wall_time=time.time())
            event.log_message.message = repr(told)
            with open(os.path.join(folder, name), "wb") as file:
                file.write(event.SerializeToString())
        return watched_options(options, graph, watch, f"file://{folder}")


class DumpingDebugWrapperSession(BaseDebugWrapperSession):
    """Session that writes the tensors of each run into its own folder, for `DebugDumpDir`.

    Args:
      sess: the session to wrap.
      session_root: the folder for those folders; must not exist, or be empty.
      watch_fn: takes fetches and feeds of a run, gives a `WatchOptions`; all tensors without.
      thread_name_filter: only runs of threads whose names match are looked at.
      pass_through_operrors: whether errors of operations are raised instead of returned.
      log_usage: not used.
    """

    def __init__(
        self,
        sess: Any,
        session_root: str,
        watch_fn: Callable[..., Any] | None = None,
        thread_name_filter: str | None = None,
        pass_through_operrors: bool | None = None,
        log_usage: bool = True,
    ) -> None:
        del log_usage
        super().__init__(sess, thread_name_filter, pass_through_operrors)
        self._folders = _Folders(session_root, watch_fn)

    def debugged(
        self, fetches: Any, feed_dict: Any, options: Any, plain: Callable[..., Any]
    ) -> Any:
        return plain(self._folders.watch(self.graph, fetches, feed_dict, options))


class DumpingDebugHook(SessionRunHook):
    """Hook that is for a `MonitoredSession` what `DumpingDebugWrapperSession` is for a session.

    Args:
      session_root: the folder for the folders of the runs; must not exist, or be empty.
      watch_fn: takes fetches and feeds of a run, gives a `WatchOptions`; all tensors without.
      thread_name_filter: only runs of threads whose names match are looked at.
      log_usage: not used.
    """

    def __init__(
        self,
        session_root: str,
        watch_fn: Callable[..., Any] | None = None,
        thread_name_filter: str | None = None,
        log_usage: bool = True,
    ) -> None:
        del log_usage
        self._folders = _Folders(session_root, watch_fn)
        self._hidden = thread_filter(thread_name_filter)

    def before_run(self, run_context: Any) -> Any:
        if self._hidden():
            return None
        fetches, feeds = run_context.original_args[:2]
        graph = run_context.session.graph
        return SessionRunArgs(None, None, self._folders.watch(graph, fetches, feeds, None))


def thread_filter(pattern: str | None) -> Callable[[], bool]:
    """Return a function that says whether the current thread is not to be looked at."""
    import re
    import threading

    compiled = re.compile(pattern) if pattern else None
    return lambda: compiled is not None and not compiled.match(threading.current_thread().name)


def check_folder(path: str, what: str) -> None:
    """Raise ValueError, naming `what`, for a path that is a file, or a folder with content."""
    path = os.path.expanduser(path)
    if os.path.isfile(path):
        raise ValueError(f"{what} path points to a file: {path}")
    if os.path.isdir(path) and os.listdir(path):
        raise ValueError(f"{what} path points to a non-empty directory: {path}")
