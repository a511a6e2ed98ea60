"""Batches of records of files, read and parsed through queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_like import is_tensor
from stillflow.util.deprecation import deprecated
from stillflow_contrib.input_pipeline.seeking import seek_next
from stillflow_contrib.learn.io.queueing import queue_parsed_features

KEY_FEATURE_NAME = "__key__"
_USE_DATA = deprecated(None, "Use tf.data.")


@export("contrib.learn.read_batch_examples", "contrib.learn.io.read_batch_examples")
@_USE_DATA
def read_batch_examples(
    file_pattern: Any,
    batch_size: Any,
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    num_threads: int = 1,
    read_batch_size: Any = 1,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Tensor:
    """Batches of records; see `read_keyed_batch_examples`."""
    _, examples = read_keyed_batch_examples(
        file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity, num_threads,
        read_batch_size, parse_fn, name, seed,
    )  # fmt: skip
    return examples


@export("contrib.learn.read_keyed_batch_examples", "contrib.learn.io.read_keyed_batch_examples")
@_USE_DATA
def read_keyed_batch_examples(
    file_pattern: Any,
    batch_size: Any,
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    num_threads: int = 1,
    read_batch_size: Any = 1,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> tuple[Any, Any]:
    """Batches of records of files, and their keys.

    Args:
      file_pattern: a pattern of paths, or a list of them.
      batch_size: how many records a batch has.
      reader: makes a reader, such as `tf.TFRecordReader`.
      randomize_input: whether files and records are shuffled.
      num_epochs: how often all files are read; for ever if None.
      queue_capacity: how many records the queue holds.
      num_threads: how many readers there are.
      read_batch_size: how many records are read at once.
      parse_fn: called with records; gives a tensor, or tensors by name.
      name: a name scope.
      seed: of the shuffling.

    Returns:
      The keys [batch], and the records [batch], or what `parse_fn` makes of them.

    Raises:
      ValueError: if no file matches, or a number is not positive.
    """
    return _read(
        _own_queue, file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity,
        num_threads, read_batch_size, parse_fn, name, seed,
    )  # fmt: skip


@export("contrib.learn.read_keyed_batch_examples_shared_queue")
@_USE_DATA
def read_keyed_batch_examples_shared_queue(
    file_pattern: Any,
    batch_size: Any,
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    num_threads: int = 1,
    read_batch_size: Any = 1,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> tuple[Any, Any]:
    """Read like `read_keyed_batch_examples`, but workers that share a queue divide the files."""
    return _read(
        _shared_queue, file_pattern, batch_size, reader, randomize_input, num_epochs,
        queue_capacity, num_threads, read_batch_size, parse_fn, name, seed,
    )  # fmt: skip


def _own_queue(
    names: list[str], shuffle: bool, num_epochs: int | None, name: str, seed: int | None
) -> Any:
    """Return a queue of the names of files."""
    return tf.train.string_input_producer(
        tf.constant(names, name="input"), shuffle=shuffle, num_epochs=num_epochs, name=name,
        seed=seed,
    )  # fmt: skip


def _shared_queue(
    names: list[str], shuffle: bool, num_epochs: int | None, name: str, seed: int | None
) -> Any:
    """Return a queue of a single name: the remaining ones stay in a shared variable."""
    queue = tf.FIFOQueue(capacity=1, dtypes=[tf.string], shapes=[[]])
    following = seek_next(names, shuffle=shuffle, num_epochs=num_epochs, seed=seed)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(following)])
    tf.train.add_queue_runner(runner)
    return queue


def _read(
    make_queue: Callable[..., Any],
    file_pattern: Any,
    batch_size: Any,
    reader: Callable[[], Any],
    randomize_input: bool,
    num_epochs: int | None,
    queue_capacity: int,
    num_threads: int,
    read_batch_size: Any,
    parse_fn: Callable[[Any], Any] | None,
    name: str | None,
    seed: int | None,
) -> tuple[Any, Any]:
    """Batches of records and keys, of files whose names are in the queue that is made."""
    file_names = _file_names(file_pattern, randomize_input)
    _check(batch_size, queue_capacity, read_batch_size, num_threads, num_epochs)
    with tf.name_scope(name, "read_batch_examples", [file_pattern]) as scope:
        with tf.name_scope("file_name_queue") as queue_scope:
            queue = make_queue(file_names, randomize_input, num_epochs, queue_scope, seed)
        records = _records(queue, reader, num_threads, read_batch_size, parse_fn)
        settings = {
            "capacity": queue_capacity, "enqueue_many": read_batch_size > 1, "name": scope,
            "allow_smaller_final_batch": num_epochs is not None,
        }  # fmt: skip
        if randomize_input:
            left = (
                int(queue_capacity * 0.4)
                if is_tensor(batch_size)
                else max(queue_capacity - 3 * batch_size, batch_size)
            )
            batch = tf.train.shuffle_batch_join(
                records, batch_size, min_after_dequeue=left, seed=seed, **settings
            )
        else:
            batch = tf.train.batch_join(records, batch_size, **settings)
        if parse_fn and isinstance(batch, dict):
            return batch.pop(KEY_FEATURE_NAME), batch
        return batch


def _file_names(file_pattern: Any, randomize_input: bool) -> list[str]:
    patterns = file_pattern if isinstance(file_pattern, list) else [file_pattern]
    if not patterns:
        raise ValueError("No files given to dequeue_examples.")
    names = [name for pattern in patterns for name in tf.gfile.Glob(pattern)]
    if not names:
        raise ValueError(f"No files match {file_pattern}.")
    return names if randomize_input else sorted(names)


def _check(
    batch_size: Any, queue_capacity: Any, read_batch_size: Any, num_threads: Any, num_epochs: Any
) -> None:
    if not queue_capacity or queue_capacity <= 0:
        raise ValueError(f"Invalid queue_capacity {queue_capacity}.")
    if batch_size is None or not (is_tensor(batch_size) or 0 < batch_size < queue_capacity):
        raise ValueError(f"Invalid batch_size {batch_size}, with queue_capacity {queue_capacity}.")
    if read_batch_size is None or not (is_tensor(read_batch_size) or read_batch_size > 0):
        raise ValueError(f"Invalid read_batch_size {read_batch_size}.")
    if not num_threads or num_threads <= 0:
        raise ValueError(f"Invalid num_threads {num_threads}.")
    if num_epochs is not None and num_epochs <= 0:
        raise ValueError(f"Invalid num_epochs {num_epochs}.")


def _records(
    queue: Any, reader: Callable[[], Any], num_threads: int, read_batch_size: Any, parse_fn: Any
) -> list[Any]:
    """Return the records of each reader."""

    def batch_of(source: Any) -> Any:
        return source.read_up_to(queue, read_batch_size)

    def record() -> dict[str, Tensor] | tuple[Tensor, Tensor]:
        found = tf.contrib.framework.smart_cond(
            read_batch_size > 1, lambda: batch_of(reader()), lambda: reader().read(queue)
        )
        if not parse_fn:
            return tuple(found)
        keys, parsed = found[0], parse_fn(found[1])
        if not isinstance(parsed, dict):
            return keys, parsed
        parsed[KEY_FEATURE_NAME] = keys
        return parsed

    with tf.name_scope("read"):
        return [record() for _ in range(num_threads)]


@export("contrib.learn.read_keyed_batch_features", "contrib.learn.io.read_keyed_batch_features")
@_USE_DATA
def read_keyed_batch_features(
    file_pattern: Any,
    batch_size: Any,
    features: dict[str, Any],
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    reader_num_threads: int = 1,
    feature_queue_capacity: int = 100,
    num_enqueue_threads: int = 2,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    read_batch_size: Any = None,
) -> tuple[Any, dict[str, Any]]:
    """Batches of parsed Examples of files, and their keys.

    Args:
      features: what to parse, as `tf.parse_example` takes it.
      reader_num_threads: how many readers there are.
      feature_queue_capacity: how many batches the queue of parsed ones holds.
      num_enqueue_threads: how many threads parse.
      parse_fn: called with records; gives serialized Examples.
      read_batch_size: how many records are read at once; a batch by default.
      file_pattern, batch_size, ...: as of `read_keyed_batch_examples`.

    Returns:
      The keys [batch], and tensors by name.
    """
    read_batch_size = batch_size if read_batch_size is None else read_batch_size
    return _parsed(
        read_keyed_batch_examples,
        (file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity,
         reader_num_threads, read_batch_size, parse_fn),
        features, feature_queue_capacity, num_enqueue_threads, name,
    )  # fmt: skip


def _parsed(
    read_examples: Callable[..., tuple[Any, Any]],
    given: tuple[Any, ...],
    features: dict[str, Any],
    capacity: int,
    num_threads: int,
    name: str | None,
) -> tuple[Any, dict[str, Any]]:
    """Return the result of `read_examples`, parsed, and passed through a queue."""
    with tf.name_scope(name, "read_batch_features", [given[0]]) as scope:
        keys, examples = read_examples(*given, name=scope)
        return queue_parsed_features(
            tf.parse_example(examples, features), keys=keys, feature_queue_capacity=capacity,
            num_enqueue_threads=num_threads, name=scope,
        )  # fmt: skip


@export("contrib.learn.read_keyed_batch_features_shared_queue")
@_USE_DATA
def read_keyed_batch_features_shared_queue(
    file_pattern: Any,
    batch_size: Any,
    features: dict[str, Any],
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    reader_num_threads: int = 1,
    feature_queue_capacity: int = 100,
    num_queue_runners: int = 2,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Read like `read_keyed_batch_features`, but workers that share a queue divide the files."""
    return _parsed(
        read_keyed_batch_examples_shared_queue,
        (file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity,
         reader_num_threads, batch_size, parse_fn),
        features, feature_queue_capacity, num_queue_runners, name,
    )  # fmt: skip


@export("contrib.learn.read_batch_features", "contrib.learn.io.read_batch_features")
@_USE_DATA
def read_batch_features(
    file_pattern: Any,
    batch_size: Any,
    features: dict[str, Any],
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    feature_queue_capacity: int = 100,
    reader_num_threads: int = 1,
    num_enqueue_threads: int = 2,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    read_batch_size: Any = None,
) -> dict[str, Any]:
    """Batches of parsed Examples of files; see `read_keyed_batch_features`."""
    _, parsed = read_keyed_batch_features(
        file_pattern, batch_size, features, reader, randomize_input, num_epochs, queue_capacity,
        reader_num_threads, feature_queue_capacity, num_enqueue_threads, parse_fn, name,
        read_batch_size,
    )  # fmt: skip
    return parsed


@export("contrib.learn.read_batch_record_features", "contrib.learn.io.read_batch_record_features")
@_USE_DATA
def read_batch_record_features(
    file_pattern: Any,
    batch_size: Any,
    features: dict[str, Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    reader_num_threads: int = 1,
    name: str = "dequeue_record_examples",
) -> dict[str, Any]:
    """Batches of parsed Examples of TFRecord files; see `read_keyed_batch_features`."""
    return read_batch_features(
        file_pattern, batch_size, features, tf.TFRecordReader, randomize_input, num_epochs,
        queue_capacity, reader_num_threads=reader_num_threads, name=name,
    )  # fmt: skip
