"""tf.train.StepCounterHook: how many steps a second training makes."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow.protos import Summary
from stillflow.summary.writer import FileWriterCache as SummaryWriterCache
from stillflow.train.global_step import get_global_step
from stillflow.train.global_step_hook import GlobalStepHook
from stillflow.train.hook_timer import SecondOrStepTimer


@export("train.StepCounterHook")
class StepCounterHook(GlobalStepHook):
    """Logs, and writes to a summary, how many steps a second are made.

    Args:
      every_n_steps: how often, in steps.
      every_n_secs: how often, in seconds.
      output_dir: where the summary goes.
      summary_writer: the writer; one for `output_dir` if None.

    Raises:
      ValueError: unless exactly one of `every_n_steps` and `every_n_secs` is given.
    """

    _called = "StepCounterHook"

    def __init__(
        self, every_n_steps: int | None = 100, every_n_secs: float | None = None,
        output_dir: Any = None, summary_writer: Any = None,
    ) -> None:  # fmt: skip
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._summary_writer = summary_writer
        self._output_dir = output_dir
        self._last_global_step: Any = None

    def begin(self) -> None:
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = SummaryWriterCache.get(self._output_dir)
        super().begin()
        self._summary_tag = f"{get_global_step().op.name}/sec"

    def _log_and_record(self, elapsed_steps: Any, elapsed_time: Any, global_step: Any) -> None:
        steps_per_sec = elapsed_steps / elapsed_time
        if self._summary_writer is not None:
            value = Summary.Value(tag=self._summary_tag, simple_value=steps_per_sec)
            self._summary_writer.add_summary(Summary(value=[value]), global_step)
        logging.info("%s: %g", self._summary_tag, steps_per_sec)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        step = self._step_if(self._timer.should_trigger_for_step, run_context, run_values)
        if step is not None:
            seconds, steps = self._timer.update_last_triggered_step(step)  # type: ignore[arg-type]
            if seconds is not None:
                self._log_and_record(steps, seconds, step)
        previous, self._last_global_step = self._last_global_step, run_values.results
        if previous == run_values.results:
            logging.log_first_n(
                logging.WARN,
                "It seems that global step (tf.train.get_global_step) has not been increased. "
                "Current value (could be stable): %s vs previous value: %s. You could increase "
                "the global step by passing tf.train.get_global_step() to "
                "Optimizer.apply_gradients or Optimizer.minimize.",
                5, run_values.results, previous,
            )  # fmt: skip
