"""Training by `tf.contrib.slim`: a training operation, and the loop that runs it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import stillflow as tf
from stillflow import errors
from stillflow.files.gfile import write_string_to_file
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.summary.merging import merge_all
from stillflow.platform import tf_logging as logging
from stillflow.profiler.timeline import Timeline
from stillflow.train.global_step import get_or_create_global_step
from stillflow.train.global_step import global_step as read_global_step
from stillflow.train.optimizer import Optimizer
from stillflow.train.saver import Saver
from stillflow.train.supervisor import Supervisor
from stillflow_contrib.training.training import (
    USE_GLOBAL_STEP,
    Pairs,
    clip_gradient_norms,
    multiply_gradients,
    summarize_gradients,
)
from stillflow_contrib.training.training import create_train_op as _create_train_op

# Default that `train` makes itself; None means nothing.
_USE_DEFAULT = 0


@export("contrib.slim.learning.add_gradients_summaries")
def add_gradients_summaries(grads_and_vars: Sequence[Any]) -> list[Any]:
    """Summarizes gradients and their norms.

    Args:
      grads_and_vars: (gradient, variable) pairs.

    Returns:
      The summaries.
    """
    return summarize_gradients(grads_and_vars, "/")


@export("contrib.slim.learning.create_train_op")
def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = USE_GLOBAL_STEP,
    update_ops: Any = None,
    variables_to_train: Any = None,
    clip_gradient_norm: Any = 0,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: Any = None,
    check_numerics: bool = True,
) -> Tensor:
    """Return a tensor that trains when it is run, and gives the loss.

    Args:
      total_loss, optimizer, global_step, update_ops, variables_to_train, summarize_gradients,
        gate_gradients, aggregation_method, colocate_gradients_with_ops, check_numerics: as of
        `tf.contrib.training.create_train_op`.
      clip_gradient_norm: the norm each gradient is scaled down to; 0 for none.
      gradient_multipliers: {variable or name of its operation: factor for its gradient}.
    """
    changes: list[tuple[str, Callable[..., Pairs], Any]] = []
    if gradient_multipliers:
        changes.append(("multiply_grads", multiply_gradients, gradient_multipliers))
    if clip_gradient_norm > 0:
        changes.append(("clip_grads", clip_gradient_norms, clip_gradient_norm))

    def transform(grads: Pairs) -> Pairs:
        for scope, change, argument in changes:
            with tf.name_scope(scope):
                grads = change(grads, argument)
        return grads

    what = total_loss, optimizer, global_step, update_ops, variables_to_train, transform
    how = gate_gradients, aggregation_method, colocate_gradients_with_ops, check_numerics
    return _create_train_op(*what, summarize_gradients, *how)


@export("contrib.slim.learning.train_step")
def train_step(
    sess: Any, train_op: Any, global_step: Any, train_step_kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    """One step: trains, logs, and asks whether to stop.

    Args:
      sess: the session.
      train_op: the training op; its value is the loss.
      global_step: the counter.
      train_step_kwargs: tensors `should_stop`, `should_log` and `should_trace` say what to do;
        a trace is written to `logdir`, and to `summary_writer` if there is one.

    Returns:
      The loss, and whether to stop.

    Raises:
      ValueError: a step may be traced, and there is no `logdir`.
    """
    start = time.time()
    options, metadata = None, None
    if "should_trace" in train_step_kwargs:
        if "logdir" not in train_step_kwargs:
            raise ValueError(
                "logdir must be present in train_step_kwargs when should_trace is present"
            )
        if sess.run(train_step_kwargs["should_trace"]):
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            metadata = tf.RunMetadata()
    loss, step = sess.run([train_op, global_step], options=options, run_metadata=metadata)
    elapsed = time.time() - start
    if metadata is not None:
        _write_trace(metadata, step, train_step_kwargs)
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, elapsed)
    if "should_stop" in train_step_kwargs:
        return loss, sess.run(train_step_kwargs["should_stop"])
    return loss, False


def _write_trace(metadata: Any, step: Any, kwargs: dict[str, Any]) -> None:
    path = os.path.join(kwargs["logdir"], f"tf_trace-{step}.json")
    logging.info("Writing trace to %s", path)
    write_string_to_file(path, Timeline(metadata.step_stats).generate_chrome_trace_format())
    if "summary_writer" in kwargs:
        kwargs["summary_writer"].add_run_metadata(metadata, f"run_metadata-{step}")


def _check_arguments(
    train_op: Any, logdir: Any, steps: int | None, delay: int, sync: Any, needs_logdir: Any
) -> None:
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if logdir is None:
        for name, given in needs_logdir.items():
            if given:
                raise ValueError(f"Cannot provide {name} because logdir=None")
    if sync is not None and delay > 0:
        raise ValueError("startup_delay_steps must be zero when sync_optimizer is supplied.")
    if steps is not None and steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")


def _as_synchronizers(sync: Any) -> Any:
    """Return the synchronizing optimizers as a list, or None."""
    if sync is None:
        return None
    kind: Any = tf.train.SyncReplicasOptimizer
    optimizers = [sync] if isinstance(sync, kind) else sync
    if not all(isinstance(optimizer, kind) for optimizer in optimizers):
        raise ValueError("`sync_optimizer` must be a tf.train.SyncReplicasOptimizer.")
    return optimizers


def _init_ops(init: Any, ready: Any, local: Any, sync: Any, is_chief: bool) -> dict[str, Any]:
    """Return the operations that prepare a session, as arguments of `Supervisor`."""
    with tf.name_scope("init_ops"):
        if init == _USE_DEFAULT:
            init = tf.global_variables_initializer()
        if ready == _USE_DEFAULT:
            ready = tf.report_uninitialized_variables()
        if local == _USE_DEFAULT:
            local = tf.group(tf.local_variables_initializer(), tf.tables_initializer())
        ready_for_local = None
        if sync is not None:
            with tf.control_dependencies([] if local is None else [local]):
                name = "chief_init_op" if is_chief else "local_step_init_op"
                local = tf.group(*(getattr(optimizer, name) for optimizer in sync))
            ready_for_local = tf.group(*(optimizer.ready_for_local_init_op for optimizer in sync))
    return {"init_op": init, "ready_op": ready, "local_init_op": local,
            "ready_for_local_init_op": ready_for_local}  # fmt: skip


def _step_arguments(
    step: Any, stop_at: int | None, log_every: int, trace_every: Any, logdir: Any
) -> dict[str, Any]:
    with tf.name_scope("train_step"):
        stop = tf.greater_equal(step, stop_at) if stop_at else tf.constant(False)
        arguments = {"should_stop": stop}
        if log_every > 0:
            arguments["should_log"] = tf.equal(tf.mod(step, log_every), 0)
        if trace_every is not None:
            arguments["should_trace"] = tf.equal(tf.mod(step, trace_every), 0)
            arguments["logdir"] = logdir
    return arguments


def _wait_for_step(sess: Any, global_step: Any, step: int) -> None:
    while read_global_step(sess, global_step) < step:
        time.sleep(1.0)


@export("contrib.slim.learning.train")
def train(
    train_op: Any,
    logdir: Any,
    train_step_fn: Callable[..., Any] = train_step,
    train_step_kwargs: Any = _USE_DEFAULT,
    log_every_n_steps: int = 1,
    graph: Any = None,
    master: str = "",
    is_chief: bool = True,
    global_step: Any = None,
    number_of_steps: int | None = None,
    init_op: Any = _USE_DEFAULT,
    init_feed_dict: Any = None,
    local_init_op: Any = _USE_DEFAULT,
    init_fn: Any = None,
    ready_op: Any = _USE_DEFAULT,
    summary_op: Any = _USE_DEFAULT,
    save_summaries_secs: float = 600,
    summary_writer: Any = _USE_DEFAULT,
    startup_delay_steps: int = 0,
    saver: Any = None,
    save_interval_secs: float = 600,
    sync_optimizer: Any = None,
    session_config: Any = None,
    session_wrapper: Any = None,
    trace_every_n_steps: int | None = None,
    ignore_live_threads: bool = False,
) -> Any:
    """Trains under a `tf.train.Supervisor`, until a step says to stop or the input ends.

    Args:
      train_op: the training op; its value is the loss.
      logdir: where checkpoints and summaries go; None for none of either.
      train_step_fn: takes session, `train_op`, global step and `train_step_kwargs`; gives the
        loss, and whether to stop.
      train_step_kwargs: by default what `train_step` takes.
      log_every_n_steps: how often the loss is logged; 0 for never.
      graph: the graph; the default one by default.
      master, is_chief, init_op, init_feed_dict, local_init_op, init_fn, ready_op, summary_op,
        save_summaries_secs, summary_writer, saver: as of `tf.train.Supervisor`.
      global_step: the counter; by default the graph's.
      number_of_steps: the step to stop at; None for no such.
      startup_delay_steps: the step from which on a worker that is not the chief trains.
      save_interval_secs: the time between two checkpoints.
      sync_optimizer: `SyncReplicasOptimizer`s.
      session_config: a `ConfigProto`.
      session_wrapper: makes another session of the session.
      trace_every_n_steps: how often a trace is written to `logdir`.
      ignore_live_threads: whether threads that do not end at the end are no error.

    Returns:
      The last loss.

    Raises:
      ValueError: arguments that do not go together.
    """
    needs_logdir = {
        "summary_op": summary_op != _USE_DEFAULT, "saver": saver is not None,
        "trace_every_n_steps": trace_every_n_steps is not None,
    }  # fmt: skip
    _check_arguments(
        train_op, logdir, number_of_steps, startup_delay_steps, sync_optimizer, needs_logdir
    )
    graph = graph or tf.get_default_graph()
    with graph.as_default():
        if global_step is None:
            global_step = get_or_create_global_step()
        saver = saver or Saver()
        sync = _as_synchronizers(sync_optimizer)
        init_ops = _init_ops(init_op, ready_op, local_init_op, sync, is_chief)
        if summary_op == _USE_DEFAULT:
            summary_op = merge_all()
        tokens = _Tokens(sync if is_chief else None)
        if train_step_kwargs == _USE_DEFAULT:
            trace_every = trace_every_n_steps if is_chief else None
            train_step_kwargs = _step_arguments(
                global_step, number_of_steps, log_every_n_steps, trace_every, logdir
            )
    supervisor = Supervisor(
        graph=graph, is_chief=is_chief, logdir=logdir, init_feed_dict=init_feed_dict,
        summary_op=summary_op,
        summary_writer=Supervisor.USE_DEFAULT if summary_writer == _USE_DEFAULT else summary_writer,
        global_step=global_step, saver=saver, save_summaries_secs=save_summaries_secs,
        save_model_secs=save_interval_secs, init_fn=init_fn, **init_ops,
    )  # fmt: skip
    if summary_writer is not None:
        train_step_kwargs["summary_writer"] = supervisor.summary_writer
    wait_for = min(startup_delay_steps, number_of_steps or sys.maxsize)
    loop = _Loop(supervisor, tokens, session_wrapper, wait_for, bool(logdir), ignore_live_threads)
    return loop.run(
        lambda sess: train_step_fn(sess, train_op, global_step, train_step_kwargs),
        master, session_config,
    )  # fmt: skip


class _Tokens:
    """Tokens that a chief gives to synchronized workers for their steps."""

    def __init__(self, optimizers: Any) -> None:
        self._optimizers = optimizers or []
        self._init = [optimizer.get_init_tokens_op() for optimizer in self._optimizers]
        self._runners = [optimizer.get_chief_queue_runner() for optimizer in self._optimizers]

    def give(self, supervisor: Supervisor, sess: Any) -> None:
        if self._optimizers:
            supervisor.start_queue_runners(sess, self._runners)
            sess.run(self._init)


class _Loop:
    """Sessions of a supervisor, one after the other as long as they are aborted."""

    def __init__(
        self, supervisor: Supervisor, tokens: _Tokens, wrapper: Any, wait_for: int, saves: bool,
        ignore_live_threads: bool,
    ) -> None:  # fmt: skip
        self._supervisor, self._tokens, self._wrapper = supervisor, tokens, wrapper
        self._wait_for, self._saves = wait_for, saves
        self._ignore_live_threads = ignore_live_threads
        self._loss: Any = None

    def run(self, step: Callable[[Any], tuple[Any, Any]], master: str, config: Any) -> np.float32:
        while True:
            try:
                with self._supervisor.managed_session(
                    master, start_standard_services=False, config=config
                ) as sess:
                    self._session(sess, step)
            except errors.AbortedError:
                # A process of the cluster came back: its variables are to be restored.
                logging.info("Retrying training!")
            else:
                return self._loss

    def _session(self, sess: Any, step: Callable[[Any], tuple[Any, Any]]) -> None:
        supervisor = self._supervisor
        logging.info("Starting Session.")
        if self._wrapper is not None:
            logging.info("Wrapping session with wrapper function: %s", self._wrapper)
            sess = self._wrapper(sess)
        if supervisor.is_chief:
            if self._saves:
                supervisor.start_standard_services(sess)
        elif self._wait_for > 0:
            _wait_for_step(sess, supervisor.global_step, self._wait_for)
        threads = supervisor.start_queue_runners(sess)
        logging.info("Starting Queues.")
        self._tokens.give(supervisor, sess)
        try:
            while not supervisor.should_stop():
                self._loss, should_stop = step(sess)
                if should_stop:
                    logging.info("Stopping Training.")
                    supervisor.request_stop()
                    break
        except errors.OutOfRangeError as error:
            logging.info("Caught OutOfRangeError. Stopping Training. %s", error)
        if self._saves and supervisor.is_chief:
            logging.info("Finished training! Saving model to disk.")
            supervisor.saver.save(sess, supervisor.save_path, global_step=supervisor.global_step)
            supervisor.stop(
                threads, close_summary_writer=True, ignore_live_threads=self._ignore_live_threads
            )
