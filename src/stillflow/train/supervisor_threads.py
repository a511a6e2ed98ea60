"""Background threads of a Supervisor: summaries, step counter, checkpoints."""

from __future__ import annotations

import time
from typing import Any

from stillflow.platform import tf_logging as logging
from stillflow.protos import SessionLog, Summary
from stillflow.train.coordinator import LooperThread
from stillflow.train.global_step import global_step as step_of


class SVSummaryThread(LooperThread):
    """Thread that writes summaries.

    Args:
      sv: the Supervisor.
      sess: the session.
    """

    def __init__(self, sv: Any, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv = sv
        self._sess = sess

    def run_loop(self) -> None:
        sv, step = self._sv, None
        if sv.global_step is not None:
            summary, step = self._sess.run([sv.summary_op, sv.global_step])
        else:
            summary = self._sess.run(sv.summary_op)
        if sv.summary_writer:
            logging.info("Recording summary at step %s.", step)
            sv.summary_writer.add_summary(summary, step)


class SVStepCounterThread(LooperThread):
    """Thread that writes the number of steps per second.

    Args:
      sv: the Supervisor.
      sess: the session.
      step_counter: what counts; the global step if None.
    """

    def __init__(self, sv: Any, sess: Any, step_counter: Any = None) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv = sv
        self._sess = sess
        self._last_time = 0.0
        self._last_step = 0
        self._step_counter = sv.global_step if step_counter is None else step_counter
        self._summary_tag = f"{self._step_counter.op.name}/sec"

    def start_loop(self) -> None:
        self._last_time = time.time()
        self._last_step = step_of(self._sess, self._step_counter)

    def run_loop(self) -> None:
        step = step_of(self._sess, self._step_counter)
        now = time.time()
        added, elapsed = step - self._last_step, now - self._last_time
        self._last_step, self._last_time = step, now
        per_second = added / elapsed if elapsed > 0.0 else float("inf")
        if self._sv.summary_writer:
            value = Summary.Value(tag=self._summary_tag, simple_value=per_second)
            self._sv.summary_writer.add_summary(Summary(value=[value]), step)
        logging.log_first_n(logging.INFO, "%s: %g", 10, self._summary_tag, per_second)


class SVTimerCheckpointThread(LooperThread):
    """Saves checkpoints.

    Args:
      sv: the Supervisor.
      sess: the session.
    """

    def __init__(self, sv: Any, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_model_secs)
        self._sv = sv
        self._sess = sess

    def run_loop(self) -> None:
        sv = self._sv
        logging.info("Saving checkpoint to path %s", sv.save_path)
        sv.saver.save(self._sess, sv.save_path, global_step=sv.global_step)
        if sv.summary_writer and sv.global_step is not None:
            step = step_of(self._sess, sv.global_step)
            log = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=sv.save_path)
            sv.summary_writer.add_session_log(log, step)
