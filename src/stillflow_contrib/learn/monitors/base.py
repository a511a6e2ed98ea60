"""Base classes of monitors: BaseMonitor, EveryN, and their fetches."""

from __future__ import annotations

import math
from typing import Any

from stillflow.graph.export import export
from stillflow.util.notices import noticed


def _require(condition: bool, *problem: Any) -> None:
    if not condition:
        raise ValueError(*problem)


@export("contrib.learn.monitors.BaseMonitor")
class BaseMonitor:
    """Base of monitors; methods are called in the order of the steps.

    Raises:
      ValueError: if methods are called out of order.
    """

    _begun = False
    _current_epoch: int | None = None
    _current_step: int | None = None
    _max_steps: int | None = None
    _estimator: Any = None

    @noticed("contrib.learn.monitors.BaseMonitor")
    def __init__(self) -> None:
        """Begin in no step, no epoch and no training."""

    @property
    def run_on_all_workers(self) -> bool:
        """True if every worker has it, not only the chief."""
        return False

    def set_estimator(self, estimator: Any) -> None:
        """Says whose training this is.

        Raises:
          ValueError: if it is None.
        """
        _require(estimator is not None, "Missing estimator.")
        self._estimator = estimator

    def begin(self, max_steps: int | None = None) -> None:
        """Prepare; called before training, with the global step to end at."""
        _require(not self._begun, "begin called twice without end.")
        self._begun, self._max_steps = True, max_steps

    def end(self, session: Any = None) -> None:
        """Finish; called after training."""
        _require(self._begun, "end called without begin.")
        self._begun, self._max_steps = False, None

    def epoch_begin(self, epoch: int) -> None:
        """Prepare an epoch."""
        _require(self._current_epoch is None, "epoch_begin called twice without epoch_end.")
        _require(epoch >= 0, f"Invalid epoch {epoch}.")
        self._current_epoch = epoch

    def epoch_end(self, epoch: int) -> None:
        """Finish an epoch."""
        words = "epoch_end expected %s but got %s.", self._current_epoch, epoch
        _require(epoch == self._current_epoch, *words)
        self._current_epoch = None

    def step_begin(self, step: int) -> list[Any]:
        """Return the fetches of the next step: tensors or their names."""
        last = math.inf if self._max_steps is None else self._max_steps
        _require(0 <= step <= last, f"Invalid step {step}.")
        self._current_step = step
        return []

    def step_end(self, step: int, output: dict[Any, Any]) -> bool | None:
        """Process the fetches of a step; return True to stop."""
        words = "step_end expected %s but got %s.", self._current_step, step
        _require(step == self._current_step, *words)
        self._current_step = None
        return False

    def post_step(self, step: int, session: Any) -> None:
        """Act after `step_end` of all monitors."""


@export("contrib.learn.monitors.EveryN")
class EveryN(BaseMonitor):
    """Base of monitors of the first steps, some in between and the last one.

    Args:
      every_n_steps: how far the steps in between are apart.
      first_n_steps: how many steps at the beginning are watched, too.
    """

    _last_successful_step: int | None = None
    _last_active_step = 0
    # True if the step is watched.
    _every_n_step_begin_called = False

    def __init__(self, every_n_steps: int = 100, first_n_steps: int = 1) -> None:
        super().__init__()
        self._every_n_steps, self._first_n_steps = every_n_steps, first_n_steps

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Return the fetches of the next watched step."""
        return []

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool | None:
        """Process the fetches of a watched step; return True to stop."""
        return False

    def every_n_post_step(self, step: int | None, session: Any) -> None:
        """Act after `every_n_step_end`, and at the end of training."""

    def step_begin(self, step: int) -> list[Any]:
        fetches = super().step_begin(step)
        due = self._last_active_step + self._every_n_steps
        self._every_n_step_begin_called = watched = (
            step <= self._first_n_steps or step >= due or step == self._max_steps
        )
        return self.every_n_step_begin(step) if watched else fetches

    def step_end(self, step: int, output: dict[Any, Any]) -> bool | None:
        stop = super().step_end(step, output)
        return self.every_n_step_end(step, output) if self._every_n_step_begin_called else stop

    def post_step(self, step: int, session: Any) -> None:
        super().post_step(step, session)
        if self._every_n_step_begin_called:
            self.every_n_post_step(step, session)
            self._last_active_step = step
        self._last_successful_step = step

    def end(self, session: Any = None) -> None:
        super().end(session=session)
        last = self._last_successful_step
        if last != self._last_active_step:
            self.every_n_post_step(last, session)


def extract_output(outputs: dict[Any, Any], request: Any) -> bytes:
    """Return the fetched value of a tensor; the fetches may be by name."""
    return outputs[request] if request in outputs else outputs[request.name]
