"""tf.contrib.tfprof.ProfileContext: profiles the runs of a program, without changes to it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

from stillflow.files import gfile
from stillflow.graph.export import export
from stillflow.profiler.profiler import Profiler
from stillflow.protos import RunMetadata, RunOptions
from stillflow.runtime.session.session import BaseSession

_MOST_TRACED = 100
# The first runs make plans and fill caches; their times say little.
_WARM_UP = 10

_VIEWS = {
    "scope": Profiler.profile_name_scope,
    "graph": Profiler.profile_graph,
    "op": Profiler.profile_operations,
    "code": Profiler.profile_python,
}


@export("contrib.tfprof.ProfileContext", "contrib.tfprof.model_analyzer.ProfileContext")
class ProfileContext:
    """A context in which some runs of all sessions are traced, profiled and written.

    Args:
      profile_dir: where profiles are written, as `profile_STEP`.
      trace_steps: which runs are traced, counted from 0; if None, one of each kind of run after
        the first ten.
      dump_steps: after which runs the profile is written; after the 100th if None.
      enabled: whether it does anything.
      debug: whether the traces are written too, as text.

    Raises:
      ValueError: if there is no folder, or more than 100 runs are to be traced.
    """

    def __init__(
        self, profile_dir: Any, trace_steps: Sequence[int] | None = None,
        dump_steps: Sequence[int] | None = None, enabled: bool = True, debug: bool = False,
    ) -> None:  # fmt: skip
        self._enabled = enabled
        if not enabled:
            return
        if not profile_dir:
            raise ValueError("Must have a directory for profile.\n")
        if trace_steps is not None and len(trace_steps) > _MOST_TRACED:
            raise ValueError("Only support tracing up to 100 steps.\n")
        self._folder = os.fsdecode(profile_dir)
        self._debug = debug
        self._chooses = trace_steps is None
        self._trace_steps = set(trace_steps or ())
        self._dump_steps = {_MOST_TRACED} if dump_steps is None else set(dump_steps)
        self._auto: list[tuple[str, dict[str, Any], list[int]]] = []
        self._views: dict[str, dict[int, Any]] = {}
        self._seen: set[str] = set()
        self._profilers: dict[int, Profiler] = {}
        self._profiler: Profiler | None = None
        self._step = 0
        self._lock = threading.Lock()

    @property
    def profiler(self) -> Profiler | None:
        """The profiler of the graph that ran last; of the default graph before any has."""
        if self._enabled and self._profiler is None:
            self._profiler = Profiler()
        return self._profiler if self._enabled else None

    def get_profiles(self, cmd: str) -> dict[int, Any]:
        """Return the profiles that `add_auto_profiling` asked for, by step.

        Raises:
          ValueError: if none was made of that view.
        """
        if cmd not in self._views:
            raise ValueError(f"No autoprofiler for command: {cmd}, was run")
        return self._views[cmd]

    def add_auto_profiling(
        self, cmd: str, options: dict[str, Any], profile_steps: Sequence[int]
    ) -> None:
        """Has a profile made after some runs, which are traced.

        Args:
          cmd: "scope", "graph", "op" or "code".
          options: as `ProfileOptionBuilder` makes them.
          profile_steps: after which runs.
        """
        if self._enabled:
            self._auto.append((cmd, options, list(profile_steps)))
            self._trace_steps.update(profile_steps)

    def trace_next_step(self) -> None:
        """Has the next run traced."""
        if self._enabled:
            self._trace_steps.add(self._step)

    def dump_next_step(self) -> None:
        """Has the profile written after the next run."""
        if self._enabled:
            self._dump_steps.add(self._step)

    def __enter__(self) -> ProfileContext:
        if self._enabled:
            self._plain_run = BaseSession.run
            BaseSession.run = self._profiled_run()  # type: ignore[method-assign]
            BaseSession.profile_context = self  # type: ignore[attr-defined]
        return self

    def __exit__(self, *unused: Any) -> None:
        if self._enabled:
            BaseSession.run = self._plain_run  # type: ignore[method-assign]
            del BaseSession.profile_context  # type: ignore[attr-defined]

    def _profiled_run(self) -> Callable[..., Any]:
        context, plain = self, self._plain_run

        def run(
            self: BaseSession, fetches: Any, feed_dict: Any = None, options: Any = None,
            run_metadata: Any = None,
        ) -> Any:  # fmt: skip
            if not context._lock.acquire(blocking=False):  # one run at a time is looked at
                return plain(self, fetches, feed_dict, options, run_metadata)
            try:
                step, context._step = context._step, context._step + 1
                if context._traces(step, fetches):
                    options, run_metadata = _traced(options), run_metadata or RunMetadata()
                result = plain(self, fetches, feed_dict, options, run_metadata)
                if run_metadata is not None:
                    context._add(self.graph, step, run_metadata)
                context._put_out(step)
                return result
            finally:
                context._lock.release()

        return run

    def _traces(self, step: int, fetches: Any) -> bool:
        if step in self._trace_steps:
            return True
        kind = str(fetches)
        if not self._chooses or step <= _WARM_UP or kind in self._seen:
            return False
        self._seen.add(kind)
        return len(self._seen) <= _MOST_TRACED

    def _add(self, graph: Any, step: int, run_metadata: Any) -> None:
        if id(graph) not in self._profilers:
            self._profilers[id(graph)] = Profiler(graph)
        self._profiler = self._profilers[id(graph)]
        self._profiler.add_step(step, run_metadata)
        if self._debug:
            self._write(f"run_meta_{step}", str(run_metadata))

    def _put_out(self, step: int) -> None:
        auto = [(cmd, options) for cmd, options, steps in self._auto if step in steps]
        if step not in self._dump_steps and not auto:
            return
        profiler = self.profiler
        assert profiler is not None
        if step in self._dump_steps:
            self._write(f"profile_{step}", profiler.serialize_to_string())
        for cmd, options in auto:
            if cmd not in _VIEWS:
                raise ValueError(f"Unknown cmd: {cmd}\n")
            self._views.setdefault(cmd, {})[step] = _VIEWS[cmd](profiler, options)

    def _write(self, name: str, content: Any) -> None:
        gfile.recursive_create_dir(self._folder)
        gfile.write_string_to_file(os.path.join(self._folder, name), content)


def _traced(options: Any) -> Any:
    traced = RunOptions()
    if options is not None:
        traced.CopyFrom(options)
    traced.trace_level = RunOptions.FULL_TRACE
    return traced
