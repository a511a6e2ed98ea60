"""Monitors as hooks of a session."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.train.global_step import get_global_step
from stillflow.train.logging_hooks import _as_graph_element
from stillflow.train.session_run_hook import SessionRunArgs, SessionRunHook
from stillflow.util import tf_inspect


@export("contrib.learn.monitors.RunHookAdapterForMonitors")
class RunHookAdapterForMonitors(SessionRunHook):
    """The hook that calls monitors.

    Args:
      monitors: `BaseMonitor`s.
    """

    def __init__(self, monitors: list[Any]) -> None:
        self._monitors = monitors

    def begin(self) -> None:
        self._last_step: int | None = None
        self._global_step_tensor = get_global_step()
        for monitor in self._monitors:
            monitor.begin(max_steps=None)

    def before_run(self, run_context: Any) -> SessionRunArgs:
        if self._last_step is None:
            self._last_step = run_context.session.run(self._global_step_tensor) + 1
        fetches: dict[Any, Any] = {self._global_step_tensor: self._global_step_tensor}
        requests: list[Any] = []
        for monitor in self._monitors:
            wanted = monitor.step_begin(self._last_step)
            if wanted and not isinstance(wanted, list):
                raise ValueError("Monitor.step_begin should return a list.")
            requests.extend(wanted or [])
        if requests:
            fetches["monitors"] = {request: _as_graph_element(request) for request in requests}
        return SessionRunArgs(fetches)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        result = run_values.results.get("monitors", {})
        for monitor in self._monitors:
            if monitor.step_end(self._last_step, result):
                run_context.request_stop()
        for monitor in self._monitors:
            monitor.post_step(self._last_step, run_context.session)
        self._last_step = run_values.results[self._global_step_tensor] + 1

    def end(self, session: Any) -> None:
        self._last_step = None
        for monitor in self._monitors:
            if "session" in tf_inspect.getargspec(monitor.end).args:
                monitor.end(session=session)
            else:
                monitor.end()


@export("contrib.learn.monitors.replace_monitors_with_hooks")
def replace_monitors_with_hooks(monitors_or_hooks: Any, estimator: Any) -> list[Any]:
    """Hooks for a mix of hooks and monitors.

    Args:
      monitors_or_hooks: a list of them, or None.
      estimator: whose training they watch.

    Returns:
      The hooks; one for all monitors that this task has stands at the end.
    """
    hooks: list[Any] = []
    monitors: list[Any] = []
    for item in monitors_or_hooks or ():
        (hooks if isinstance(item, SessionRunHook) else monitors).append(item)
    is_chief = estimator.config.is_chief
    watching = [each for each in monitors if is_chief or each.run_on_all_workers]
    for each in watching:
        each.set_estimator(estimator)
    return [*hooks, RunHookAdapterForMonitors(watching)] if watching else hooks
