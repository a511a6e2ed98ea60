"""QueueRunner whose threads feed their enqueue operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow import errors
from stillflow.graph.export import export
from stillflow.train.queue_runner import QueueRunner

_CLOSED = (errors.OutOfRangeError, errors.CancelledError)


@export("contrib.training.FeedingQueueRunner")
class FeedingQueueRunner(QueueRunner):
    """QueueRunner whose threads feed the result of a function to each enqueue operation.

    Args:
      queue: the queue to fill.
      enqueue_ops: operations that put something in.
      close_op: closes the queue when the last thread ends; made by default.
      cancel_op: closes it and cancels waiting operations; made by default.
      feed_fns: a function for each operation that gives the `feed_dict` of one call, and raises
        `OutOfRangeError` at the end; None for operations that are fed nothing.
      queue_closed_exception_types: errors that end a thread in peace.

    Raises:
      ValueError: if `feed_fns` are not as many as `enqueue_ops`.
    """

    def __init__(
        self, queue: Any = None, enqueue_ops: Any = None, close_op: Any = None,
        cancel_op: Any = None, feed_fns: Sequence[Callable[[], Any] | None] | None = None,
        queue_closed_exception_types: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            queue, enqueue_ops, close_op, cancel_op,
            queue_closed_exception_types=queue_closed_exception_types or _CLOSED,
        )  # fmt: skip
        if feed_fns is not None and len(feed_fns) != len(enqueue_ops):
            raise ValueError(
                "If feed_fns is not None, it must have the same length as enqueue_ops."
            )
        self._feed_fns = dict(zip(enqueue_ops, feed_fns or [None] * len(enqueue_ops), strict=True))

    def _enqueue(
        self, sess: Any, enqueue_op: Any, stopped: Callable[[], bool]
    ) -> Callable[[], Any]:
        feed = self._feed_fns[enqueue_op]
        if feed is None:
            return super()._enqueue(sess, enqueue_op, stopped)
        return lambda: sess.run(enqueue_op, feed_dict=feed())
