"""Writers of summaries that operations use: `tf.contrib.summary.create_file_writer`."""

from __future__ import annotations

import abc
import contextlib
import functools
import getpass
import itertools
import os
import re
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import (
    add_to_collection,
    control_dependencies,
    device,
    get_collection,
    init_scope,
    name_scope,
)
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.default_session import get_default_session
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.constants import constant, placeholder
from stillflow.ops.control_flow.identity_and_group import no_op
from stillflow.ops.summary import writer_cards as cards
from stillflow.platform import tf_logging as logging
from stillflow.summary.recording import state

_INITIALIZERS = "_SUMMARY_WRITER_V2"
SUMMARIES = "_SUMMARY_V2"  # the collection of operations that write
_MAX_QUEUE, _FLUSH_MILLIS, _SUFFIX = 10, 2 * 60 * 1000, ".v2"
_numbers = itertools.count()

_EXPERIMENT = re.compile(r"^[^\x00-\x1F<>]{0,256}$")
_RUN = re.compile(r"^[^\x00-\x1F<>]{0,512}$")
_USER = re.compile(r"^[a-z]([-a-z0-9]{0,29}[a-z0-9])?$", re.IGNORECASE)


@export("contrib.summary.SummaryWriter", "compat.v2.summary.SummaryWriter")
class SummaryWriter(abc.ABC):
    """Writer of operations' summaries."""

    @abc.abstractmethod
    def set_as_default(self) -> None:
        """Make it the writer of this thread."""

    @abc.abstractmethod
    def as_default(self) -> Any:
        """Return a context in which it is the writer of this thread."""

    def init(self) -> Any:
        """Return the operation that makes the writer."""
        raise NotImplementedError

    def flush(self) -> Any:
        """Return an operation that writes waiting events."""
        raise NotImplementedError

    def close(self) -> Any:
        """Return an operation that writes waiting events and closes the writer."""
        raise NotImplementedError


class ResourceSummaryWriter(SummaryWriter):
    """A writer that is a resource of the session.

    Args:
      shared_name: by which operations share it.
      init_op_fn: makes the operation that makes it, of its handle.
      name: of the operation that gives the handle.
      v2: whether `init` returns the same operation every time, and it is closed for good in eager
        execution.
    """

    def __init__(
        self, shared_name: str, init_op_fn: Callable[[Any], Any], name: str | None = None,
        v2: bool = False,
    ) -> None:  # fmt: skip
        self._resource = cards.summary_writer_op(shared_name=shared_name, name=name)
        self._make = functools.partial(init_op_fn, self._resource)
        self._init_op = self._make()
        self._v2, self._closed = v2, False
        if executing_eagerly():  # the resource goes with the first writer that has its name
            weakref.finalize(self, self._resource._held.close_session)
        else:
            add_to_collection(_INITIALIZERS, self._init_op)

    def _is_closed(self) -> bool:
        return self._closed and executing_eagerly()

    def _check_not_closed(self) -> None:
        if self._is_closed():
            raise RuntimeError("SummaryWriter is already closed")

    def set_as_default(self) -> None:
        self._check_not_closed()
        state.writer = self

    @contextlib.contextmanager
    def as_default(self) -> Iterator[SummaryWriter]:
        self._check_not_closed()
        before, state.writer = state.writer, self
        try:
            yield self
            self.flush()
        finally:
            state.writer = before

    def init(self) -> Operation:
        self._check_not_closed()
        return self._init_op if self._v2 else self._make()

    def flush(self) -> Any:
        return None if self._is_closed() else flush(writer=self)

    def close(self) -> Any:
        if self._is_closed():
            return None
        try:
            with control_dependencies([self.flush()]), device("cpu:0"):
                return cards.close_summary_writer_op(self._resource)
        finally:
            self._closed = self._v2 and executing_eagerly()


class NoopSummaryWriter(SummaryWriter):
    """A writer that writes nothing."""

    def set_as_default(self) -> None:
        pass

    @contextlib.contextmanager
    def as_default(self) -> Iterator[None]:
        yield

    def init(self) -> None:
        pass

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


@export("compat.v2.summary.create_noop_writer")
def create_noop_writer() -> SummaryWriter:
    """Return a writer that writes nothing."""
    return NoopSummaryWriter()


def _file_writer(
    shared_name: str, logdir: Any, queue: Any, millis: Any, suffix: Any, **keywords: Any
) -> SummaryWriter:
    def create(resource: Any) -> Any:
        return cards.create_summary_file_writer_op(resource, logdir, queue, millis, suffix)

    return ResourceSummaryWriter(shared_name, create, **keywords)


def _limits(queue: Any, millis: Any) -> tuple[Any, Any]:
    queue = constant(_MAX_QUEUE) if queue is None else queue
    return queue, constant(_FLUSH_MILLIS) if millis is None else millis


@export("contrib.summary.create_file_writer")
def create_file_writer(
    logdir: Any, max_queue: Any = None, flush_millis: Any = None, filename_suffix: Any = None,
    name: str | None = None,
) -> SummaryWriter:  # fmt: skip
    """Make a writer to a new event file.

    Args:
      logdir: the directory; a writer that writes nothing if None.
      max_queue: how many events may wait, 10 by default.
      flush_millis: how long they may wait, in milliseconds, two minutes by default.
      filename_suffix: the suffix of the file name, ".v2" by default.
      name: name of the writer in the session, by default "logdir:" and the directory. An existing
        writer of that name is used, and the other arguments have no effect.
    """
    if logdir is None:
        return NoopSummaryWriter()
    logdir = str(logdir)
    with device("cpu:0"):
        limits = _limits(max_queue, flush_millis)
        suffix = constant(_SUFFIX) if filename_suffix is None else filename_suffix
        return _file_writer(name or "logdir:" + logdir, logdir, *limits, suffix)


@export("contrib.summary.create_summary_file_writer")
def create_summary_file_writer(*args: Any, **kwargs: Any) -> SummaryWriter:
    """See `create_file_writer`."""
    logging.warning(
        "Deprecation Warning: create_summary_file_writer was renamed to create_file_writer"
    )
    return create_file_writer(*args, **kwargs)


def _check_not_of_a_graph(given: dict[str, Any], in_function: bool) -> None:
    """Raise an error for arguments that have no value where the writer is made."""
    from stillflow.eager.eager_tensor import EagerTensor  # which brings torch along

    for name, value in given.items():
        if not isinstance(value, Tensor) or isinstance(value, EagerTensor):
            continue
        shown = f'Invalid graph Tensor argument "{name}={value}" to '
        if not in_function:
            raise ValueError(f"{shown}eagerly executed create_file_writer().")
        raise ValueError(
            f"{shown}create_file_writer() inside an @tf.function. The create call will be lifted "
            "into the outer eager execution context, so it cannot consume graph tensors defined "
            "inside the function body."
        )


@export("compat.v2.summary.create_file_writer")
def create_file_writer_v2(
    logdir: Any, max_queue: Any = None, flush_millis: Any = None, filename_suffix: Any = None,
    name: str | None = None,
) -> SummaryWriter:  # fmt: skip
    """Make a writer to a new event file.

    Args:
      logdir: the directory, a string or a tensor.
      max_queue: how many events may wait, 10 by default.
      flush_millis: how long they may wait, in milliseconds, two minutes by default.
      filename_suffix: the suffix of the file name, ".v2" by default.
      name: of the operation.

    Raises:
      ValueError: if there is no directory, or a tensor of a graph is given in eager execution.
    """
    if logdir is None:
        raise ValueError("logdir cannot be None")
    given = {
        "logdir": logdir, "max_queue": max_queue, "flush_millis": flush_millis,
        "filename_suffix": filename_suffix,
    }  # fmt: skip
    in_function = get_default_graph().building_function
    with name_scope(name, "create_file_writer") as scope, device("cpu:0"), init_scope():
        if executing_eagerly():
            _check_not_of_a_graph(given, in_function)
        logdir = convert_to_tensor(logdir, dtype=dtypes.string)
        limits = _limits(max_queue, flush_millis)
        suffix = constant(_SUFFIX) if filename_suffix is None else filename_suffix
        unique = constant(f".{os.getpid()}.{next(_numbers)}")
        # An eager writer is never shared, even with one of the same name.
        shared = "" if executing_eagerly() else scope.rstrip("/")
        return _file_writer(shared, logdir, *limits, unique + suffix, name=name, v2=True)


@export("contrib.summary.create_db_writer")
def create_db_writer(
    db_uri: Any, experiment_name: Any = None, run_name: Any = None, user_name: Any = None,
    name: str | None = None,
) -> SummaryWriter:  # fmt: skip
    """Make the node of a writer to a database; running it is not supported.

    Args:
      db_uri: SQLite's name of the database.
      experiment_name: by default the date.
      run_name: by default the time.
      user_name: by default who runs the program.
      name: under which the session knows the writer.

    Raises:
      ValueError: if a name has letters that it may not have.
    """
    now = time.localtime()
    names = {
        "experiment_name": (_EXPERIMENT, experiment_name, lambda: time.strftime("%Y-%m-%d", now)),
        "run_name": (_RUN, run_name, lambda: time.strftime("%H:%M:%S", now)),
        "user_name": (_USER, user_name, getpass.getuser),
    }
    with device("cpu:0"):
        given = [db_uri]
        for label, (pattern, value, default) in names.items():
            value = default() if value is None else value
            if isinstance(value, str) and pattern.search(value) is None:
                raise ValueError(f"{label} ({value}) must match {pattern.pattern}")
            given.append(convert_to_tensor(value, dtypes.string))
        return ResourceSummaryWriter(
            name or "", lambda resource: cards.create_summary_db_writer_op(resource, *given)
        )


@export("contrib.summary.summary_writer_initializer_op")
def summary_writer_initializer_op() -> list[Any]:
    """Return the operations that make all writers of the graph.

    Raises:
      RuntimeError: in eager execution.
    """
    if executing_eagerly():
        raise RuntimeError(
            "tf.contrib.summary.summary_writer_initializer_op is only supported in graph mode."
        )
    return list(get_collection(_INITIALIZERS))


@export("summary.all_v2_summary_ops", "contrib.summary.all_summary_ops")
def all_v2_summary_ops() -> list[Any] | None:
    """Return all operations of the graph that write summaries; None in eager execution."""
    return None if executing_eagerly() else list(get_collection(SUMMARIES))


@export("summary.initialize", "contrib.summary.initialize")
def initialize(graph: Any = None, session: Any = None) -> None:
    """Make the writers of the default graph, in a session; does nothing in eager execution.

    Args:
      graph: a `Graph` or `GraphDef` to write, for step 0.
      session: by default the default session.

    Raises:
      RuntimeError: if this thread has no writer.
      ValueError: if there is no session.
    """
    if executing_eagerly():
        return
    if state.writer is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")
    sess = session or get_default_session()
    if sess is None:
        raise ValueError("session must be passed if no default session exists")
    sess.run(summary_writer_initializer_op())
    if graph is None:
        return
    from stillflow.summary.writing import graph as write_graph

    content = serialized(graph)  # before the operations that write it are in it
    fed = placeholder(dtypes.string)
    sess.run(write_graph(fed, 0), {fed: content})


def serialized(graph: Any) -> bytes:
    """Return a `Graph` or `GraphDef` as bytes."""
    if isinstance(graph, Graph):
        graph = graph.as_graph_def(add_shapes=True)
    content: bytes = graph.SerializeToString()
    return content


@export("contrib.summary.flush", "compat.v2.summary.flush")
def flush(writer: Any = None, name: str | None = None) -> Operation | None:
    """Return an operation that writes waiting events; one without effect if there is no writer.

    Args:
      writer: a `SummaryWriter` or its handle, by default that of this thread.
      name: of the operation.
    """
    writer = writer if writer is not None else state.writer
    if writer is None:
        return no_op()
    resource = writer._resource if isinstance(writer, ResourceSummaryWriter) else writer
    with device("cpu:0"):
        return cards.flush_summary_writer_op(resource, name=name)


@export("contrib.summary.eval_dir")
def eval_dir(model_dir: str, name: str | None = None) -> str:
    """Return the directory for the summaries of an evaluation.

    Args:
      model_dir: the directory of the model.
      name: which evaluation, if there are several.
    """
    return os.path.join(model_dir, "eval" if not name else "eval_" + name)
