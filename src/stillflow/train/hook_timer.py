"""tf.train.SecondOrStepTimer: when a hook is due again."""

from __future__ import annotations

import time

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor


class HookTimer:
    """Base of the timers of hooks."""

    def reset(self) -> None:
        """Forget when it was due last."""

    def should_trigger_for_step(self, step: int) -> bool:
        """Return True if it is due at this step."""
        raise NotImplementedError

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Record the step, and return the seconds and steps since the last one."""
        raise NotImplementedError

    def last_triggered_step(self) -> int | None:
        """Return the step at which it was done last."""
        raise NotImplementedError


@export("train.SecondOrStepTimer")
class SecondOrStepTimer(HookTimer):
    """Due every so many seconds or steps, at the first step in any case.

    Args:
      every_secs: seconds, or None.
      every_steps: steps, or None.

    Raises:
      ValueError: unless exactly one is given.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        self.reset()
        self._every_secs = every_secs
        self._every_steps = every_steps
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")

    def reset(self) -> None:
        self._last_triggered_step: int | None = None
        self._last_triggered_time: float | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        last = self._last_triggered_step
        if last is None:
            return True
        if last == step:
            return False
        if self._every_secs is not None:
            assert self._last_triggered_time is not None
            return time.time() >= self._last_triggered_time + self._every_secs
        assert self._every_steps is not None
        return step >= last + self._every_steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        now = time.time()
        elapsed: tuple[float | None, int | None] = (None, None)
        if self._last_triggered_time is not None and self._last_triggered_step is not None:
            elapsed = now - self._last_triggered_time, step - self._last_triggered_step
        self._last_triggered_time, self._last_triggered_step = now, step
        return elapsed

    def last_triggered_step(self) -> int | None:
        return self._last_triggered_step


class NeverTriggerTimer(HookTimer):
    """Never due."""

    def should_trigger_for_step(self, step: int) -> bool:
        del step
        return False

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        del step
        return None, None

    def last_triggered_step(self) -> int | None:
        return None


def global_step_for(hook: str) -> Tensor:
    """Return the tensor a hook reads the global step from; RuntimeError if there is none."""
    from stillflow.train.global_step import get_or_create_global_step_read

    tensor = get_or_create_global_step_read()
    if tensor is None:
        raise RuntimeError(f"Global step should be created to use {hook}.")
    return tensor
