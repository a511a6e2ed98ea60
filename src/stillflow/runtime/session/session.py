"""`tf.Session`: runs parts of a graph and keeps its state."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, overload

import numpy as np

if not os.environ.get("STILLFLOW_ENGINE"):  # with an engine a run may do without
    # Before our modules: its import looks at the file of each module that it finds.
    import torch  # noqa: F401

from stillflow import errors
from stillflow.graph import default_session
from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.cluster import targets
from stillflow.runtime.interrupts import time_limit
from stillflow.runtime.session.end_of_input import counters_left
from stillflow.runtime.session.feeds import feed_array
from stillflow.runtime.session.fetches import (
    EmptyIfDead,
    Fetches,
    expand_feed_keys,
    feed_pairs,
    structure_key,
)
from stillflow.runtime.session.handles import with_handles
from stillflow.runtime.session.interpreter_lock import ACTIVE, in_turns
from stillflow.runtime.session.partial_run import PartialPlans, PartialRun
from stillflow.runtime.session.run_options import check_options, untraced
from stillflow.runtime.session.session_plans import SessionPlans

_Key = TypeVar("_Key")


_TIMED_OUT = ("Timed out waiting for notification", "Operation timed out.")  # alone, in a cluster


class BaseSession(SessionPlans):
    """Base of `Session` and `InteractiveSession`.

    Args:
      target: empty, or that of a `tf.train.Server`, whose cluster then keeps the state.
      graph: what to run; the default graph if None.
      config: a `ConfigProto`.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        if self._server is None:
            targets.ALONE.add(self)
        settings = self._config  # the server's own where none was given
        measures_costs = settings is not None and settings.graph_options.build_cost_model
        self._time_limit = 0 if settings is None else settings.operation_timeout_in_ms
        self._plain_runs = not measures_costs and not self._time_limit
        self._partial_runs: dict[Any, Any] = {}
        self._partial_plans, self._partial_count = PartialPlans(), 0

    @property
    def graph(self) -> Graph:
        """The graph this session runs."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        """The graph as a `GraphDef`."""
        shapes = self._config is not None and self._config.graph_options.infer_shapes
        return self._graph.as_graph_def(add_shapes=shapes)

    @property
    def sess_str(self) -> bytes:
        return self._target

    def as_default(self) -> Any:
        """Return a context in which this is the session that `eval` and `run` of tensors use."""
        return default_session.default_session(self)

    def close(self) -> None:
        """Frees the session's state; it cannot run afterwards."""
        self._closed = True  # now, since who waits for a task may hold the lock
        self._free()

    @overload
    def run(
        self, fetches: Operation, feed_dict: Any = ..., options: Any = ..., run_metadata: Any = ...
    ) -> None: ...
    @overload
    def run(
        self, fetches: Tensor, feed_dict: Any = ..., options: Any = ..., run_metadata: Any = ...
    ) -> np.ndarray[Any, Any]: ...
    @overload
    def run(
        self, fetches: list[Any], feed_dict: Any = ..., options: Any = ..., run_metadata: Any = ...
    ) -> list[Any]: ...
    @overload
    def run(
        self,
        fetches: tuple[Any, ...],
        feed_dict: Any = ...,
        options: Any = ...,
        run_metadata: Any = ...,
    ) -> tuple[Any, ...]: ...
    @overload
    def run(
        self,
        fetches: dict[_Key, Any],
        feed_dict: Any = ...,
        options: Any = ...,
        run_metadata: Any = ...,
    ) -> dict[_Key, Any]: ...
    @overload
    def run(
        self, fetches: Any, feed_dict: Any = ..., options: Any = ..., run_metadata: Any = ...
    ) -> Any: ...
    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Run the operations that `fetches` need and give their values.

        Args:
          fetches: a tensor, operation, variable, name, or a (nested) list, tuple or dict of these.
          feed_dict: values for tensors, by tensor or name.
          options: a `RunOptions`.
          run_metadata: a `RunMetadata` to fill.

        Returns:
          Values in the structure of `fetches`: numpy arrays, numpy scalars, None for operations.

        Raises:
          RuntimeError: if the session is closed.
          TypeError, ValueError: if a fetch or feed is not valid.
          tf.errors.OpError: if an operation fails.
        """
        if self._closed or not self._graph._by_name:
            self._check_open()
        handler = self._handler(fetches)
        feeds = self._feeds(feed_dict) if feed_dict else {}
        if options is None and run_metadata is None and self._plain_runs:
            return handler.build(self._execute(handler, feeds))
        check_options(options, run_metadata)
        limit = 0 if options is None else options.timeout_in_ms
        execute = self._execute
        if options is not None and options.debug_options.debug_tensor_watch_opts:
            execute = functools.partial(self._execute_watched, options.debug_options)
            options = untraced(options)
        with time_limit(limit or self._time_limit, _TIMED_OUT[self._master is not None]):
            shared = self._shared(handler, feeds)
            if shared is not None:
                interrupt = self._get_resources().interrupt
                return handler.build(
                    shared.traced(interrupt, feeds.values(), options, run_metadata)
                )
            traced = self._traced_runs(self._finish_without_input)
            with self._lock:
                self._placement.place_pruned(handler.tensors, handler.targets, feeds)
            values = traced.run(
                lambda: execute(handler, feeds), handler, feeds, options, run_metadata
            )
        return handler.build(values)

    def make_callable(
        self, fetches: Any, feed_list: Any = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Return a function that runs `fetches` with the values of `feed_list` as its arguments.

        Args:
          fetches: as in `run`.
          feed_list: tensors, in the order of the arguments.
          accept_options: whether it takes `options` and `run_metadata` too.

        Raises:
          TypeError: if `feed_list` is neither a list nor a tuple.
        """
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError("`feed_list` must be a list or tuple.")
        keys = [self._feed_tensor(key) for key in feed_list or ()]
        handler = self._handler(fetches)

        def call(*values: Any, options: Any = None, run_metadata: Any = None) -> Any:
            if not accept_options and (options is not None or run_metadata is not None):
                raise TypeError("this callable takes no options; see `accept_options`")
            if len(values) != len(keys):
                raise TypeError(f"Expected {len(keys)} feed values, but got {len(values)}")
            plain = options is None and run_metadata is None and self._plain_runs
            if plain and not keys and not self._closed:  # operations that fill queues run so
                return handler.build(self._execute(handler, {}))
            return self.run(fetches, dict(zip(keys, values, strict=True)), options, run_metadata)

        return call

    def _make_callable_from_options(self, callable_options: Any) -> Callable[..., list[Any]]:
        """Return a function of the fed values, in order, for a `CallableOptions` message."""
        feeds, fetches = list(callable_options.feed), list(callable_options.fetch)
        targets, options = list(callable_options.target), callable_options.run_options

        def call(*values: Any, run_metadata: Any = None) -> list[Any]:
            if len(values) != len(feeds):
                text = f"Expected {len(feeds)} feed values, but got {len(values)}"
                raise errors.invalid_argument(text)
            found = self.run(
                EmptyIfDead([*fetches, *targets]),
                dict(zip(feeds, values, strict=True)),
                None if run_metadata is None else options,
                run_metadata,
            )
            return list(found[: len(fetches)])

        return call

    def explain(self, fetches: Any, feed_dict: Any = None) -> str:
        """Return the plan of a run as text: the passes' changes, and its steps. Nothing runs.

        Args:
          fetches, feed_dict: as in `run`.

        Raises:
          tf.errors.UnimplementedError: if several tasks of a cluster would run it.
        """
        from stillflow.runtime.explain import recorded
        from stillflow.runtime.explain.text import text_of

        self._check_open()
        handler, feeds = self._handler(fetches), self._feeds(feed_dict or {})
        if not self._runs_alone(fetches, feeds):
            raise errors.unimplemented("Each task of a cluster makes plans of its own")
        self._take_changes()
        with recorded() as plans:
            dims = {tensor: array.shape for tensor, array in feeds.items()}
            self._placement.place_pruned(handler.tensors, handler.targets, feeds)
            plan = self._make_plan(handler, feeds, dims)
            if hasattr(plan, "prepare"):
                plan.prepare(*feeds.values())
        return "\n\n".join(text_of(plan, times=False) for plan in plans)

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> str:
        """Declare the fetches and feeds of a partial run's steps; return its handle.

        Raises:
          RuntimeError: if the session is closed.
          tf.errors.InvalidArgumentError: if nothing is fetched.
          tf.errors.UnimplementedError: if several tasks of a cluster would run it.
        """
        self._check_open()
        feeds = feeds if isinstance(feeds, (list, tuple)) else [] if feeds is None else [feeds]
        tensors = [self._feed_tensor(e) for feed in feeds for e in expand_feed_keys(feed)]
        handler = Fetches(self._graph, fetches)
        if (shared := self._shared(handler, tensors)) is not None:
            return shared.partial_run(self._partial_runs)
        with self._lock:
            handle = f"partial_run_{self._partial_count}"
            self._partial_runs[handle] = PartialRun(
                handle, handler, tensors, self._partial_plans, self._graph._edition
            )
            self._partial_count += 1
        return handle

    def partial_run(self, handle: Any, fetches: Any, feed_dict: Any = None) -> Any:
        """Run the next step of a partial run; values fed and computed before are kept.

        Raises:
          tf.errors.InvalidArgumentError: if a feed or fetch was not declared or was used before.
        """
        self._check_open()
        run = self._partial_runs.get(handle)
        if run is None:
            raise errors.invalid_argument("Must run 'setup' before performing partial runs!")
        handler = self._handler(fetches)
        values = run.run(self._get_resources(), handler, self._feeds(feed_dict or {}))
        if run.is_over:
            self._partial_runs.pop(handle, None)
        return handler.build(values)

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if not self._graph._by_name:
            raise RuntimeError(
                "The Session graph is empty.  Add operations to the graph before calling run()."
            )

    def _handler(self, fetches: Any) -> Fetches:
        key = structure_key(fetches)
        handler = self._fetches.get(key)
        if handler is None:
            handler = self._fetches[key] = Fetches(self._graph, fetches)
            with_handles(handler, self)
        return handler

    def _feeds(self, feed_dict: Any) -> dict[Tensor, np.ndarray]:
        if not hasattr(feed_dict, "items"):
            raise TypeError("input must be a dictionary")
        feeds: dict[Tensor, np.ndarray] = {}
        for key, value in feed_dict.items():
            if type(key) is Tensor and key.op.graph is self._graph:
                feeds[key] = feed_array(self._graph, key, value)
                continue
            for element, part in feed_pairs(key, value):
                tensor = self._feed_tensor(element)
                feeds[tensor] = feed_array(self._graph, tensor, part)
        return feeds

    def _feed_tensor(self, key: Any) -> Tensor:
        try:
            found = self._graph.as_graph_element(key, allow_operation=False)
        except (TypeError, ValueError, KeyError) as error:
            text = error.args[0] if error.args else error
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {text}") from None
        assert isinstance(found, Tensor)
        return found

    def _execute(self, handler: Fetches, feeds: dict[Tensor, np.ndarray]) -> list[Any]:
        if self._edition != self._graph._edition:
            self._take_changes()
        shapes = tuple([array.shape for array in feeds.values()])
        plan = self._plans.find((handler, *feeds), shapes)
        if plan is None:
            plan = self._plan_for(handler, feeds)
        try:
            return plan(*feeds.values()) if len(ACTIVE) == 1 else in_turns(plan, handler, feeds)
        except errors.OutOfRangeError as error:
            self._finish_without_input(handler, feeds, error)
            raise

    def _finish_without_input(
        self, handler: Fetches, feeds: dict[Tensor, np.ndarray], error: errors.OutOfRangeError
    ) -> None:
        """Run the operations that do not need the exhausted input."""
        failed = error.op
        if not isinstance(failed, Operation) or failed.graph is not self._graph:
            return
        left = counters_left(handler.tensors, handler.targets, feeds, failed)
        if left and self._placement.devices():  # else another process has done it
            self._execute(self._handler(left), {})

    def _execute_seen(
        self,
        see: Callable[[Tensor, np.ndarray, Any], None],
        handler: Fetches,
        feeds: dict[Tensor, np.ndarray],
    ) -> list[Any]:
        """Run one operation after the other and show `see` all their values."""
        from stillflow.runtime.executor.watched_runs import run_watched

        self._take_changes()
        return run_watched(self._get_resources(), handler, feeds, see)

    def _runs_alone(self, fetches: Any, feeds: Iterable[Tensor] = ()) -> bool:
        """Return True if this process does a run by itself."""
        return self._shared(self._handler(fetches), feeds) is None


@export("Session")
class Session(BaseSession):
    """Session: runs parts of a graph; its variables live until it is closed.

    Used as a context manager it is also the default session, and its graph the default graph.

    Args:
      target: the address of a server, "grpc://host:port"; "" for this process.
      graph: the graph to run; the default graph if None.
      config: a `tf.ConfigProto`.

    Raises:
      TypeError: for arguments of other types.

    Example:
      >>> x = tf.placeholder(tf.float32, [None])
      >>> with tf.Session() as sess: print(sess.run(x * 2.0, feed_dict={x: [1.0, 2.0]}))
      [2. 4.]
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        self._contexts: list[Any] = []

    def __enter__(self) -> Session:
        if self._contexts:
            raise RuntimeError(
                "Session context managers are not re-entrant. Use `Session.as_default()` if you "
                "want to enter a session multiple times."
            )
        contexts = [self._graph.as_default(), self.as_default()]
        for context in contexts:
            context.__enter__()
        self._contexts.append(contexts)
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        graph_context, session_context = self._contexts.pop()
        try:
            session_context.__exit__(None, None, None)
        finally:
            graph_context.__exit__(None, None, None)
        if not self._contexts:
            self.close()

    @staticmethod
    def reset(target: str, containers: list[str] | None = None, config: Any = None) -> None:
        """Forget a server's state in some containers, or all of it.

        Of the empty target it ends all sessions of this process that are without a server.

        Raises:
          tf.errors.NotFoundError: if the target is no address of a server.
        """
        server = targets.find(targets.as_bytes(target))
        if server is None:
            targets.reset_alone()
        else:
            targets.reset(server, containers, config.operation_timeout_in_ms if config else 0)
