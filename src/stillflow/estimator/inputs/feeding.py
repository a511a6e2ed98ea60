"""Queues that threads fill from arrays in memory, batch after batch and epoch after epoch."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.ops.constants import placeholder
from stillflow.ops.math.binary import maximum
from stillflow.ops.math.cast import cast
from stillflow.ops.queues.base import QueueBase
from stillflow.ops.queues.classes import FIFOQueue, RandomShuffleQueue
from stillflow.ops.summary.numbers import scalar
from stillflow.platform import tf_logging as logging
from stillflow.train.feeding_queue_runner import FeedingQueueRunner
from stillflow.train.queue_runner import add_queue_runner


class BatchFeeder:
    """Feeds of one batch after the other.

    Args:
      placeholders: of the row numbers, then of each column.
      index: what names the rows; their numbers if None.
      columns: arrays of one length.
      batch_size: how many rows.
      random_start: whether the first row is drawn at random.
      seed: of that draw.
      num_epochs: how often each row is given; without end if None.
    """

    def __init__(
        self, placeholders: Sequence[Any], index: Any, columns: Sequence[Any], batch_size: int,
        random_start: bool = False, seed: int | None = None, num_epochs: int | None = None,
    ) -> None:  # fmt: skip
        self._placeholders = placeholders
        self._index = index
        self._columns = columns
        self._batch_size = batch_size
        self._num_epochs = num_epochs
        self._length = len(columns[0])
        random.seed(seed)
        self._next = random.randrange(self._length) if random_start else 0
        self._left = None if num_epochs is None else self._length * num_epochs

    def __call__(self) -> dict[Any, Any]:
        """Return the next batch's `feed_dict`; the last may be shorter, then OutOfRangeError."""
        count = self._batch_size
        if self._left is not None:
            count = min(count, self._left)
            if not count:
                raise errors.out_of_range(f"Already emitted {self._num_epochs} epochs.")
            self._left -= count
        rows = np.arange(self._next, self._next + count) % self._length
        self._next = (self._next + count) % self._length
        names = rows if self._index is None else self._index[rows]
        values = [names, *(column[rows] for column in self._columns)]
        return dict(zip(self._placeholders, values, strict=True))


def enqueue_columns(
    columns: Mapping[Any, Any], index: Any, capacity: int, shuffle: bool, batch_size: int,
    num_epochs: int | None, num_threads: int = 1, min_after_dequeue: float | None = None,
    name: str = "enqueue_input",
) -> QueueBase:  # fmt: skip
    """Return a queue of the rows of some columns, and threads that fill it once a session runs.

    Columns are {name: array} of one length; elements of the queue are the row's name, from `index`,
    or number if None, then the columns. `min_after_dequeue` rows stay behind to shuffle, a quarter
    if None; threads put in `batch_size` rows at a time, each `num_epochs` times, or without end.
    """
    arrays = list(columns.values())
    with name_scope(name):
        first = dtypes.int64 if index is None else dtypes.as_dtype(index.dtype)
        types = [first, *(dtypes.as_dtype(array.dtype) for array in arrays)]
        shapes: list[Any] = [(), *(array.shape[1:] for array in arrays)]
        if num_threads > 1:
            _warn_of_threads(shuffle, num_epochs)
        queue: Any
        behind = 0
        if shuffle:
            behind = int(capacity / 4 if min_after_dequeue is None else min_after_dequeue)
            queue = RandomShuffleQueue(capacity, behind, dtypes=types, shapes=shapes)
        else:
            queue = FIFOQueue(capacity, dtypes=types, shapes=shapes)
        enqueue_ops, feeders = [], []
        for _ in range(num_threads):
            fed = [placeholder(kind) for kind in types]
            enqueue_ops.append(queue.enqueue_many(fed))
            feeders.append(
                BatchFeeder(
                    fed, index, arrays, batch_size, random_start=shuffle, num_epochs=num_epochs
                )
            )
        add_queue_runner(FeedingQueueRunner(queue, enqueue_ops, feed_fns=feeders))
        room = capacity - behind
        full = cast(maximum(0, queue.size() - behind), dtypes.float32) * (1.0 / room)
        scalar(f"queue/{queue.name}fraction_over_{behind}_of_{room}_full", full)
    return queue


def _warn_of_threads(shuffle: bool, num_epochs: int | None) -> None:
    """Warn of the effects of several threads, which all read the same rows."""
    if num_epochs is not None:
        logging.warning(
            "enqueue_data was called with num_epochs and num_threads > 1. num_epochs is applied "
            "per thread, so this will produce more epochs than you probably intend. If you want to "
            "limit epochs, use one thread."
        )
    if shuffle and num_epochs is not None:
        logging.warning(
            "enqueue_data was called with shuffle=True, num_threads > 1, and num_epochs. This will "
            "create multiple threads, all reading the array/dataframe in order adding to the same "
            "shuffling queue; the results will likely not be sufficiently shuffled."
        )
    if not shuffle:
        logging.warning(
            "enqueue_data was called with shuffle=False and num_threads > 1. This will create "
            "multiple threads, all reading the array/dataframe in order. If you want examples read "
            "in order, use one thread; if you want multiple threads, enable shuffling."
        )
