"""Hooks that say when training begins and ends: StopAtStepHook, GlobalStepWaiterHook."""

from __future__ import annotations

import time
from typing import Any

from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow.train.hook_timer import global_step_for
from stillflow.train.session_run_hook import SessionRunArgs, SessionRunHook


@export("train.StopAtStepHook")
class StopAtStepHook(SessionRunHook):
    """Hook that ends training at a step.

    Args:
      num_steps: how many steps to make.
      last_step: the step to end at.

    Raises:
      ValueError: unless exactly one is given.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps = num_steps
        self._last_step: Any = last_step

    def begin(self) -> None:
        self._global_step_tensor = global_step_for("StopAtStepHook")

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._last_step is None:
            self._last_step = session.run(self._global_step_tensor) + self._num_steps

    def before_run(self, run_context: Any) -> Any:
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        # The value read with the run may be from before its update: then it is read again.
        if run_values.results + 1 < self._last_step:
            return
        if run_context.session.run(self._global_step_tensor) >= self._last_step:
            run_context.request_stop()


@export("train.GlobalStepWaiterHook")
class GlobalStepWaiterHook(SessionRunHook):
    """Hook that delays training until the global step reaches a number.

    Args:
      wait_until_step: the step.
    """

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        self._worker_is_started = False
        self._global_step_tensor = global_step_for("_GlobalStepWaiterHook")

    def before_run(self, run_context: Any) -> Any:
        if self._worker_is_started:
            return None
        if self._wait_until_step > 0:
            self._wait(run_context)
        self._worker_is_started = True
        return None

    def _wait(self, run_context: Any) -> None:
        until, logged = self._wait_until_step, 0
        logging.info("Waiting for global step %d before starting training.", until)
        while True:
            step = run_context.session.run(self._global_step_tensor)
            if step >= until:
                return
            if step - logged > 1000:
                logging.info(
                    "Waiting for global step %d before starting training. Current step is %d.",
                    until, step,
                )  # fmt: skip
                logged = step
            time.sleep(0.5)
