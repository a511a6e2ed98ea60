"""Hooks that write files: CheckpointSaverHook, SummarySaverHook, ProfilerHook."""

from __future__ import annotations

import os
from typing import Any

from stillflow.files.file_io import GFile
from stillflow.graph.api import get_collection
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.platform import tf_logging as logging
from stillflow.protos import RunOptions, SessionLog
from stillflow.summary.writer import FileWriterCache as SummaryWriterCache
from stillflow.train import graph_io
from stillflow.train.global_step_hook import GlobalStepHook
from stillflow.train.hook_timer import SecondOrStepTimer, global_step_for
from stillflow.train.meta_graph_export import create_meta_graph_def
from stillflow.train.session_run_hook import SessionRunArgs, SessionRunHook


@export("train.CheckpointSaverListener")
class CheckpointSaverListener:
    """Base of a `CheckpointSaverHook`'s listeners; methods do nothing unless overridden."""

    def begin(self) -> None:
        """Prepare; called once before the session is made."""

    def before_save(self, session: Any, global_step_value: Any) -> None:
        """Act before a checkpoint is saved."""

    def after_save(self, session: Any, global_step_value: Any) -> Any:
        """Act after a checkpoint is saved; a true result requests the end of training."""

    def end(self, session: Any, global_step_value: Any) -> None:
        """Finish; called at the end."""


@export("train.CheckpointSaverHook")
class CheckpointSaverHook(GlobalStepHook):
    """Saves checkpoints, the first at once and the last at the end.

    Args:
      checkpoint_dir: where.
      save_secs: how often, in seconds.
      save_steps: how often, in steps.
      saver: a `Saver`; that of the scaffold or graph if None.
      checkpoint_basename: the prefix of the file names.
      scaffold: a `Scaffold`.
      listeners: `CheckpointSaverListener`s.

    Raises:
      ValueError: if there are both a saver and a scaffold, or it is not said how often.
    """

    _called = "CheckpointSaverHook"

    def __init__(
        self, checkpoint_dir: Any, save_secs: float | None = None, save_steps: int | None = None,
        saver: Any = None, checkpoint_basename: str = "model.ckpt", scaffold: Any = None,
        listeners: Any = None,
    ) -> None:  # fmt: skip
        logging.info("Create CheckpointSaverHook.")
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver, self._scaffold = saver, scaffold
        self._checkpoint_dir = checkpoint_dir
        self._save_path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._listeners = listeners or []
        self._timer = SecondOrStepTimer(save_secs, save_steps)

    def begin(self) -> None:
        self._summary_writer = SummaryWriterCache.get(self._checkpoint_dir)
        super().begin()
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        global_step = session.run(self._global_step_tensor)
        graph = get_default_graph()
        graph_def = graph.as_graph_def(add_shapes=True)
        graph_io.write_graph(graph_def, self._checkpoint_dir, "graph.pbtxt")
        saver = self._get_saver()
        meta_graph_def = create_meta_graph_def(
            graph_def=graph_def, saver_def=saver.saver_def if saver else None
        )
        self._summary_writer.add_graph(graph)
        self._summary_writer.add_meta_graph(meta_graph_def)
        self._save(session, global_step)  # a checkpoint of how it began
        self._timer.update_last_triggered_step(global_step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        step = self._step_if(self._timer.should_trigger_for_step, run_context, run_values)
        if step is not None:
            self._timer.update_last_triggered_step(step)  # type: ignore[arg-type]
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: Any) -> None:
        step = session.run(self._global_step_tensor)
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session: Any, step: Any) -> bool:
        """Save a checkpoint; say whether a listener asks for the end."""
        logging.info("Saving checkpoints for %d into %s.", step, self._save_path)
        for listener in self._listeners:
            listener.before_save(session, step)
        self._get_saver().save(session, self._save_path, global_step=step)
        saved = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._save_path)
        self._summary_writer.add_session_log(saved, step)
        stopping = [each for each in self._listeners if each.after_save(session, step)]
        message = "A CheckpointSaverListener requested that training be stopped. listener: %s"
        for listener in stopping:
            logging.info(message, listener)
        return bool(stopping)

    def _get_saver(self) -> Any:
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        key = GraphKeys.SAVERS
        savers = get_collection(key)
        if not savers:
            raise RuntimeError(
                f"No items in collection {key}. Please add a saver to the collection or provide "
                "a saver or scaffold."
            )
        if len(savers) > 1:
            raise RuntimeError(
                f"More than one item in collection {key}. Please indicate which one to use by "
                "passing it to the constructor."
            )
        self._saver = savers[0]
        return self._saver


@export("train.SummarySaverHook")
class SummarySaverHook(SessionRunHook):
    """Hook that writes summaries.

    Args:
      save_steps: how often, in steps.
      save_secs: how often, in seconds.
      output_dir: where.
      summary_writer: the writer; one for `output_dir` if None.
      scaffold: a `Scaffold` with a `summary_op`.
      summary_op: serialized summaries, or a list of such.

    Raises:
      ValueError: unless exactly one of `scaffold` and `summary_op` is given.
    """

    def __init__(
        self, save_steps: int | None = None, save_secs: float | None = None,
        output_dir: Any = None, summary_writer: Any = None, scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:  # fmt: skip
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op = summary_op
        self._summary_writer = summary_writer
        self._output_dir = output_dir
        self._scaffold = scaffold
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = SummaryWriterCache.get(self._output_dir)
        self._next_step: Any = None
        self._global_step_tensor = global_step_for("SummarySaverHook")

    def before_run(self, run_context: Any) -> Any:
        self._request_summary = self._next_step is None or self._timer.should_trigger_for_step(
            self._next_step
        )
        requests = {"global_step": self._global_step_tensor}
        if self._request_summary:
            summary_op = self._get_summary_op()
            if summary_op is not None:
                requests["summary"] = summary_op
        return SessionRunArgs(requests)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if not self._summary_writer:
            return
        # The value read with the run may be from before its update: a second read decides.
        read = run_values.results["global_step"]
        if self._next_step is None or self._request_summary:
            self._lag = run_context.session.run(self._global_step_tensor) - read
        step = read + self._lag
        if self._next_step is None:
            self._summary_writer.add_session_log(SessionLog(status=SessionLog.START), step)
        if self._request_summary:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._summary_writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: Any = None) -> None:
        if self._summary_writer:
            self._summary_writer.flush()

    def _get_summary_op(self) -> Any:
        """Return the summaries as a list; None if there are none."""
        summary_op = self._summary_op
        if summary_op is None:
            summary_op = self._scaffold.summary_op
        if summary_op is None or isinstance(summary_op, list):
            return summary_op
        return [summary_op]


@export("train.ProfilerHook")
class ProfilerHook(SessionRunHook):
    """Hook that writes traces of runs, `timeline-STEP.json`, for Chrome's tracing page.

    Args:
      save_steps: how often, in steps.
      save_secs: how often, in seconds.
      output_dir: where.
      show_dataflow: whether traces show who waits for whom.
      show_memory: whether they show memory.
    """

    def __init__(
        self, save_steps: int | None = None, save_secs: float | None = None,
        output_dir: str = "", show_dataflow: bool = True, show_memory: bool = False,
    ) -> None:  # fmt: skip
        self._output_file = os.path.join(output_dir, "timeline-{}.json")
        self._file_writer = SummaryWriterCache.get(output_dir)
        self._show_dataflow = show_dataflow
        self._show_memory = show_memory
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        self._next_step: Any = None
        self._global_step_tensor = global_step_for("ProfilerHook")

    def before_run(self, run_context: Any) -> Any:
        self._request_summary = self._next_step is not None and self._timer.should_trigger_for_step(
            self._next_step
        )
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._request_summary else None
        return SessionRunArgs({"global_step": self._global_step_tensor}, options=options)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        stale = run_values.results["global_step"]
        if self._next_step is None:
            self._timer.update_last_triggered_step(stale)
        step = stale + 1
        if self._request_summary:
            step = run_context.session.run(self._global_step_tensor)
            self._timer.update_last_triggered_step(step)
            path = self._output_file.format(step)
            self._save(step, path, run_values.run_metadata.step_stats)
            self._file_writer.add_run_metadata(run_values.run_metadata, f"step_{step}")
        self._next_step = step + 1

    def _save(self, step: Any, save_path: str, step_stats: Any) -> None:
        from stillflow.profiler.timeline import Timeline

        logging.info("Saving timeline for %d into '%s'.", step, save_path)
        trace = Timeline(step_stats).generate_chrome_trace_format(
            show_dataflow=self._show_dataflow, show_memory=self._show_memory
        )
        with GFile(save_path, "w") as file:
            file.write(trace)
