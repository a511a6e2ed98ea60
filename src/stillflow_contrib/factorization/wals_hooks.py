"""Hooks that train a `WALSModel`: sweeps over rows and columns in turn."""

from __future__ import annotations

from typing import Any

from stillflow.graph.graph import get_default_graph
from stillflow.platform import tf_logging as logging
from stillflow.train.global_step import get_global_step
from stillflow.train.session_run_hook import SessionRunArgs, SessionRunHook
from stillflow.variables.state_ops import assign_add

COMPLETED_SWEEPS = "completed_sweeps"


class SweepHook(SessionRunHook):
    """Hook that alternates sweeps of rows and columns, and prepares each sweep.

    Args:
      is_row_sweep_var: whether rows are.
      is_sweep_done_var: whether the next sweep begins.
      init_op: runs once.
      row_prep_ops: run one after the other before each sweep over rows.
      col_prep_ops: before each over columns.
      row_train_op: updates rows.
      col_train_op: updates columns.
      switch_op: turns from rows to columns, or back.
    """

    def __init__(
        self, is_row_sweep_var: Any, is_sweep_done_var: Any, init_op: Any, row_prep_ops: list[Any],
        col_prep_ops: list[Any], row_train_op: Any, col_train_op: Any, switch_op: Any,
    ) -> None:  # fmt: skip
        self._is_row_sweep = is_row_sweep_var
        self._is_sweep_done = is_sweep_done_var
        self._init_op = init_op
        self._prep_ops = {"row": row_prep_ops, "col": col_prep_ops}
        self._train_ops = {"row": row_train_op, "col": col_train_op}
        self._switch_op = switch_op
        self._is_initialized = False

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Begins a sweep if it is time, and asks for an update."""
        session = run_context.session
        begins = session.run(self._is_sweep_done)
        if not self._is_initialized:
            logging.info("SweepHook running init op.")
            session.run(self._init_op)
        if begins:
            logging.info("SweepHook starting the next sweep.")
            session.run(self._switch_op)
        side = "row" if session.run(self._is_row_sweep) else "col"
        if begins or not self._is_initialized:
            logging.info("SweepHook running prep ops for the %s sweep.", side)
            for each in self._prep_ops[side]:
                session.run(each)
        self._is_initialized = True
        logging.info("Next fit step starting.")
        return SessionRunArgs(fetches=[self._train_ops[side]])


class IncrementGlobalStepHook(SessionRunHook):
    """Counts steps, where there is a variable for it."""

    def __init__(self) -> None:
        step = get_global_step()
        self._count = None if step is None else assign_add(step, 1, name="global_step_incr").op

    def before_run(self, run_context: Any) -> None:
        """Count a step."""
        if self._count is not None:
            run_context.session.run(self._count)


class StopAtSweepHook(SessionRunHook):
    """Hook that stops after a number of sweeps.

    Args:
      last_sweep: the number.
    """

    def __init__(self, last_sweep: int) -> None:
        self._last_sweep = last_sweep

    def begin(self) -> None:
        """Find the variable that counts sweeps.

        Raises:
          RuntimeError: if the graph has none.
        """
        try:
            self._completed = get_default_graph().get_tensor_by_name(f"{COMPLETED_SWEEPS}:0")
        except KeyError:
            raise RuntimeError(
                f"{COMPLETED_SWEEPS} counter should be created to use StopAtSweepHook."
            ) from None

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Asks for the number of sweeps."""
        return SessionRunArgs(self._completed)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Stop if it is large enough."""
        if run_values.results >= self._last_sweep:
            run_context.request_stop()
