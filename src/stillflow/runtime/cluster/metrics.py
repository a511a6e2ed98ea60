"""Metrics of this process's tasks for Prometheus: steps, latencies, bytes, lengths of queues.

There are none, and nothing is counted, unless STILLFLOW_METRICS_PORT names a port for them.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from stillflow import errors
from stillflow.runtime import native_log
from stillflow.util.prometheus import CONTENT_TYPE, Counter, Gauges, Histogram, page
from stillflow.util.threads import our_thread

if TYPE_CHECKING:
    from stillflow.runtime.cluster.tasks import LocalTask

_PREFIX = "stillflow_cluster_"
_LATENCIES = (1e-4, 2.0, 22)  # to about four minutes


class Measures:
    """The metrics, and the tasks that they are of."""

    def __init__(self) -> None:
        self._tasks: list[LocalTask] = []
        self._steps = Counter(f"{_PREFIX}steps_total", ["task", "status"])
        self._seconds = Histogram(f"{_PREFIX}step_seconds", ["task"], *_LATENCIES)
        self._sent = Counter(f"{_PREFIX}sent_bytes_total")
        self._received = Counter(f"{_PREFIX}received_bytes_total")
        self._queues = Gauges(f"{_PREFIX}queue_length", ["task", "queue"], lambda: {
            (_name(task.task), name): length
            for task in self._tasks for name, length in task.queue_lengths().items()
        })  # fmt: skip
        self._sessions = self._of_tasks("sessions", lambda task: len(task._guests))
        self._running = self._of_tasks("running_steps", lambda task: task.running_steps())

    def _of_tasks(self, name: str, read: Callable[[LocalTask], int]) -> Gauges:
        return Gauges(
            _PREFIX + name,
            ["task"],
            lambda: {(_name(each.task),): read(each) for each in self._tasks},
        )

    @contextlib.contextmanager
    def step(self, task: str) -> Iterator[None]:
        """Return a context in which a task does its part of a step."""
        begun, status = time.perf_counter(), "ok"
        try:
            yield
        except BaseException as error:
            status = type(error).__name__
            raise
        finally:
            self._seconds.add(time.perf_counter() - begun, task)
            self._steps.add(task, status)

    def sent(self, value: Any) -> None:
        """Count a value that leaves for another task."""
        self._sent.add(count=getattr(value, "nbytes", 0))

    def received(self, value: Any) -> None:
        """Count a value that has come from another task."""
        self._received.add(count=getattr(value, "nbytes", 0))

    def page(self) -> str:
        """Return the page that Prometheus reads."""
        return page([
            self._steps, self._seconds, self._sent, self._received, self._queues, self._sessions,
            self._running,
        ])  # fmt: skip


shown: Measures | None = None
_lock = threading.Lock()


def show(task: LocalTask, host: str) -> None:
    """Show the metrics of a task at a host's port of metrics, if there is to be one.

    Raises:
      tf.errors.InvalidArgumentError, tf.errors.UnknownError: if it is no port, or is taken.
    """
    global shown
    port = os.environ.get("STILLFLOW_METRICS_PORT")
    if not port:
        return
    with _lock:
        if shown is None:
            measures = Measures()
            _serve(measures, host, port)
            shown = measures
        shown._tasks.append(task)


def _serve(measures: Measures, host: str, port: str) -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(404)
                return
            data = measures.page().encode()
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Log no requests: there is one every few seconds."""

    if not (port.isdecimal() and int(port) < 1 << 16):
        raise errors.invalid_argument(f"STILLFLOW_METRICS_PORT: {port} is no port")
    try:
        server = ThreadingHTTPServer((host, int(port)), Page)
    except OSError as error:
        raise errors.unknown(f"Metrics cannot be shown at {host}:{port}: {error}") from None
    native_log.info(f"Metrics are at http://{host}:{server.server_port}/metrics")
    thread = threading.Thread(target=server.serve_forever, name="stillflow-metrics", daemon=True)
    our_thread(thread).start()


def _name(task: tuple[str, int]) -> str:
    return f"/job:{task[0]}/replica:0/task:{task[1]}"
