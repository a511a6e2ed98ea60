"""Several readers at once, by way of a common queue."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.io.readers.classes import ReaderBase
from stillflow.train.batching import summarize_fullness

_TWO_STRINGS = "common_queue.dtypes must be [tf.string, tf.string]"


@export("contrib.slim.parallel_reader.ParallelReader")
class ParallelReader(ReaderBase):
    """Readers that fill one queue of keys and records.

    Args:
      reader_class: makes the readers.
      common_queue: the queue.
      num_readers: how many there are.
      reader_kwargs: arguments of `reader_class`.

    Raises:
      TypeError: the queue is not one of two strings.
    """

    def __init__(
        self, reader_class: Any, common_queue: Any, num_readers: int = 4, reader_kwargs: Any = None
    ) -> None:
        types = common_queue.dtypes
        if len(types) != 2 or not all(dtype.is_compatible_with(tf.string) for dtype in types):
            raise TypeError(_TWO_STRINGS)
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    @property
    def num_readers(self) -> int:
        """The number of readers."""
        return len(self._readers)

    @property
    def common_queue(self) -> Any:
        """The queue that they fill."""
        return self._common_queue

    def read(self, queue: Any, name: str | None = None) -> Any:
        """Return the next key and record of any reader; adds the queue runner of the readers.

        Args:
          queue: the names of files.
          name: of the operation.
        """
        self._run_readers(queue)
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> list[Tensor]:
        """Return the next keys and records, at most `num_records`; see `read`."""
        self._run_readers(queue)
        return self._common_queue.dequeue_up_to(num_records, name)

    def _run_readers(self, queue: Any) -> None:
        enqueue = [self._common_queue.enqueue(reader.read(queue)) for reader in self._readers]
        tf.train.add_queue_runner(tf.train.QueueRunner(self._common_queue, enqueue))

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Return the number of records of all readers."""
        return tf.add_n([reader.num_records_produced() for reader in self._readers], name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Return the number of files that all readers read to the end."""
        return tf.add_n([reader.num_work_units_completed() for reader in self._readers], name=name)


@export("contrib.slim.parallel_reader.parallel_read")
def parallel_read(
    data_sources: Any,
    reader_class: Any,
    num_epochs: int | None = None,
    num_readers: int = 4,
    reader_kwargs: Any = None,
    shuffle: bool = True,
    dtypes: Any = None,
    capacity: int = 256,
    min_after_dequeue: int = 128,
    seed: int | None = None,
    scope: str | None = None,
) -> Any:
    """Return the next key and record of files that several readers read.

    Args:
      data_sources: files, or patterns of files.
      reader_class: makes the readers.
      num_epochs: how often each file is read; None for no end.
      num_readers: how many readers there are.
      reader_kwargs: arguments of `reader_class`.
      shuffle: whether files and records are mixed.
      dtypes: of the queue of records, two strings.
      capacity: of that queue.
      min_after_dequeue: how many records stay in it to be mixed.
      seed: of the mixing.
      scope: name of the scope.
    """
    files = get_data_files(data_sources)
    with tf.name_scope(scope, "parallel_read"):
        filenames = tf.train.string_input_producer(
            files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames"
        )
        kind, mixing = tf.FIFOQueue, {}
        if shuffle:
            kind = tf.RandomShuffleQueue
            mixing = {"min_after_dequeue": min_after_dequeue, "seed": seed}
        types = dtypes or [tf.string] * 2
        queue = kind(capacity=capacity, dtypes=types, name="common_queue", **mixing)
        summarize_fullness(f"fraction_of_{capacity}_full", queue, capacity)
        reader = ParallelReader(reader_class, queue, num_readers, reader_kwargs)
        return reader.read(filenames)


@export("contrib.slim.parallel_reader.single_pass_read")
def single_pass_read(
    data_sources: Any, reader_class: Any, reader_kwargs: Any = None, scope: str | None = None
) -> Any:
    """Return the next key and record of files, read once and in order.

    Args:
      data_sources: files, or patterns of files.
      reader_class: makes the reader.
      reader_kwargs: its arguments.
      scope: name of the scope.
    """
    files = get_data_files(data_sources)
    with tf.name_scope(scope, "single_pass_read"):
        filenames = tf.train.string_input_producer(
            files, num_epochs=1, shuffle=False, capacity=1, name="filenames"
        )
        return reader_class(**(reader_kwargs or {})).read(filenames)


@export("contrib.slim.parallel_reader.get_data_files")
def get_data_files(data_sources: Any) -> list[str]:
    """Return the files that a name, a pattern, or several of these mean.

    Raises:
      ValueError: there are none.
    """
    if isinstance(data_sources, (list, tuple)):
        files = [file for source in data_sources for file in get_data_files(source)]
    elif any(mark in data_sources for mark in "*?["):
        files = tf.gfile.Glob(data_sources)
    else:
        files = [data_sources]
    if not files:
        raise ValueError(f"No data files found in {data_sources}")
    return files
