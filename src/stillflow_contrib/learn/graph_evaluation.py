"""tf.contrib.learn.evaluate: values of a graph over its input, by a checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow.summary.writer import FileWriterCache
from stillflow.train.coordinator import Coordinator
from stillflow.train.queue_runner import start_queue_runners
from stillflow.train.saver import Saver
from stillflow.train.session_manager import SessionManager
from stillflow_contrib.framework.global_steps import assert_or_get_global_step
from stillflow_contrib.learn.graph_actions import DEPRECATED, checkpoint_saver, restore_from


@export("contrib.learn.evaluate")
@DEPRECATED
def evaluate(
    graph: Any,
    output_dir: str,
    checkpoint_path: str | None,
    eval_dict: dict[str, Any],
    update_op: Any = None,
    global_step_tensor: Any = None,
    supervisor_master: str = "",
    log_every_steps: int = 10,
    feed_fn: Callable[[], Any] | None = None,
    max_steps: int | None = None,
) -> tuple[Any, Any]:
    """Evaluate a graph, and write summaries of the results.

    Args:
      graph: with everything that is run.
      output_dir: the folder of the summaries.
      checkpoint_path: a folder or a checkpoint; variables are initialized if there is none.
      eval_dict: {name: tensor}; numbers become summaries.
      update_op: fetched at each step; the tensors themselves if None.
      global_step_tensor: the graph's own if None.
      supervisor_master: of the session.
      log_every_steps: how often results are logged.
      feed_fn: returns the feeds of each step; StopIteration ends the evaluation.
      max_steps: how many steps; the end of the input decides if None.

    Returns:
      {name: value}, or None if the input was empty, and the global step.

    Raises:
      ValueError: without a folder.
    """
    if not output_dir:
        raise ValueError(f"Output directory should be non-empty {output_dir}.")
    with graph.as_default():
        global_step = assert_or_get_global_step(graph, global_step_tensor)
        saver = _saver()
        session, initialized = _recovered(supervisor_master, saver, checkpoint_path)
        coordinator = Coordinator()
        threads = start_queue_runners(session, coordinator)
    with session:
        if not initialized:
            logging.warning("Failed to initialize from %s.", checkpoint_path)
            session.run(tf.global_variables_initializer())
            if checkpoint_path:
                restore_from(session, checkpoint_path, saver or checkpoint_saver(graph))
        step = session.run(global_step)
        end = "inf" if max_steps is None else str(max_steps)
        logging.info("Eval steps [%d,%s) for training step %d.", 0, end, step)
        evaluation = _Evaluation(session, eval_dict, update_op, log_every_steps)
        try:
            try:
                evaluation.run(feed_fn, max_steps)
            finally:
                evaluation.complete()
                session.close()
                _stop(coordinator, threads)
        except (tf.errors.OutOfRangeError, StopIteration) as error:
            what = "iterator" if isinstance(error, StopIteration) else "queue"
            if max_steps is None:
                logging.info(f"Input {what} is exhausted.")
            else:
                logging.warn(f"Input {what} is exhausted: %s.", error)
    _write_summary(output_dir, evaluation.results, step)
    return evaluation.results, step


class _Evaluation:
    """Steps of an evaluation, and the results so far."""

    def __init__(self, session: Any, eval_dict: Any, update_op: Any, log_every: int) -> None:
        self._session, self._eval_dict, self._update_op = session, eval_dict, update_op
        self._log_every = log_every
        self._step, self._results_step = 0, -1
        self._feeds: Any = None
        self.results: Any = None

    def run(self, feed_fn: Callable[[], Any] | None, max_steps: int | None) -> None:
        """Run steps until there are enough, or the input ends."""
        while max_steps is None or self._step < max_steps:
            self._step += 1
            began = time.time()
            self._feeds = feed_fn() if feed_fn is not None else None
            if self._update_op is not None:
                self._session.run(self._update_op, feed_dict=self._feeds)
            else:
                self._evaluate()
            if self._step % self._log_every == 0:
                self.complete()
                logging.info(
                    "Results after %d steps (%.3f sec/batch): %s.", self._step,
                    float(time.time() - began), _as_text(self.results),
                )  # fmt: skip

    def complete(self) -> None:
        """Fetch the results of the last step, unless they exist."""
        if self.results is None or self._step != self._results_step:
            self._evaluate()

    def _evaluate(self) -> None:
        self.results = self._session.run(self._eval_dict, feed_dict=self._feeds)
        self._results_step = self._step


def _first(key: str, make: Callable[[], Any]) -> Any:
    """Return the first of a collection, to which the result of `make` is added if it is empty."""
    found = tf.get_collection(key)
    if found:
        return found[0]
    made = make()
    if made is not None:
        tf.add_to_collection(key, made)
    return made


def _saver() -> Any:
    keys = tf.GraphKeys
    return _first(keys.SAVERS, lambda: Saver() if tf.global_variables() else None)


def _recovered(master: str, saver: Any, checkpoint: Any) -> tuple[Any, bool]:
    """Return a session with the variables of a checkpoint, and whether these are all."""
    keys = tf.GraphKeys
    local_init_op = _first(
        keys.LOCAL_INIT_OP,
        lambda: tf.group(tf.local_variables_initializer(), tf.tables_initializer()),
    )
    before = tf.get_collection(keys.READY_FOR_LOCAL_INIT_OP)
    manager = SessionManager(
        local_init_op=local_init_op,
        ready_op=_first(keys.READY_OP, tf.report_uninitialized_variables),
        ready_for_local_init_op=before[0] if before else None,
    )
    session, initialized = manager.recover_session(
        master=master, saver=saver, checkpoint_dir=checkpoint
    )
    return session, initialized


def _stop(coordinator: Any, threads: Any) -> None:
    try:
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=120)
    except (RuntimeError, tf.errors.CancelledError) as error:
        logging.warning("Coordinator didn't stop cleanly: %s", error)


def _as_text(results: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value!s}" for name, value in sorted(results.items()))


def _write_summary(folder: str, results: Any, step: Any) -> None:
    logging.info("Saving evaluation summary for step %d: %s", step, _as_text(results))
    summary = tf.Summary()
    for name, value in results.items():
        if isinstance(value, (np.float32, float)):
            summary.value.add(tag=name, simple_value=float(value))
        elif value is not None:
            logging.warn("Skipping summary for %s, must be a float or np.float32.", name)
    writer = FileWriterCache.get(folder)
    writer.add_summary(summary, step)
    writer.flush()
