"""The queue runners of a graph, for as long as a block runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys

_running = threading.Lock()
_GRACE_SECONDS = 120


@export("contrib.slim.queues.NestedQueueRunnerError")
class NestedQueueRunnerError(Exception):
    """Such a block stands in another one."""


@export("contrib.slim.queues.QueueRunners")
@contextmanager
def QueueRunners(session: Any) -> Iterator[None]:
    """Run all queue runners of the graph while the block runs.

    Args:
      session: the session; it is closed if the threads do not end in time.

    Raises:
      NestedQueueRunnerError: another such block is running.
    """
    if not _running.acquire(blocking=False):
        raise NestedQueueRunnerError("QueueRunners cannot be nested")
    coord = tf.train.Coordinator()
    threads: list[threading.Thread] = []
    for runner in tf.get_collection(GraphKeys.QUEUE_RUNNERS):
        threads.extend(runner.create_threads(session, coord=coord, daemon=True, start=True))
    try:
        yield
    finally:
        coord.request_stop()
        try:
            coord.join(threads, stop_grace_period_secs=_GRACE_SECONDS)
        except RuntimeError:
            session.close()
        _running.release()
