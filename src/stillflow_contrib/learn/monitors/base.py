"""Base classes of monitors: BaseMonitor, EveryN, and their fetches."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.util.deprecation import deprecated


@export("contrib.learn.monitors.BaseMonitor")
class BaseMonitor:
    """Base of monitors; methods are called in the order of the steps.

    Raises:
      ValueError: if methods are called out of order.
    """

    @deprecated("2016-12-05", "Monitors are deprecated. Please use tf.train.SessionRunHook.")
    def __init__(self) -> None:
        self._begun = False
        self._current_epoch: int | None = None
        self._current_step: int | None = None
        self._max_steps: int | None = None
        self._estimator: Any = None

    @property
    def run_on_all_workers(self) -> bool:
        """True if every worker has it, not only the chief."""
        return False

    def set_estimator(self, estimator: Any) -> None:
        """Says whose training this is.

        Raises:
          ValueError: if it is None.
        """
        if estimator is None:
            raise ValueError("Missing estimator.")
        self._estimator = estimator

    def begin(self, max_steps: int | None = None) -> None:
        """Prepare; called before training, with the global step to end at."""
        if self._begun:
            raise ValueError("begin called twice without end.")
        self._max_steps = max_steps
        self._begun = True

    def end(self, session: Any = None) -> None:
        """Finish; called after training."""
        if not self._begun:
            raise ValueError("end called without begin.")
        self._max_steps = None
        self._begun = False

    def epoch_begin(self, epoch: int) -> None:
        """Prepare an epoch."""
        if self._current_epoch is not None:
            raise ValueError("epoch_begin called twice without epoch_end.")
        if epoch < 0:
            raise ValueError(f"Invalid epoch {epoch}.")
        self._current_epoch = epoch

    def epoch_end(self, epoch: int) -> None:
        """Finish an epoch."""
        if self._current_epoch != epoch:
            raise ValueError("epoch_end expected %s but got %s.", self._current_epoch, epoch)
        self._current_epoch = None

    def step_begin(self, step: int) -> list[Any]:
        """Return the fetches of the next step: tensors or their names."""
        if step < 0 or (self._max_steps is not None and step > self._max_steps):
            raise ValueError(f"Invalid step {step}.")
        self._current_step = step
        return []

    def step_end(self, step: int, output: dict[Any, Any]) -> bool:
        """Process the fetches of a step; return True to stop."""
        if self._current_step != step:
            raise ValueError("step_end expected %s but got %s.", self._current_step, step)
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

    def __init__(self, every_n_steps: int = 100, first_n_steps: int = 1) -> None:
        super().__init__()
        self._every_n_steps = every_n_steps
        self._first_n_steps = first_n_steps
        self._last_successful_step: int | None = None
        self._last_active_step = 0
        self._every_n_step_begin_called = False

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Return the fetches of the next watched step."""
        return []

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool | None:
        """Process the fetches of a watched step; return True to stop."""
        return False

    def every_n_post_step(self, step: int | None, session: Any) -> None:
        """Act after `every_n_step_end`, and at the end of training."""

    def step_begin(self, step: int) -> list[Any]:
        super().step_begin(step)
        self._every_n_step_begin_called = (
            step <= self._first_n_steps
            or step >= self._every_n_steps + self._last_active_step
            or step == self._max_steps
        )
        return self.every_n_step_begin(step) if self._every_n_step_begin_called else []

    def step_end(self, step: int, output: dict[Any, Any]) -> Any:
        super().step_end(step, output)
        return self._every_n_step_begin_called and self.every_n_step_end(step, output)

    def post_step(self, step: int, session: Any) -> None:
        super().post_step(step, session)
        if self._every_n_step_begin_called:
            self.every_n_post_step(step, session)
            self._last_active_step = step
        self._last_successful_step = step

    def end(self, session: Any = None) -> None:
        super().end(session=session)
        if self._last_successful_step != self._last_active_step:
            self.every_n_post_step(self._last_successful_step, session)


def extract_output(outputs: dict[Any, Any], request: Any) -> Any:
    """Return the fetched value of a tensor; the fetches may be by name."""
    return outputs[request] if request in outputs else outputs[request.name]
