"""Number of steps in a folder's checkpoint, and a hook that stops workers at the last one."""

from __future__ import annotations

import time
from typing import Any

from stillflow.errors import OpError
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.train.checkpoint_management import latest_checkpoint
from stillflow.train.checkpoint_utils import load_variable
from stillflow.train.global_step import get_or_create_global_step_read
from stillflow.train.session_run_hook import SessionRunArgs, SessionRunHook
from stillflow.train.stopping_hooks import StopAtStepHook


def steps_made(model_dir: str) -> int:
    """Return the global step of a folder's latest checkpoint; 0 if there is none, or none in it."""
    path = latest_checkpoint(model_dir)
    try:
        return int(load_variable(path, GraphKeys.GLOBAL_STEP)) if path else 0
    except OpError:
        return 0


class _StopAtCheckpointStepHook(SessionRunHook):
    """Hook that stops when a checkpoint has a step; workers wait for it at that step."""

    def __init__(
        self, model_dir: str, last_step: int, wait_after_file_check_secs: float = 30
    ) -> None:
        if last_step is None:
            raise ValueError("last_step must be specified.")
        if model_dir is None:
            raise ValueError("model_dir must be specified.")
        self._model_dir = model_dir
        self._last_step = last_step
        self._wait = wait_after_file_check_secs

    def begin(self) -> None:
        self._global_step = get_or_create_global_step_read()
        if self._global_step is None:
            raise RuntimeError("Global step should be created to use StopAtCheckpointStepHook.")

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if run_values.results + 1 < self._last_step:
            return
        path = latest_checkpoint(self._model_dir)
        if path and load_variable(path, GraphKeys.GLOBAL_STEP) >= self._last_step:
            run_context.request_stop()
        else:
            time.sleep(self._wait)


@export("estimator.experimental.make_stop_at_checkpoint_step_hook")
def make_stop_at_checkpoint_step_hook(
    estimator: Any, last_step: int, wait_after_file_check_secs: float = 30
) -> SessionRunHook:
    """Return a hook that stops at a step.

    Workers that are not the chief wait until it has saved it.

    Args:
      estimator: whose training it is.
      last_step: the step.
      wait_after_file_check_secs: how long they wait between looks at the checkpoints.
    """
    if estimator.config.is_chief:
        return StopAtStepHook(last_step=last_step)
    return _StopAtCheckpointStepHook(estimator.model_dir, last_step, wait_after_file_check_secs)
