"""Hooks of the training of boosted trees."""

from __future__ import annotations

from typing import Any

from stillflow.train.session_run_hook import SessionRunArgs, SessionRunHook


class StopAtAttemptsHook(SessionRunHook):
    """Hook that ends training after enough trees or attempts.

    Args:
      num_finalized_trees_tensor: how many trees are done.
      num_attempted_layers_tensor: how often a layer was tried.
      max_trees: how many trees are enough.
      max_depth: how many layers each has.
    """

    def __init__(
        self, num_finalized_trees_tensor: Any, num_attempted_layers_tensor: Any, max_trees: int,
        max_depth: int,
    ) -> None:  # fmt: skip
        self._counts = [num_finalized_trees_tensor, num_attempted_layers_tensor]
        self._max_trees = max_trees
        self._max_layers = 2 * max_trees * max_depth

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs(self._counts)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        trees, layers = run_values.results
        if trees >= self._max_trees - 1 or layers > self._max_layers - 1:
            # These are of before the step; its results are known only now.
            trees, layers = run_context.session.run(self._counts)
        if trees >= self._max_trees or layers > self._max_layers:
            run_context.request_stop()


class GrowerInitializationHook(SessionRunHook):
    """Hook that prepares the grower of trees, once there is a session.

    Args:
      init_op: what does.
    """

    def __init__(self, init_op: Any) -> None:
        self._init_op = init_op

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._init_op)
