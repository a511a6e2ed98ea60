"""Sessions and hooks that stop around each run and let a person look."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from stillflow import errors
from stillflow.debug.console.config import Config
from stillflow.debug.console.run_console import Decision, RunConsole
from stillflow.debug.dump_dir import DebugDumpDir
from stillflow.debug.dumping import check_folder, thread_filter
from stillflow.debug.tensor_dump import has_inf_or_nan
from stillflow.debug.watching import WatchOptions
from stillflow.debug.wrapper_session import BaseDebugWrapperSession, watched_options
from stillflow.train.session_run_hook import SessionRunArgs, SessionRunHook

_UI_TYPES = ("curses", "readline")


class _Stops:
    """Decides which runs to stop at, and holds the conversation.

    Dumps are removed when they were looked at; their folder is a temporary one if None. "curses"
    and "readline" are the same here; settings are in `~/.tfdbg_config` if None.
    """

    def __init__(self, dump_root: str | None, ui_type: str, config_path: str | None) -> None:
        if ui_type not in _UI_TYPES:
            raise ValueError(f"Invalid ui_type: '{ui_type}'")
        self.config = Config(config_path)
        if dump_root is not None:
            check_folder(dump_root, "dump_root")
        self._root = dump_root
        self.filters: dict[str, Callable[..., bool]] = {"has_inf_or_nan": has_inf_or_nan}
        self._decision = Decision()
        self._asks = True  # before the next run
        self._ended = False
        self._folder = ""
        self._watched = False

    def before(self, run: RunConsole, graph: Any, options: Any) -> Any:
        """Ask for a decision, unless there is one; return the `RunOptions` of the run.

        Raises:
          SystemExit: if the person wants to leave.
        """
        if self._ended:
            _leave()
        decision = self._decision
        if self._asks:
            self._asks = False
            decision = self._decision = self._answer(run.at_start(self.filters))
        self._watched = decision.watches()
        if not self._watched:
            return options
        if self._root is not None:
            os.makedirs(self._root, exist_ok=True)
        self._folder = tempfile.mkdtemp(prefix="tfdbg_", dir=self._root)
        watch = WatchOptions(
            None, decision.node_name_filter, decision.op_type_filter, decision.tensor_dtype_filter
        )
        return watched_options(options, graph, watch, f"file://{self._folder}")

    def after(self, run: RunConsole, graph: Any, error: Any) -> None:
        """Show the tensors of the run, if it is one to stop at."""
        if not self._watched:
            self._asks = self._decision.count_down()
            return
        try:
            dump = DebugDumpDir(self._folder, validate=False)
            dump.set_python_graph(graph)
            if not self._decision.stops_at(dump, self.filters) and error is None:
                return
            self._decision = self._next(run.at_end(dump, self.filters, self._decision, error))
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _answer(self, answer: Decision | None) -> Decision:
        if answer is None:
            _leave()
            raise AssertionError
        return answer

    def _next(self, answer: Decision | None) -> Decision:
        """Apply the choice made after a run; the exit happens at the next run."""
        self._ended = answer is None
        return answer or Decision()


def _leave() -> None:
    print("Note: user exited from debugger CLI: Calling sys.exit(1).", file=sys.stderr)
    sys.exit(1)


class LocalCLIDebugWrapperSession(BaseDebugWrapperSession):
    """Session that stops before and after runs and shows a console in the terminal.

    Args:
      sess: the session to wrap.
      dump_root: a folder for the tensors of a run while it is inspected; a temporary one if None.
      log_usage: not used.
      ui_type: "curses" or "readline"; both are the same line by line conversation here.
      thread_name_filter: only runs of threads whose names match are looked at.
      config_file_path: where `config` keeps what is set; `~/.tfdbg_config` by default.

    Raises:
      ValueError: if `ui_type` is neither, or `dump_root` is a file or not empty.
    """

    def __init__(
        self,
        sess: Any,
        dump_root: str | None = None,
        log_usage: bool = True,
        ui_type: str = "curses",
        thread_name_filter: str | None = None,
        config_file_path: Any = False,
    ) -> None:
        del log_usage
        super().__init__(sess, thread_name_filter)
        self._stops = _Stops(dump_root, ui_type, config_file_path or None)

    def add_tensor_filter(self, filter_name: str, tensor_filter: Callable[..., bool]) -> None:
        """Name a predicate of tensors at which a run stops.

        Args:
          filter_name: the name, for `run -f` and `lt -f`.
          tensor_filter: takes a `DebugTensorDatum` and its value.
        """
        self._stops.filters[filter_name] = tensor_filter

    def debugged(
        self, fetches: Any, feed_dict: Any, options: Any, plain: Callable[..., Any]
    ) -> Any:
        run = RunConsole(self.run_call_count, fetches, feed_dict, self._stops.config)
        result = plain(self._stops.before(run, self.graph, options))
        error = result if isinstance(result, errors.OpError) else None
        self._stops.after(run, self.graph, error)
        return result


class LocalCLIDebugHook(SessionRunHook):
    """Hook that is for a `MonitoredSession` what `LocalCLIDebugWrapperSession` is for a session.

    Args:
      ui_type: "curses" or "readline"; both are the same line by line conversation here.
      dump_root: a folder for the tensors of a run while it is inspected; a temporary one if None.
      thread_name_filter: only runs of threads whose names match are looked at.
      config_file_path: where `config` keeps what is set; `~/.tfdbg_config` by default.
    """

    def __init__(
        self,
        ui_type: str = "curses",
        dump_root: str | None = None,
        thread_name_filter: str | None = None,
        config_file_path: str | None = None,
    ) -> None:
        self._stops = _Stops(dump_root, ui_type, config_file_path)
        self._hidden = thread_filter(thread_name_filter)
        self._run: RunConsole | None = None
        self._count = 0

    def add_tensor_filter(self, filter_name: str, tensor_filter: Callable[..., bool]) -> None:
        """Add a filter; see `LocalCLIDebugWrapperSession`."""
        self._stops.filters[filter_name] = tensor_filter

    def before_run(self, run_context: Any) -> Any:
        self._run = None
        if self._hidden():
            return None
        fetches, feeds = run_context.original_args[:2]
        self._count += 1
        self._run = RunConsole(self._count, fetches, feeds, self._stops.config)
        graph = run_context.session.graph
        return SessionRunArgs(None, None, self._stops.before(self._run, graph, None))

    def after_run(self, run_context: Any, run_values: Any) -> None:
        del run_values
        if self._run is not None:
            self._stops.after(self._run, run_context.session.graph, None)
