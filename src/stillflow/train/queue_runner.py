"""tf.train.QueueRunner: threads that fill a queue."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from stillflow import errors
from stillflow.graph import collection_protos
from stillflow.graph.api import add_to_collection, get_collection
from stillflow.graph.default_session import get_default_session
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.contexts import with_scope, without_scope
from stillflow.platform import tf_logging as logging
from stillflow.runtime.session.session import BaseSession
from stillflow.util.notices import noticed


@export("train.queue_runner.QueueRunner", "train.QueueRunner")
class QueueRunner:
    """Runner of enqueue operations, each in its own thread, until the queue is closed.

    Args:
      queue: the queue to fill.
      enqueue_ops: operations that put something in.
      close_op: closes the queue when the last thread ends; made by default.
      cancel_op: closes it and cancels waiting operations; made by default.
      queue_closed_exception_types: errors that end a thread in peace; `OutOfRangeError` by default.
      queue_runner_def: a `QueueRunnerDef` to read instead.
      import_scope: the scope its names are in.

    Raises:
      ValueError: if `queue` or `enqueue_ops` are missing, or given together with a
        `queue_runner_def`.
      TypeError: if `queue_closed_exception_types` is no tuple of error types.

    Example:
      >>> queue = tf.FIFOQueue(10, [tf.int32], name="items")
      >>> runner = tf.train.QueueRunner(queue, [queue.enqueue(7)] * 2)
      >>> runner.name, len(runner.enqueue_ops), runner.close_op.type
      ('items', 2, 'QueueCloseV2')
    """

    @noticed("train.QueueRunner")
    def __init__(
        self, queue: Any = None, enqueue_ops: Any = None, close_op: Any = None,
        cancel_op: Any = None, queue_closed_exception_types: Any = None,
        queue_runner_def: Any = None, import_scope: str | None = None,
    ) -> None:  # fmt: skip
        if executing_eagerly():
            raise RuntimeError(
                "QueueRunners are not supported when eager execution is enabled. Instead, please "
                "use tf.data to get data into your model."
            )
        if queue_runner_def:
            if queue or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._read(queue_runner_def, import_scope)
        else:
            if not queue or not enqueue_ops:
                raise ValueError("Must provide queue and enqueue_ops.")
            self._queue = queue
            self._enqueue_ops = enqueue_ops
            types = _error_types(queue_closed_exception_types)
            self._close_op = queue.close() if close_op is None else close_op
            self._cancel_op = (
                queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
            )
            self._queue_closed_exception_types = types
        self._lock = threading.Lock()
        # How many threads still run, by session.
        self._runs_per_session: Any = weakref.WeakKeyDictionary()
        self._exceptions_raised: list[BaseException] = []

    def _read(self, message: Any, scope: str | None) -> None:
        graph = get_default_graph()

        def element(name: str) -> Tensor | Operation:
            return graph.as_graph_element(with_scope(name, scope))

        self._queue = element(message.queue_name)
        self._enqueue_ops = [element(name) for name in message.enqueue_op_name]
        self._close_op = element(message.close_op_name)
        self._cancel_op = element(message.cancel_op_name)
        self._queue_closed_exception_types = tuple(
            errors.exception_type_from_error_code(code)
            for code in message.queue_closed_exception_types
        ) or (errors.OutOfRangeError,)

    @property
    def queue(self) -> Any:
        """The queue it fills."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[Tensor | Operation]:
        """The operations it runs."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Operation:
        """The operation that closes the queue."""
        return self._close_op

    @property
    def cancel_op(self) -> Operation:
        """The operation that closes the queue and cancels waiting operations."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[Any, ...]:
        """Errors that end a thread in peace."""
        return self._queue_closed_exception_types

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """The exceptions of threads without a coordinator."""
        return self._exceptions_raised

    @property
    def name(self) -> str:
        """The name of the queue."""
        name: str = self._queue.name
        return name

    def _run(self, sess: Any, enqueue_op: Any, coord: Any = None) -> None:
        """Run the loop of a thread."""
        counted = True
        try:
            stopped = coord.should_stop if coord else lambda: False
            enqueue = self._enqueue(sess, enqueue_op, stopped)
            while not stopped():
                try:
                    enqueue()
                except self._queue_closed_exception_types:
                    with self._lock:
                        counted = False
                        self._leave(sess, close=True)
                    return
        except Exception as error:
            if isinstance(error, errors.OpError):  # its message tells of the causes
                error.__cause__ = error.__context__ = None
                error.with_traceback(None)
            if coord:
                coord.request_stop(error)
                return
            logging.error("Exception in QueueRunner: %s", error)
            with self._lock:
                self._exceptions_raised.append(error)
            raise
        finally:
            if counted:
                with self._lock:
                    self._leave(sess, close=False)

    def _enqueue(
        self, sess: Any, enqueue_op: Any, stopped: Callable[[], bool]
    ) -> Callable[[], Any]:
        """Return the function that a thread calls repeatedly until `stopped`."""
        from stillflow.runtime.session.queue_runs import turns  # needs torch, which graphs do not

        return turns(sess, enqueue_op, stopped)

    def _leave(self, sess: Any, close: bool) -> None:
        """Count a thread that ends; the last one closes the queue."""
        self._runs_per_session[sess] -= 1
        if close and self._runs_per_session[sess] == 0:
            try:
                sess.run(self._close_op)
            except Exception as error:
                logging.vlog(1, "Ignored exception: %s", error)

    def _close_on_stop(self, sess: Any, cancel_op: Any, coord: Any) -> None:
        """Wait in a thread for the coordinator's stop, then cancel waiting operations."""
        coord.wait_for_stop()
        try:
            sess.run(cancel_op)
        except Exception as error:
            logging.vlog(1, "Ignored exception: %s", error)

    def create_threads(
        self, sess: Any, coord: Any = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Make threads that run the operations; none if some still run for the session.

        Args:
          sess: the session.
          coord: a `Coordinator` that ends them and gets their errors.
          daemon: whether they end with the program.
          start: whether to start them.
        """
        with self._lock:
            if self._runs_per_session.get(sess, 0) > 0:
                return []
            self._runs_per_session[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        prefix = f"QueueRunnerThread-{self.name}"
        threads = [
            threading.Thread(target=self._run, args=(sess, op, coord), name=f"{prefix}-{op.name}")
            for op in self._enqueue_ops
        ]
        if coord:
            threads.append(
                threading.Thread(
                    target=self._close_on_stop,
                    args=(sess, self._cancel_op, coord),
                    name=f"{prefix}-close_on_stop",
                )
            )
        for thread in threads:
            if coord:
                coord.register_thread(thread)
            if daemon:
                thread.daemon = True
            if start:
                thread.start()
        return threads

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return this as a `QueueRunnerDef`; None if the queue is outside `export_scope`."""
        from stillflow.protos import QueueRunnerDef

        if export_scope is not None and not self.queue.name.startswith(export_scope):
            return None
        return QueueRunnerDef(
            queue_name=without_scope(self.queue.name, export_scope),
            enqueue_op_name=[without_scope(op.name, export_scope) for op in self.enqueue_ops],
            close_op_name=without_scope(self.close_op.name, export_scope),
            cancel_op_name=without_scope(self.cancel_op.name, export_scope),
            queue_closed_exception_types=[
                errors.error_code_from_exception_type(kind)
                for kind in self._queue_closed_exception_types
            ],
        )

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> QueueRunner:
        """Return the queue runner that `to_proto` has described."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


collection_protos.queue_runner.provide(QueueRunner)


def _error_types(types: Any) -> tuple[Any, ...]:
    if types is None:
        return (errors.OutOfRangeError,)
    is_tuple = isinstance(types, tuple) and bool(types)
    if not is_tuple or not all(issubclass(kind, errors.OpError) for kind in types):
        raise TypeError(
            "queue_closed_exception_types, when provided, must be a tuple of tf.error types, "
            f"but saw: {types}"
        )
    return tuple(types)


@export("train.queue_runner.add_queue_runner", "train.add_queue_runner")
@noticed("train.add_queue_runner")
def add_queue_runner(qr: Any, collection: Any = GraphKeys.QUEUE_RUNNERS) -> None:
    """Add a queue runner to a collection of the graph."""
    add_to_collection(collection, qr)


@export("train.queue_runner.start_queue_runners", "train.start_queue_runners")
@noticed("train.start_queue_runners")
def start_queue_runners(
    sess: Any = None, coord: Any = None, daemon: bool = True, start: bool = True,
    collection: Any = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:  # fmt: skip
    """Make the threads of all queue runners in the graph.

    Args:
      sess: the session; the default one if None.
      coord: a `Coordinator` that ends them and gets their errors.
      daemon: whether they end with the program.
      start: whether to start them.
      collection: where the queue runners stand.

    Raises:
      ValueError: if there is no session.
      TypeError: if `sess` is none.
      RuntimeError: where operations run when they are called.

    Example:
      >>> x, coordinator = tf.train.batch([tf.constant(7)], 3), tf.train.Coordinator()
      >>> with tf.Session() as sess:
      ...     print(len(tf.train.start_queue_runners(sess, coordinator)), sess.run(x))
      2 [7 7 7]
    """
    if executing_eagerly():
        raise RuntimeError("Queues are not compatible with eager execution.")
    if sess is None:
        sess = get_default_session()
        if not sess:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with "
                "sess.as_default()` or pass an explicit session to "
                "tf.start_queue_runners(sess=sess)"
            )
    if not isinstance(sess, BaseSession):
        if type(sess).__name__ in ("MonitoredSession", "SingularMonitoredSession"):
            return []  # it has started them
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    if not get_collection(collection):
        logging.warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined. "
            "You can safely remove the call to this deprecated function."
        )
    threads: list[threading.Thread] = []
    with sess.graph.as_default():
        for runner in get_collection(collection):
            threads += runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
    return threads
