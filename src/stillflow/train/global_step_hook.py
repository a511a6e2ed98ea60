"""Base of the hooks that follow the global step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.train.hook_timer import global_step_for
from stillflow.train.session_run_hook import SessionRunArgs, SessionRunHook


class GlobalStepHook(SessionRunHook):
    """Hook that reads the global step with each run.

    A subclass sets `_called`, its name in the error of a graph without a global step.
    """

    _called: str
    _steps_per_run = 1

    def _set_steps_per_run(self, steps_per_run: int) -> None:
        self._steps_per_run = steps_per_run

    def begin(self) -> None:
        self._global_step_tensor = global_step_for(self._called)

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs(self._global_step_tensor)

    def _step_if(
        self, due: Callable[[Any], bool], run_context: Any, run_values: Any
    ) -> np.int64 | None:
        """Return the global step after a run if the hook is due at it, else None."""
        # The value read with the run may be from before its update or after it.
        if due(run_values.results + self._steps_per_run):
            step = run_context.session.run(self._global_step_tensor)
            if due(step):
                return step
        return None
