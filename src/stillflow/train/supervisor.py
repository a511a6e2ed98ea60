"""tf.train.Supervisor: sessions that are initialized, saved and summarized by themselves."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import add_to_collection, get_collection
from stillflow.graph.export import export
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.ops.summary.merging import merge_all
from stillflow.platform import tf_logging as logging
from stillflow.protos import SessionLog
from stillflow.runtime.session.session import Session
from stillflow.summary.writer import FileWriter
from stillflow.train import graph_io
from stillflow.train.coordinator import Coordinator, LooperThread
from stillflow.train.global_step import global_step as step_of
from stillflow.train.meta_graph_export import create_meta_graph_def
from stillflow.train.saver import Saver
from stillflow.train.session_manager import SessionManager
from stillflow.train.supervisor_threads import (
    SVStepCounterThread,
    SVSummaryThread,
    SVTimerCheckpointThread,
)
from stillflow.util.notices import noticed
from stillflow.variables import collections as variables


def _first_of(key: str) -> Any:
    """Return the first thing in a collection, or None."""
    found = get_collection(key)
    if len(found) > 1:
        logging.info("Found %d %s operations. Returning the first one.", len(found), key)
    return found[0] if found else None


def _first_or(key: str, make: Any) -> Any:
    """Return the first item of a collection, or else the result of `make`, added unless None."""
    found = _first_of(key)
    if found is None:
        found = make()
        if found is not None:
            add_to_collection(key, found)
    return found


def _default_local_init_op() -> Any:
    return group(variables.local_variables_initializer(), variables.tables_initializer())


def _default_saver() -> Any:
    return Saver() if variables.global_variables() else None


def _default_global_step() -> Tensor | None:
    try:
        step = get_default_graph().get_tensor_by_name("global_step:0")
    except KeyError:
        return None
    if step.dtype.base_dtype in (dtypes.int32, dtypes.int64):
        return step
    logging.warning("Found 'global_step' is not an int type: %s", step.dtype)
    return None


def _close_quietly(sess: Any) -> None:
    with contextlib.suppress(Exception):
        sess.close()


@export("train.Supervisor")
class Supervisor:
    """Supervisor of training: initialization, checkpoints, summaries, threads.

    Args:
      graph: the graph; the default one if None. It is read-only afterwards.
      ready_op: gives the names of variables that are not initialized.
      ready_for_local_init_op: the same, for the variables that `local_init_op` needs.
      is_chief: whether this process initializes and saves; others wait for it.
      init_op: initializes variables.
      init_feed_dict: fed to `init_op`.
      local_init_op: initializes the local variables of each process.
      logdir: where checkpoints and summaries go; nowhere if None.
      summary_op: gives merged summaries, or None.
      saver: a `Saver`, or None.
      global_step: the tensor that counts steps, or None.
      save_summaries_secs: how often to write summaries, 0 for never.
      save_model_secs: how often to save, 0 for never.
      recovery_wait_secs: how long to wait between two looks.
      stop_grace_secs: how long threads may take to end.
      checkpoint_basename: the prefix of the file names.
      session_manager: a `SessionManager`; one is made if None.
      summary_writer: writes summaries, or None.
      init_fn: called with the session after `init_op`.
      local_init_run_options: `RunOptions` for `local_init_op`.

    Raises:
      ValueError: if a variable has no device and this is not the chief.

    Example:
      >>> v = tf.Variable([1.0, 2.0])
      >>> with tf.train.Supervisor(logdir="logs").managed_session() as sess: print(sess.run(v))
      [1. 2.]
    """

    USE_DEFAULT = 0

    @noticed("train.Supervisor")
    def __init__(
        self, graph: Graph | None = None, ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT, is_chief: bool = True,
        init_op: Any = USE_DEFAULT, init_feed_dict: Any = None,
        local_init_op: Any = USE_DEFAULT, logdir: Any = None, summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT, global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120, save_model_secs: float = 600,
        recovery_wait_secs: float = 30, stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt", session_manager: Any = None,
        summary_writer: Any = USE_DEFAULT, init_fn: Any = None,
        local_init_run_options: Any = None,
    ) -> None:  # fmt: skip
        graph = get_default_graph() if graph is None else graph
        self._graph = graph
        self._init_feed_dict = init_feed_dict
        with graph.as_default():
            self._collect(
                ready_op, ready_for_local_init_op, init_op, local_init_op, saver, summary_op,
                global_step,
            )  # fmt: skip
        self._meta_graph_def = create_meta_graph_def(
            graph_def=graph.as_graph_def(add_shapes=True),
            saver_def=self._saver.saver_def if self._saver else None,
        )
        self._is_chief = is_chief
        self._coord = Coordinator()
        self._stop_grace_secs = stop_grace_secs
        self._init_fn = init_fn
        self._logdir: Any = logdir if is_chief else None
        self._save_summaries_secs = save_summaries_secs if is_chief else None
        self._save_model_secs = save_model_secs if is_chief else None
        self._save_path = os.path.join(self._logdir, checkpoint_basename) if self._logdir else None
        self._summary_writer: Any = None
        if is_chief:
            self._summary_writer = summary_writer
            if summary_writer is Supervisor.USE_DEFAULT:
                self._summary_writer = FileWriter(logdir) if logdir else None
        self._graph_added_to_summary = False
        self._session_manager = session_manager or SessionManager(
            local_init_op=self._local_init_op,
            ready_op=self._ready_op,
            ready_for_local_init_op=self._ready_for_local_init_op,
            graph=graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )
        self._verify_setup()
        graph.finalize()

    def _collect(
        self, ready_op: Any, ready_for_local_init_op: Any, init_op: Any, local_init_op: Any,
        saver: Any, summary_op: Any, global_step: Any,
    ) -> None:  # fmt: skip
        """Set operations from arguments, else from the graph's collections, else to new ones."""
        default, keys = Supervisor.USE_DEFAULT, GraphKeys

        def take(given: Any, key: str, make: Any) -> Any:
            return _first_or(key, make) if given is default else given

        self._ready_op = take(ready_op, keys.READY_OP, variables.report_uninitialized_variables)
        self._ready_for_local_init_op = take(
            ready_for_local_init_op, keys.READY_FOR_LOCAL_INIT_OP, lambda: None
        )
        self._init_op = take(init_op, keys.INIT_OP, variables.global_variables_initializer)
        self._local_init_op = take(local_init_op, keys.LOCAL_INIT_OP, _default_local_init_op)
        self._saver = take(saver, keys.SAVERS, _default_saver)
        self._summary_op = take(summary_op, keys.SUMMARY_OP, merge_all)
        self._global_step = take(global_step, keys.GLOBAL_STEP, _default_global_step)

    def _verify_setup(self) -> None:
        if self._is_chief:
            return
        for op in self._graph.get_operations():
            if op.type in ("Variable", "VariableV2") and not op.device:
                raise ValueError(
                    "When using replicas, all Variables must have their device set: " + str(op)
                )

    @property
    def is_chief(self) -> bool:
        """True if this process initializes and saves."""
        return self._is_chief

    @property
    def session_manager(self) -> Any:
        """The `SessionManager`."""
        return self._session_manager

    @property
    def coord(self) -> Coordinator:
        """The `Coordinator` of its threads."""
        return self._coord

    @property
    def init_op(self) -> Operation:
        """Initializes variables."""
        return self._init_op

    @property
    def init_feed_dict(self) -> Any:
        """Fed to `init_op`."""
        return self._init_feed_dict

    @property
    def ready_op(self) -> Any:
        """Gives the names of variables that are not initialized."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """The names of uninitialized variables that `local_init_op` needs."""
        return self._ready_for_local_init_op

    @property
    def summary_writer(self) -> FileWriter | None:
        """Writes summaries; None where there are none."""
        return self._summary_writer

    @property
    def summary_op(self) -> Any:
        """Gives merged summaries, or None."""
        return self._summary_op

    @property
    def save_summaries_secs(self) -> Any:
        """The interval of summaries in seconds."""
        return self._save_summaries_secs

    @property
    def global_step(self) -> Any:
        """The tensor that counts steps, or None."""
        return self._global_step

    @property
    def saver(self) -> Any:
        """The `Saver`, or None."""
        return self._saver

    @property
    def save_model_secs(self) -> Any:
        """The interval of checkpoints in seconds."""
        return self._save_model_secs

    @property
    def save_path(self) -> Any:
        """The path of checkpoints, or None."""
        return self._save_path

    def _write_graph(self) -> None:
        assert self._is_chief
        if self._logdir:
            graph_def = self._graph.as_graph_def(add_shapes=True)
            graph_io.write_graph(graph_def, self._logdir, "graph.pbtxt")
        if self._summary_writer and not self._graph_added_to_summary:
            self._summary_writer.add_graph(self._graph)
            self._summary_writer.add_meta_graph(self._meta_graph_def)
            self._graph_added_to_summary = True

    def start_standard_services(self, sess: Any) -> Any:
        """Start the threads that write summaries, count steps and save checkpoints.

        Raises:
          RuntimeError: if this is not the chief.
        """
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief "
                "supervisors can write events."
            )
        if not self._logdir:
            logging.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        counts, writer = self._global_step is not None, self._summary_writer
        if counts and writer:
            start = SessionLog(status=SessionLog.START)
            writer.add_session_log(start, step_of(sess, self._global_step))
        summarizes = writer and self._save_summaries_secs
        services: dict[Any, Any] = {
            SVSummaryThread: summarizes and self._summary_op is not None,
            SVStepCounterThread: summarizes and counts,
            SVTimerCheckpointThread: self.saver and self._save_model_secs,
        }
        threads = [service(self, sess) for service, wanted in services.items() if wanted]
        for thread in threads:
            thread.start()
        return threads

    def prepare_or_wait_for_session(
        self, master: str = "", config: Any = None, wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200, start_standard_services: bool = True,
    ) -> Session:  # fmt: skip
        """Return a session that is ready, its services and queue runners started.

        Args:
          master: the target of the session.
          config: a `ConfigProto`.
          wait_for_checkpoint: whether to wait for a checkpoint.
          max_wait_secs: for how long.
          start_standard_services: whether to start services and queue runners.
        """
        self._coord.clear_stop()
        if self._summary_writer:
            self._summary_writer.reopen()
        open_session = self._session_manager.wait_for_session
        services: dict[str, Any] = {"queue runners": self.start_queue_runners}
        if self._is_chief:
            services = {"standard services": self.start_standard_services, **services}
            open_session = functools.partial(
                self._session_manager.prepare_session,
                init_op=self.init_op, init_feed_dict=self._init_feed_dict, init_fn=self._init_fn,
                saver=self.saver, checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
            )  # fmt: skip
        sess = open_session(master, config=config, max_wait_secs=max_wait_secs)
        if self._is_chief:
            self._write_graph()
        for service, start in services.items() if start_standard_services else ():
            logging.info(f"Starting {service}.")
            start(sess)
        return sess

    def start_queue_runners(self, sess: Any, queue_runners: Any = None) -> list[Any]:
        """Start the threads of queue runners, those of the graph by default."""
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        threads: list[Any] = []
        for runner in queue_runners:
            threads += runner.create_threads(sess, coord=self._coord, daemon=True, start=True)
        return threads

    def loop(
        self, timer_interval_secs: float | None, target: Any, args: Any = None, kwargs: Any = None
    ) -> LooperThread:
        """Start a thread that calls `target` every so many seconds; see `LooperThread`."""
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    def stop(
        self, threads: Any = None, close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:  # fmt: skip
        """Stop all threads.

        Args:
          threads: more threads to wait for.
          close_summary_writer: whether to close the writer of summaries.
          ignore_live_threads: whether threads that live on are only logged.

        Raises:
          BaseException: the error of a thread.
        """
        with contextlib.ExitStack() as at_end:
            if close_summary_writer:
                at_end.callback(self._close_summary_writer)
            self._coord.request_stop()
            self._coord.join(threads, self._stop_grace_secs, ignore_live_threads)

    def _close_summary_writer(self) -> None:
        if writer := self._summary_writer:
            writer.add_session_log(SessionLog(status=SessionLog.STOP))
            writer.close()
            self._graph_added_to_summary = False

    def request_stop(self, ex: Any = None) -> None:
        """Asks the threads to end; see `Coordinator.request_stop`."""
        self._coord.request_stop(ex=ex)

    def should_stop(self) -> bool:
        """Return True if the end was asked for."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> Any:
        """Return a context whose exceptions ask for the end."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Wait until the end is asked for."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess: Any, summary: Any, global_step: Any = None) -> None:
        """Write a summary.

        Args:
          sess: the session.
          summary: a `Summary`, or one serialized.
          global_step: its step; read in the session if None.

        Raises:
          TypeError: if `summary` is no summary.
          RuntimeError: if there is nothing that writes summaries.
        """
        if not self._summary_writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self.global_step is not None:
            global_step = step_of(sess, self.global_step)
        self._summary_writer.add_summary(summary, global_step)

    @contextlib.contextmanager
    def managed_session(
        self, master: str = "", config: Any = None, start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Any]:  # fmt: skip
        """Return a context with a session.

        At its end all threads stop, and their errors are raised.
        """
        with contextlib.ExitStack() as at_end:
            try:
                sess = self.prepare_or_wait_for_session(
                    master, config, start_standard_services=start_standard_services
                )
                at_end.callback(_close_quietly, sess)
                yield sess
            except Exception as error:
                self.request_stop(error)
            finally:
                # Also where the loop has ended by itself: threads must not outlive the session.
                self.stop(close_summary_writer=close_summary_writer)

    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed
