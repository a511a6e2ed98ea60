"""A loop of steps of training, in a session or where operations run at once."""

from __future__ import annotations

from typing import Any

from stillflow import errors
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.variables.collections import global_variables_initializer


@export("contrib.distribute.Monitor")
class Monitor:
    """Loop of steps; it makes their operation and initializes all variables.

    Args:
      step_callable: a `Step`.
      session: a session; None where operations run at once.

    Raises:
      ValueError: if there is a session where operations run at once, or none in graph mode.
    """

    def __init__(self, step_callable: Any, session: Any = None) -> None:
        self._run_step = step_callable
        if executing_eagerly():
            if session is not None:
                raise ValueError("Should not provide a `session` in Eager mode.")
            return
        if session is None:
            raise ValueError("Should provide a `session` in Graph mode.")
        session.run(step_callable.initialize())
        self._run_step = session.make_callable(step_callable())
        session.run(global_variables_initializer())

    def run_steps(self, num_steps: int | None = None) -> None:
        """Make so many steps, or as many as there is input for."""
        made = 0
        while num_steps is None or made < num_steps:
            try:
                self._run_step()
            except errors.OutOfRangeError:
                return
            made += 1
