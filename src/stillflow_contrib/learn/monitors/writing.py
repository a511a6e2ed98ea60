"""Monitors that write files: summaries, the speed, checkpoints."""

from __future__ import annotations

import os
import time
from typing import Any

from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow.protos import SessionLog, Summary
from stillflow.summary.writer import FileWriter, FileWriterCache
from stillflow_contrib.learn.monitors.base import BaseMonitor, EveryN, extract_output
from stillflow_contrib.learn.monitors.watching import PrintTensor


class _Writer(EveryN):
    """Monitor with a writer of event files; if none is given, one for a folder."""

    def __init__(self, every_n_steps: int, summary_writer: Any, output_dir: Any) -> None:
        super().__init__(every_n_steps=every_n_steps)
        self._summary_writer = summary_writer
        if output_dir:
            self._open(output_dir)

    def _open(self, folder: Any) -> None:
        if self._summary_writer is None:
            self._summary_writer = self._writer_of(folder)

    def _writer_of(self, folder: Any) -> FileWriter:
        return FileWriterCache.get(folder)

    def set_estimator(self, estimator: Any) -> None:
        super().set_estimator(estimator)
        self._open(estimator.model_dir)


@export("contrib.learn.monitors.SummarySaver")
class SummarySaver(_Writer):
    """Monitor that writes summaries.

    Args:
      summary_op: gives a serialized `Summary`; that of the scaffold if None.
      save_steps: how often, in steps.
      output_dir: where; the folder of the estimator if there is no writer either.
      summary_writer: the writer.
      scaffold: a `Scaffold`.
    """

    def __init__(
        self, summary_op: Any, save_steps: int = 100, output_dir: Any = None,
        summary_writer: Any = None, scaffold: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(save_steps, summary_writer, output_dir)
        self._summary_op, self._scaffold = summary_op, scaffold

    def _writer_of(self, folder: Any) -> FileWriter:
        return FileWriter(folder)

    def every_n_step_begin(self, step: int) -> list[Any]:
        fetches = super().every_n_step_begin(step)
        if self._summary_op is None and self._scaffold is not None:
            self._summary_op = self._scaffold.summary_op
        return fetches if self._summary_op is None else [*fetches, self._summary_op]

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        super().every_n_step_end(step, outputs)
        if self._summary_op is not None and self._summary_writer:
            serialized = extract_output(outputs, self._summary_op)
            self._summary_writer.add_summary(serialized, step)
        return False

    def end(self, session: Any = None) -> None:
        super().end(session=session)
        if self._summary_writer:
            self._summary_writer.flush()


@export("contrib.learn.monitors.StepCounter")
class StepCounter(_Writer):
    """Monitor that writes the number of steps per second.

    Args:
      every_n_steps: how often, in steps.
      output_dir: where; the folder of the estimator if there is no writer either.
      summary_writer: the writer.
    """

    def __init__(
        self, every_n_steps: int = 100, output_dir: Any = None, summary_writer: Any = None
    ) -> None:
        super().__init__(every_n_steps, summary_writer, output_dir)
        self._summary_tag = "global_step/sec"
        self._last_reported: tuple[int, float] | None = None

    def every_n_step_end(self, current_step: int, outputs: dict[Any, Any]) -> None:
        now = time.time()
        if self._last_reported is not None and self._summary_writer:
            step, then = self._last_reported
            speed = (current_step - step) / (now - then)
            summary = Summary(value=[Summary.Value(tag=self._summary_tag, simple_value=speed)])
            self._summary_writer.add_summary(summary, current_step)
        self._last_reported = current_step, now


@export("contrib.learn.monitors.CheckpointSaver")
class CheckpointSaver(BaseMonitor):
    """Saves checkpoints, the first after the first step and the last at the end.

    Args:
      checkpoint_dir: where.
      save_secs: how often, in seconds.
      save_steps: how often, in steps.
      saver: a `Saver`; that of the scaffold if None.
      checkpoint_basename: the prefix of the file names.
      scaffold: a `Scaffold`.

    Raises:
      ValueError: if it is not said how often, or twice.
    """

    def __init__(
        self, checkpoint_dir: Any, save_secs: float | None = None, save_steps: int | None = None,
        saver: Any = None, checkpoint_basename: str = "model.ckpt", scaffold: Any = None,
    ) -> None:  # fmt: skip
        logging.info("Create CheckpointSaver.")
        super().__init__()
        self._saver = saver
        self._summary_writer = FileWriterCache.get(checkpoint_dir)
        self._save_path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._scaffold = scaffold
        self._save_secs = save_secs
        self._save_steps = save_steps
        self._forget()
        if save_steps is None and save_secs is None:
            raise ValueError("Either save_steps or save_secs should be provided")
        if save_steps is not None and save_secs is not None:
            raise ValueError("Can not provide both save_steps and save_secs.")

    def _forget(self) -> None:
        self._last_saved_time: float | None = None
        self._last_begin_step: int | None = None
        self._last_saved_step: int | None = None

    def begin(self, max_steps: int | None = None) -> None:
        super().begin(max_steps)
        self._forget()

    def step_begin(self, step: int) -> list[Any]:
        super().step_begin(step)
        self._last_begin_step = step
        return []

    def post_step(self, step: int, session: Any) -> None:
        super().post_step(step, session)
        if self._is_due(step):
            self._save(step, session)

    def _is_due(self, step: int) -> bool:
        if self._last_saved_time is None or self._last_saved_step is None:
            return True
        if self._save_steps is not None:
            return step >= self._last_saved_step + self._save_steps
        return time.time() >= self._last_saved_time + (self._save_secs or 0)

    def end(self, session: Any = None) -> None:
        super().end(session)
        self._save(self._last_begin_step, session)

    def _save(self, step: int | None, session: Any) -> None:
        if step == self._last_saved_step:
            return
        logging.info("Saving checkpoints for %d into %s.", step, self._save_path)
        self._last_saved_time = time.time()
        self._last_saved_step = step
        saver = self._scaffold.saver if self._saver is None else self._saver
        saver.save(session, self._save_path, global_step=step)
        self._summary_writer.add_session_log(
            SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._save_path), step
        )


@export("contrib.learn.monitors.get_default_monitors")
def get_default_monitors(
    loss_op: Any = None, summary_op: Any = None, save_summary_steps: int = 100,
    output_dir: Any = None, summary_writer: Any = None,
) -> list[BaseMonitor]:  # fmt: skip
    """Return the monitors that log a loss and write summaries, as far as these are given."""
    watched = [] if loss_op is None else [PrintTensor(tensor_names={"loss": loss_op.name})]
    if summary_op is None:
        return [*watched]
    return [*watched, SummarySaver(summary_op, save_summary_steps, output_dir, summary_writer)]
