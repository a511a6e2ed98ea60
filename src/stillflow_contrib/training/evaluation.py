"""Evaluation of each new checkpoint of a training, and summaries at its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.ops.summary.merging import merge_all
from stillflow.platform import tf_logging as logging
from stillflow.summary.writer import FileWriterCache
from stillflow.train.checkpoint_utils import checkpoints_iterator
from stillflow.train.evaluation import StopAfterNEvalsHook, get_or_create_eval_step, with_counter
from stillflow.train.global_step import get_or_create_global_step, global_step
from stillflow.train.logging_hooks import FinalOpsHook
from stillflow.train.monitored_session import MonitoredSession
from stillflow.train.session_creator import ChiefSessionCreator
from stillflow.train.session_run_hook import SessionRunHook


@export("contrib.training.SummaryAtEndHook")
class SummaryAtEndHook(SessionRunHook):
    """Hook that writes summaries at the end of a session.

    Args:
      log_dir: where to, or
      summary_writer: a `FileWriter`.
      summary_op: the summaries; all of the graph by default.
      feed_dict: fed to it.

    Raises:
      ValueError: neither a folder nor a writer.
    """

    def __init__(
        self, log_dir: Any = None, summary_writer: Any = None, summary_op: Any = None,
        feed_dict: Any = None,
    ) -> None:  # fmt: skip
        if log_dir is None and summary_writer is None:
            raise ValueError("One of log_dir or summary_writer should be used.")
        self._summary_op = summary_op
        self._takes_all = summary_op is None
        self._feed_dict = feed_dict
        self._summary_writer = summary_writer
        self._log_dir = log_dir

    def begin(self) -> None:
        if self._takes_all:
            self._summary_op = merge_all()
        self._global_step = get_or_create_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._summary_writer is None and self._log_dir:
            self._summary_writer = FileWriterCache.get(self._log_dir)

    def end(self, session: Any) -> None:
        written = None
        if self._summary_op is not None:
            step = global_step(session, self._global_step)
            written = session.run(self._summary_op, self._feed_dict), step
        writer = self._summary_writer
        if writer:
            if written:
                writer.add_summary(*written)
            writer.flush()


def _log(what: str) -> None:
    logging.info("%s evaluation at %s", what, time.strftime("%Y-%m-%d-%H:%M:%S", time.gmtime()))


@export("contrib.training.evaluate_repeatedly")
def evaluate_repeatedly(
    checkpoint_dir: Any,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    eval_interval_secs: float = 60,
    hooks: Any = None,
    config: Any = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> np.float32:
    """Evaluate each new checkpoint of a folder as it appears.

    Args:
      checkpoint_dir: the folder.
      master: the target of the sessions.
      scaffold: a `Scaffold`.
      eval_ops: the fetches of a round: one thing, a list, or a dict (to which the counter is
        added). Rounds go on until a hook or the end of the input stops them.
      feed_dict: fed to it.
      final_ops: the fetches at the end, in any structure.
      final_ops_feed_dict: fed to that.
      eval_interval_secs: the least time between two evaluations.
      hooks: `SessionRunHook`s; a `StopAfterNEvalsHook` in it gets the counter.
      config: a `ConfigProto`.
      max_number_of_evaluations: after so many it ends.
      timeout: how many seconds to wait for a checkpoint at most.
      timeout_fn: asked when that time is over; True ends it, else it goes on.

    Returns:
      The results of `final_ops` the last time; None if there was no evaluation.
    """
    step = get_or_create_eval_step()
    hooks = hooks or []
    if eval_ops is not None:
        update = tf.assign_add(step, 1)
        for hook in hooks:
            if isinstance(hook, StopAfterNEvalsHook):
                hook._set_evals_completed_tensor(update)
        eval_ops = with_counter(eval_ops, update)
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    hooks.append(final)
    checkpoints = checkpoints_iterator(
        checkpoint_dir, min_interval_secs=eval_interval_secs, timeout=timeout,
        timeout_fn=timeout_fn,
    )  # fmt: skip
    for done, path in enumerate(checkpoints, start=1):
        creator = ChiefSessionCreator(
            scaffold=scaffold, checkpoint_filename_with_path=path, master=master, config=config
        )
        with MonitoredSession(session_creator=creator, hooks=hooks) as session:
            _log("Starting")
            if eval_ops is not None:
                while not session.should_stop():
                    session.run(eval_ops, feed_dict)
            _log("Finished")
        if max_number_of_evaluations is not None and done >= max_number_of_evaluations:
            break
    return final.final_ops_values
