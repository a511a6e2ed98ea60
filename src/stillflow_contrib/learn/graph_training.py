"""tf.contrib.learn.train: trains a graph under a supervisor, told to monitors."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.platform import tf_logging as logging
from stillflow.summary.writer import FileWriterCache
from stillflow.train.supervisor import Supervisor
from stillflow_contrib.framework.checkpoints import load_variable
from stillflow_contrib.framework.global_steps import assert_or_get_global_step
from stillflow_contrib.learn.graph_actions import DEPRECATED, checkpoint_saver
from stillflow_contrib.learn.monitors.watching import NanLossDuringTrainingError
from stillflow_contrib.learn.monitors.writing import get_default_monitors


@export("contrib.learn.train")
@DEPRECATED
def train(
    graph: Any,
    output_dir: str,
    train_op: Any,
    loss_op: Any,
    global_step_tensor: Any = None,
    init_op: Any = None,
    init_feed_dict: Any = None,
    init_fn: Callable[[Any], None] | None = None,
    log_every_steps: int = 10,
    supervisor_is_chief: bool = True,
    supervisor_master: str = "",
    supervisor_save_model_secs: int = 600,
    keep_checkpoint_max: int = 5,
    supervisor_save_summaries_steps: int = 100,
    feed_fn: Callable[[], Any] | None = None,
    steps: int | None = None,
    fail_on_nan_loss: bool = True,
    monitors: Sequence[Any] | None = None,
    max_steps: int | None = None,
) -> Any:
    """Train a graph from the latest checkpoint on, and restart after an abort.

    Args:
      graph: with everything that is run.
      output_dir: the folder of checkpoints and summaries.
      train_op: fetched at each step; it increments the global step.
      loss_op: a scalar tensor.
      global_step_tensor: the graph's own if None.
      init_op, init_feed_dict, init_fn: how variables are initialized, see `tf.train.Supervisor`.
      log_every_steps: how often the loss is logged.
      supervisor_is_chief: whether this task saves and initializes.
      supervisor_master: of the session.
      supervisor_save_model_secs: how often checkpoints are saved.
      keep_checkpoint_max: how many of them are kept.
      supervisor_save_summaries_steps: how often summaries are, by the default monitors.
      feed_fn: returns the feeds of each step; StopIteration ends the training.
      steps: how many more steps; the end of the input decides if this and `max_steps` are None.
      fail_on_nan_loss: whether a loss that is NaN is an error; else it is a warning.
      monitors: what is told of steps; by default those of the loss and of summaries.
      max_steps: the global step at which training ends.

    Returns:
      The last loss; None if there was no step.

    Raises:
      ValueError: if an argument is missing, or both numbers of steps are given.
      NanLossDuringTrainingError: for such a loss.
    """
    if steps is not None and max_steps is not None:
        raise ValueError("Can not provide both steps and max_steps.")
    if not output_dir:
        raise ValueError(f"Output directory should be non-empty {output_dir}.")
    if train_op is None:
        raise ValueError("Missing train_op.")
    if loss_op is None:
        raise ValueError("Missing loss_op.")
    given = {
        "saver_count": keep_checkpoint_max,
        "master": supervisor_master,
        "feed_fn": feed_fn,
        "steps": steps,
        "max_steps": max_steps,
        "log_every_steps": log_every_steps,
        "fail_on_nan_loss": fail_on_nan_loss,
        "monitors": monitors,
        "save_summary_steps": supervisor_save_summaries_steps,
        "supervisor": {
            "init_op": init_op or Supervisor.USE_DEFAULT,
            "init_feed_dict": init_feed_dict,
            "is_chief": supervisor_is_chief,
            "logdir": output_dir,
            "save_model_secs": supervisor_save_model_secs,
            "init_fn": init_fn,
        },
    }
    while True:
        try:
            return _Training(graph, train_op, loss_op, global_step_tensor, given).run()
        except tf.errors.AbortedError:  # a parameter server was restarted
            logging.warning("Training got Aborted error. Keep training.")


class _Training:
    """One attempt to train.

    Args:
      graph, train_op, loss_op, global_step: as of `train`.
      given: everything else.
    """

    def __init__(
        self, graph: Any, train_op: Any, loss_op: Any, global_step: Any, given: dict[str, Any]
    ) -> None:
        self._graph, self._train_op, self._loss_op = graph, train_op, loss_op
        self._given = given
        self._is_chief: bool = given["supervisor"]["is_chief"]
        output_dir = given["supervisor"]["logdir"]
        with graph.as_default():
            self._global_step = assert_or_get_global_step(graph, global_step)
            if self._global_step is None:
                raise ValueError('No "global_step" was provided or found in the graph.')
            try:
                start = load_variable(output_dir, self._global_step.name)
            except (tf.errors.NotFoundError, ValueError):
                start = 0
            self._writer = FileWriterCache.get(output_dir) if self._is_chief else None
            self._monitors = self._chosen_monitors()
            self._max_steps = given["max_steps"]
            if self._max_steps is None and given["steps"]:
                self._max_steps = start + given["steps"]
            for monitor in self._monitors:
                monitor.begin(max_steps=self._max_steps)

    def _chosen_monitors(self) -> list[Any]:
        monitors = list(self._given["monitors"] or [])
        if not self._is_chief:
            return [monitor for monitor in monitors if monitor.run_on_all_workers]
        return monitors or get_default_monitors(
            loss_op=self._loss_op,
            summary_op=_summary_op(),
            save_summary_steps=self._given["save_summary_steps"],
            summary_writer=self._writer,
        )

    def run(self) -> Any:
        """Trains, and saves a checkpoint at the end, however that comes."""
        supervisor = Supervisor(
            self._graph,
            saver=checkpoint_saver(self._graph, self._given["saver_count"]),
            global_step=self._global_step,
            summary_op=None,
            summary_writer=self._writer,
            **self._given["supervisor"],
        )
        session = supervisor.PrepareSession(
            master=self._given["master"], start_standard_services=True
        )
        supervisor.StartQueueRunners(session)
        with session:
            self._loss: Any = None
            failure: BaseException | None = None
            try:
                self._steps(supervisor, session)
            except tf.errors.OutOfRangeError as error:
                logging.warn(
                    "Got exception during tf.learn training loop possibly due to exhausted input "
                    "queue %s.", error,
                )  # fmt: skip
            except StopIteration:
                logging.info("Exhausted input iterarator.")
            except BaseException as error:
                failure = error
            self._finish(supervisor, session, failure)
            return self._loss

    def _steps(self, supervisor: Any, session: Any) -> None:
        last = logged = session.run(self._global_step)
        end = self._max_steps
        logging.info("Training steps [%d,%s)", last, "inf" if end is None else str(end))
        while not supervisor.ShouldStop() and (end is None or last < end):
            began = time.time()
            feed_fn = self._given["feed_fn"]
            feeds = feed_fn() if feed_fn is not None else None
            outputs, should_stop = self._step(session, last + 1, feeds)
            self._loss = outputs[self._loss_op.name]
            if np.isnan(self._loss):
                self._diverged()
            if should_stop:
                break
            now = session.run(self._global_step)
            if now <= last:
                logging.error(
                    "Global step was not incremented by train op at step %s: new step %d", last, now
                )
            last = now
            if last == end or last - logged >= self._given["log_every_steps"]:
                took = float(time.time() - began)
                logging.info(
                    "training step %d, loss = %.5f (%.3f sec/batch).", last, self._loss, took
                )
                logged = last

    def _step(self, session: Any, step: int, feeds: Any) -> tuple[dict[Any, Any], bool]:
        """Run a step with the monitors' fetches; return True if one of them wants to stop."""
        tensors = [self._train_op, self._loss_op]
        for monitor in self._monitors:
            tensors += monitor.step_begin(step)
        tensors = list(dict.fromkeys(tensors))
        values = session.run(tensors, feed_dict=feeds)
        names = [each.name if isinstance(each, tf.Tensor) else each for each in tensors]
        outputs = dict(zip(names, values, strict=True))
        stops = [monitor.step_end(step, outputs) for monitor in self._monitors]
        return outputs, any(stops)

    def _diverged(self) -> None:
        message = "Model diverged with loss = NaN."
        if self._given["fail_on_nan_loss"]:
            logging.error(message)
            raise NanLossDuringTrainingError()
        logging.warning(message)

    def _finish(self, supervisor: Any, session: Any, failure: BaseException | None) -> None:
        """Save the last checkpoint; raise the error that ended the training, or a new one."""
        try:
            supervisor.Stop(close_summary_writer=False)
            if self._is_chief:
                step, path = session.run(self._global_step), supervisor.save_path
                logging.info("Saving checkpoint for step %d to checkpoint: %s.", step, path)
                supervisor.saver.save(session, path, global_step=step)
                for monitor in self._monitors:
                    monitor.end()
        except tf.errors.OutOfRangeError as error:
            logging.warn(
                "OutOfRangeError in tf.learn final checkpoint possibly due to exhausted input "
                "queue. Note: summary_op is not expected to trigger dequeues. %s.", error,
            )  # fmt: skip
        except BaseException as error:
            if failure is None:
                raise
            logging.error("Got exception during tf.learn final checkpoint %s.", error)
        if failure is not None:
            raise failure


def _summary_op() -> Tensor:
    """Return the op that writes all summaries of the graph; None if there are none."""
    key = tf.GraphKeys.SUMMARY_OP
    found = tf.get_collection(key)
    if found:
        return found[0]
    merged = tf.contrib.deprecated.merge_all_summaries()
    if merged is not None:
        tf.add_to_collection(key, merged)
    return merged
