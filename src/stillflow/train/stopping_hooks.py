"""Hooks that say when training begins and ends: StopAtStepHook, GlobalStepWaiterHook."""

from __future__ import annotations

import time
from typing import Any

from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow.train.global_step_hook import GlobalStepHook
from stillflow.train.hook_timer import global_step_for
from stillflow.train.session_run_hook import SessionRunHook


@export("train.StopAtStepHook")
class StopAtStepHook(GlobalStepHook):
    """Hook that ends training at a step.

    Args:
      num_steps: how many steps to make.
      last_step: the step to end at.

    Raises:
      ValueError: unless exactly one is given.
    """

    _called = "StopAtStepHook"

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if (num_steps is None) == (last_step is None):
            which, may = ("One", "must") if num_steps is None else ("Only one", "can")
            raise ValueError(f"{which} of num_steps or last_step {may} be specified.")
        self._num_steps = num_steps
        self._last_step: Any = last_step

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._last_step is None:
            self._last_step = session.run(self._global_step_tensor) + self._num_steps

    def after_run(self, run_context: Any, run_values: Any) -> None:
        last = self._last_step
        if self._step_if(lambda step: step >= last, run_context, run_values) is not None:
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
