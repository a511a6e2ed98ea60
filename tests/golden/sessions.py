"""Ways to run a golden program that must give the same values as a plain session.

    pytest tests/golden --golden-session watched

has every program run as a debugger runs it, and so on; `WAYS` lists them. A program whose runs use
the session freely (`Run.call`) is not run on a copy of its graph, and one that fails while it runs
not on a SavedModel. What differs for a reason is in
sessions.tsv: those tests have to fail.
"""

from __future__ import annotations

import contextlib
import functools
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.golden.capture import Built
from tests.golden.registry import internal_module

LIST = Path(__file__).with_name("sessions.tsv")


@contextlib.contextmanager
def _plain(built: Built) -> Iterator[Any]:
    with built.tf.Session(graph=built.graph) as session:
        yield session


@contextlib.contextmanager
def _traced(built: Built) -> Iterator[Any]:
    """Every run with RunOptions.FULL_TRACE."""
    tf = built.tf

    def options(_: Any) -> tuple[Any, Any]:
        return tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()

    with _with_options(tf, options)(graph=built.graph) as session:
        yield session


@contextlib.contextmanager
def _watched(built: Built) -> Iterator[Any]:
    """Every run with all tensors dumped, as by `tfdbg`."""
    watching = internal_module(built.tf, "debug.watching", "python.debug.lib.debug_utils")
    with tempfile.TemporaryDirectory() as folder:

        def options(graph: Any) -> tuple[Any, Any]:
            wanted = built.tf.RunOptions()
            watching.watch_graph(wanted, graph, debug_urls=[f"file://{folder}"])
            return wanted, built.tf.RunMetadata()

        with _with_options(built.tf, options)(graph=built.graph) as session:
            yield session


def _with_options(tf: Any, options: Callable[[Any], tuple[Any, Any]]) -> Any:
    class WithOptions(tf.Session):  # type: ignore[misc]
        """Session that gives options to runs that have none."""

        def run(self, fetches: Any, feed_dict: Any = None, *given: Any, **named: Any) -> Any:
            if not given and not named:
                given = options(self.graph)
            return super().run(fetches, feed_dict, *given, **named)

    return WithOptions


@contextlib.contextmanager
def _in_cluster(built: Built) -> Iterator[Any]:
    """Return a client of the second of two tasks."""
    tf, target = built.tf, _servers(built.tf)[1].target

    class Client(tf.Session):  # type: ignore[misc]
        """Leaves out the first line of errors, which names the task."""

        def run(self, *args: Any, **named: Any) -> Any:
            try:
                return super().run(*args, **named)
            except tf.errors.OpError as error:
                first, _, rest = error.message.partition("\n")
                if not first.startswith("From /job:"):
                    raise
                raise type(error)(error.node_def, error.op, rest) from error

    tf.Session.reset(target)
    with Client(target, graph=built.graph) as session:
        yield session


@functools.lru_cache(maxsize=1)
def _servers(tf: Any) -> list[Any]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(2)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    cluster = {"worker": addresses}
    return [tf.train.Server(cluster, job_name="worker", task_index=i) for i in range(2)]


class _Copy:
    """A session on a copy of a graph, asked for tensors of the original."""

    def __init__(self, tf: Any, session: Any) -> None:
        self._tf = tf
        self._session = session

    def run(self, fetches: Any, feed_dict: Any = None) -> Any:
        feeds = {self._same(key): value for key, value in (feed_dict or {}).items()}
        return self._session.run(self._same(fetches), feeds)

    def _same(self, value: Any) -> Any:
        """Return a structure with the copies of the tensors and operations in it."""
        tf, graph = self._tf, self._session.graph
        if isinstance(value, tf.Tensor):
            return graph.get_tensor_by_name(value.name)
        if isinstance(value, tf.Operation):
            return graph.get_operation_by_name(value.name)
        if isinstance(value, tf.SparseTensor):
            return tf.SparseTensor(
                *map(self._same, (value.indices, value.values, value.dense_shape))
            )
        if isinstance(value, tf.IndexedSlices):
            return tf.IndexedSlices(
                *map(self._same, (value.values, value.indices, value.dense_shape))
            )
        if isinstance(value, dict):
            return type(value)((key, self._same(each)) for key, each in value.items())
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self._same, value))
        if isinstance(value, (list, tuple)):
            return type(value)(map(self._same, value))
        if hasattr(value, "_as_graph_element"):
            return self._same(value._as_graph_element())
        return value


@contextlib.contextmanager
def _from_meta_graph(built: Built) -> Iterator[Any]:
    """Return a session on the graph that export_meta_graph writes and import_meta_graph reads.

    It leaves out saveable objects. TensorFlow writes their names and reads operations of these
    names, of which no `Saver` can be made: lookup_tables/tables_in_meta_graphs.
    """
    tf = built.tf
    keys = set(built.graph.get_all_collection_keys()) - {tf.GraphKeys.SAVEABLE_OBJECTS}
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.meta"
        tf.train.export_meta_graph(path, graph=built.graph, collection_list=sorted(keys, key=str))
        with tf.Graph().as_default() as graph:
            tf.train.import_meta_graph(path)
        with tf.Session(graph=graph) as session:
            yield _Copy(tf, session)


@contextlib.contextmanager
def _from_saved_model(built: Built) -> Iterator[Any]:
    """Return a session on a SavedModel with the variables of the program after its first set-up.

    A program that has not given a value to all its variables by then runs in a plain session.
    """
    tf = built.tf
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        session = stack.enter_context(tf.Session(graph=built.graph))
        for op in built.runs[0].setup:
            session.run(op)
        variables = tf.global_variables()
        if session.run(tf.report_uninitialized_variables(variables)).size:
            with _plain(built) as fresh:  # whose random numbers start again
                yield fresh
            return
        model = tf.saved_model.Builder(f"{folder}/model")
        model.add_meta_graph_and_variables(session, ["golden"])
        model.save()
        with tf.Session(graph=tf.Graph()) as loaded:
            tf.saved_model.load(loaded, ["golden"], f"{folder}/model")
            yield _Copy(tf, loaded)


WAYS: dict[str, Callable[[Built], contextlib.AbstractContextManager[Any]]] = {
    "plain": _plain,
    "traced": _traced,
    "watched": _watched,
    "cluster": _in_cluster,
    "meta_graph": _from_meta_graph,
    "saved_model": _from_saved_model,
}
COPIES = ("meta_graph", "saved_model")


def record_values(built: Built, way: str) -> list[dict[str, Any]]:
    """Run a program in one session; return one record per run.

    Args:
      built: the program.
      way: a key of `WAYS`.
    """
    free = any(run.call is not None for run in built.runs)
    fails = any(run.fails for run in built.runs)
    nothing = not any(run.setup or run.fetches or run.train for run in built.runs)
    if way in COPIES and (free or nothing or (fails and way == "saved_model")):
        way = "plain"
    with built.graph.as_default(), WAYS[way](built) as session:
        return built.record_runs(session)
