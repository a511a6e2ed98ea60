"""A session around a session: has a say before and after each run."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

from stillflow import errors
from stillflow.debug.watching import WatchOptions, watch_graph
from stillflow.graph.arrays import Array
from stillflow.graph.graph import Graph
from stillflow.protos import RunOptions
from stillflow.runtime.session.session import BaseSession

_KINDS = ("tf.Session", "tf.InteractiveSession", "MonitoredSession")


class BaseDebugWrapperSession:
    """Base of the debugger's sessions: each inspected run goes through `debugged`.

    Args:
      sess: a `tf.Session` or `MonitoredSession`.
      thread_name_filter: only runs of threads whose names match are looked at.
      pass_through_operrors: whether errors of operations are raised; otherwise a run that fails
        gives the error as its result, so that a program goes on to where it can be looked at.

    Raises:
      TypeError: if `sess` is no session.
    """

    def __init__(
        self,
        sess: Any,
        thread_name_filter: str | None = None,
        pass_through_operrors: bool | None = False,
    ) -> None:
        from stillflow.train.monitored_session import _MonitoredSession

        if not isinstance(sess, (BaseSession, BaseDebugWrapperSession, _MonitoredSession)):
            raise TypeError(f"Expected a session ({', '.join(_KINDS)}); got type {type(sess)}")
        self._sess = sess
        self._pattern = re.compile(thread_name_filter) if thread_name_filter else None
        self._pass_through_operrors = bool(pass_through_operrors)
        self._run_call_count = 0

    @property
    def session(self) -> Any:
        """The session within."""
        return self._sess

    @property
    def graph(self) -> Graph:
        return self._sess.graph

    @property
    def run_call_count(self) -> int:
        """The number of runs inspected so far."""
        return self._run_call_count

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Run like `tf.Session.run`, with the debugger."""
        name = threading.current_thread().name
        hidden = self._pattern is not None and not self._pattern.match(name)
        if hidden or (isinstance(fetches, (list, tuple, dict)) and not fetches):
            return self._sess.run(fetches, feed_dict, options, run_metadata)
        self._run_call_count += 1

        def plain(options: Any = options) -> Any:
            try:
                return self._sess.run(fetches, feed_dict, options, run_metadata)
            except errors.OpError as error:
                if self._pass_through_operrors:
                    raise
                return error

        return self.debugged(fetches, feed_dict, options, plain)

    def debugged(
        self, fetches: Any, feed_dict: Any, options: Any, plain: Callable[..., Any]
    ) -> Any:
        """Execute a run, with the debugger's actions around it.

        Args:
          fetches: the fetches.
          feed_dict: the feeds.
          options: the caller's `RunOptions`, or None.
          plain: runs with the `RunOptions` it is given.
        """
        raise NotImplementedError

    def make_callable(
        self, fetches: Any, feed_list: Any = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Make a callable like `tf.Session.make_callable`, whose calls are debugged."""
        keys = list(feed_list or ())

        def call(*values: Any, options: Any = None, run_metadata: Any = None) -> Array:
            if not accept_options and (options is not None or run_metadata is not None):
                raise TypeError("this callable takes no options; see `accept_options`")
            return self.run(fetches, dict(zip(keys, values, strict=True)), options, run_metadata)

        return call

    def as_default(self) -> Any:
        """Return a context in which this is the default session."""
        from stillflow.graph import default_session

        return default_session.default_session(self)

    def __enter__(self) -> BaseDebugWrapperSession:
        self._contexts = [self.graph.as_default(), self.as_default()]
        for context in self._contexts:
            context.__enter__()
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        for context in reversed(self._contexts):
            context.__exit__(kind, value, trace)
        self._sess.close()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name == "_sess":  # not there yet: a subclass asks too early
            raise AttributeError(name)
        return getattr(self._sess, name)


def watched_options(options: Any, graph: Any, watch: Any, url: str) -> Any:
    """Return `RunOptions` with the watches of `watch`, written to `url`, "file://" and a folder.

    `watch` is a `WatchOptions`, or a tuple of its arguments.
    """
    watch = WatchOptions(*watch) if isinstance(watch, tuple) else watch
    watched = RunOptions()
    if options is not None:
        watched.CopyFrom(options)
    watch_graph(
        watched, graph, watch.debug_ops, url, watch.node_name_regex_whitelist,
        watch.op_type_regex_whitelist, watch.tensor_dtype_regex_whitelist,
        watch.tolerate_debug_op_creation_failures,
    )  # fmt: skip
    return watched
