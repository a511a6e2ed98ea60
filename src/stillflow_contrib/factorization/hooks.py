"""Hooks of k-means clustering: choosing the first centers, and stopping when they rest."""

from __future__ import annotations

import time
from typing import Any

from stillflow.graph.graph import get_default_graph
from stillflow.platform import tf_logging as logging
from stillflow.train.session_run_hook import SessionRunArgs, SessionRunHook


class InitializeClustersHook(SessionRunHook):
    """Chooses centers until there are enough; other workers wait for the chief to do so.

    Args:
      init_op: chooses some.
      is_initialized: whether there are enough.
      is_chief: whether this worker is the chief.
    """

    def __init__(self, init_op: Any, is_initialized: Any, is_chief: bool) -> None:
        self._init_op = init_op
        self._is_initialized = is_initialized
        self._is_chief = is_chief

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Chooses the centers."""
        assert self._init_op.graph is get_default_graph()
        while True:
            try:
                if session.run(self._is_initialized):
                    return
                if self._is_chief:
                    session.run(self._init_op)
                else:
                    time.sleep(1)
            except RuntimeError as error:
                logging.info(error)


class LossRelativeChangeHook(SessionRunHook):
    """Hook that stops when the relative change of the loss is small.

    Args:
      loss: a scalar.
      tolerance: the share.
    """

    def __init__(self, loss: Any, tolerance: float) -> None:
        self._loss = loss
        self._tolerance = tolerance
        self._before: Any = None

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Asks for the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Compare it with that of the step before."""
        loss, before = run_values.results, self._before
        if before and abs(loss - before) / (1 + abs(before)) < self._tolerance:
            run_context.request_stop()
        self._before = loss
