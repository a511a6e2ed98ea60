"""Adagrad that can leave its sums as they are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from stillflow.graph.export import export
from stillflow.train.adagrad import AdagradOptimizer
from stillflow.train.rule_optimizer import Step


@export("contrib.opt.RegAdagradOptimizer")
class RegAdagradOptimizer(AdagradOptimizer):
    """Adagrad; arguments as in `tf.train.AdagradOptimizer`."""

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "RegAdagrad",
    ) -> None:
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)
        self._should_update_slots = True

    @contextlib.contextmanager
    def avoid_updating_slots(self) -> Iterator[None]:
        """Gradients applied inside change variables but not the sums of squares."""
        before = self._should_update_slots
        self._should_update_slots = False
        try:
            yield
        finally:
            self._should_update_slots = before

    def _step(self, var: Any) -> Step:
        step = super()._step(var)
        step.flags["update_slots"] = self._should_update_slots
        return step
