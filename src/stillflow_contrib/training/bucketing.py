"""Batches of examples that are alike, each kind from a queue of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import stillflow as tf
from stillflow import errors
from stillflow.graph.arrays import Array
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import convert_n_to_tensor_or_indexed_slices
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.static_value import static_value
from stillflow.layers.utils import smart_cond
from stillflow.train.batching import (
    as_given,
    as_list,
    check_keep,
    shapes_of,
    summarize_fullness,
    types_of,
)
from stillflow.train.stored_sparse import restore_sparse, store_sparse

_CLOSED = (errors.OutOfRangeError, errors.CancelledError)
_INT32 = tf.int32.min, tf.int32.max


class _Buckets:
    """Queues of examples, one for each kind, and the queue of the batches made of them.

    `sizes` are of the batches of each kind, ints or tensors, the last perhaps `smaller`;
    `capacities` are of the queues of examples, `capacity` of that of batches.
    """

    def __init__(
        self, sizes: Sequence[Any], capacities: Sequence[int], capacity: int, smaller: bool,
        shared_name: str | None,
    ) -> None:  # fmt: skip
        self._sizes, self._capacities, self._capacity = sizes, capacities, capacity
        self._smaller, self._shared_name = smaller, shared_name

    def make(self, types: Any, shapes: Any, dynamic_pad: bool, static_size: Any) -> None:
        """Add the queues; `static_size` is that of all batches, if they have one."""
        kind = tf.PaddingFIFOQueue if dynamic_pad else tf.FIFOQueue
        shared = self._shared_name
        self._queues = [
            kind(
                capacity=capacity, dtypes=types, shapes=shapes, name=f"bucket_queue_{i}",
                shared_name=None if shared is None else f"{shared}_{i}",
            )
            for i, capacity in enumerate(self._capacities)
        ]  # fmt: skip
        batch_shapes = [
            tf.TensorShape([static_size]).concatenate(shape) for shape in self._queues[0].shapes
        ]
        self._top = tf.PaddingFIFOQueue(
            capacity=self._capacity, dtypes=[tf.int32, *types],
            shapes=[tf.TensorShape([]), *batch_shapes], shared_name=shared, name="top_queue",
        )  # fmt: skip

    def enqueue(self, which: Any, tensors: Sequence[Any], keep: Any) -> Any:
        """Put an example into the queue of its kind, if it is to be kept."""

        def into_one() -> Operation:
            puts = [
                tf.cond(tf.equal(which, i), partial(queue.enqueue, tensors), tf.no_op)
                for i, queue in enumerate(self._queues)
            ]
            return tf.group(*puts, name="group_enqueues")

        return smart_cond(keep, into_one, tf.no_op)

    def run(self, enqueue: Any, num_threads: int) -> None:
        """Has threads fill the queues, and batches go from one to the other."""
        moves = []
        for i, (queue, size) in enumerate(zip(self._queues, self._sizes, strict=True)):
            number = tf.constant(i)
            take = queue.dequeue_up_to if self._smaller else queue.dequeue_many
            batch = take(size, name=f"read_bucket_{i}")
            batch = batch if isinstance(batch, (list, tuple)) else [batch]
            moves.append(self._top.enqueue([number, *batch], name=f"enqueue_from_bucket_{i}"))
        tf.train.add_queue_runner(tf.train.QueueRunner(
            self._queues[0], moves, close_op=self._top.close(),
            cancel_op=self._top.close(cancel_pending_enqueues=True),
            queue_closed_exception_types=_CLOSED,
        ))  # fmt: skip
        close = tf.group(*(queue.close() for queue in self._queues))
        cancel = tf.group(*(queue.close(cancel_pending_enqueues=True) for queue in self._queues))
        tf.train.add_queue_runner(tf.train.QueueRunner(
            self._top, [enqueue] * num_threads, close_op=close, cancel_op=cancel,
            queue_closed_exception_types=_CLOSED,
        ))  # fmt: skip

    def summarize(self) -> None:
        """Add a summary of the batch queue's fullness; TensorFlow has it for the others too."""
        for queue in self._queues:
            tf.summary.scalar(f"bucket/{queue.name}/size", tf.cast(self._top.size(), tf.float32))
        name = f"bucket/{self._top.name}/fraction_of_{self._capacity}_full"
        summarize_fullness(name, self._top, self._capacity)

    def dequeue(self) -> tuple[Any, Any]:
        """Return the kind of the next batch, and its components."""
        which, *batch = self._top.dequeue(name="dequeue_top")
        return which, batch[0] if len(batch) == 1 else batch


def _checked_capacities(capacities: Any, capacity: int, count: int) -> Any:
    if capacities is None:
        return [capacity] * count
    if len(capacities) != count:
        raise ValueError(
            f"The list bucket_capacities ({capacities}) must have exactly num_buckets ({count}) "
            "elements."
        )
    return capacities


def _static_or_tensor(size: Any) -> Tensor | Array:
    tensor = convert_to_tensor(size, dtype=tf.int32, name="batch_size")
    known = static_value(tensor)
    return tensor if known is None else known


@export("contrib.training.bucket")
def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Batches of examples of the same bucket.

    Args:
      tensors: the components of an example, a list or dict.
      which_bucket: the number of its bucket, a scalar.
      batch_size: of the batches, or a list with one for each bucket; ints or tensors.
      num_buckets: how many buckets there are.
      num_threads: how many threads compute examples.
      capacity: of the queue of batches, and of the buckets where none is given.
      bucket_capacities: of the buckets.
      shapes: of the components; inferred by default.
      dynamic_pad: whether examples of different sizes are filled up.
      allow_smaller_final_batch: whether a last batch may be smaller.
      keep_input: whether the example counts, a scalar.
      shared_name: under which sessions share the queues.
      name: of the scope.

    Returns:
      The number of the bucket, and the components of the batch.

    Raises:
      ValueError: numbers that do not go together; shapes that cannot be inferred.
    """
    several = isinstance(batch_size, (list, tuple))
    if several and len(batch_size) != num_buckets:
        raise ValueError("If batch_size is a list it must have num_buckets elements")
    capacities = _checked_capacities(bucket_capacities, capacity, num_buckets)
    components = as_list(tensors)
    with tf.name_scope(name, "bucket", components):
        components = convert_n_to_tensor_or_indexed_slices(components)
        if not components:
            raise ValueError("Expected at least one tensor in bucket().")
        keep = check_keep(keep_input, enqueue_many=False)
        components, infos = store_sparse(components, False, keep)
        sizes = [
            _static_or_tensor(size)
            for size in (batch_size if several else [batch_size] * num_buckets)
        ]
        types = types_of([components])
        shapes = shapes_of([components], shapes, enqueue_many=False)
        which = convert_to_tensor(which_bucket, dtype=tf.int32, name="which_bucket")
        varies = allow_smaller_final_batch or several or isinstance(sizes[-1], tf.Tensor)
        buckets = _Buckets(sizes, capacities, capacity, allow_smaller_final_batch, shared_name)
        buckets.make(types, shapes, dynamic_pad, None if varies else sizes[-1])
        buckets.run(buckets.enqueue(which, components, keep), num_threads)
        buckets.summarize()
        number, batch = buckets.dequeue()
        return number, as_given(tensors, restore_sparse(batch, infos))


def _check_boundaries(boundaries: Any) -> None:
    if not isinstance(boundaries, (list, tuple)):
        raise TypeError(f"bucket_boundaries must be a list or tuple, but received: {boundaries}")
    if len(boundaries) == 0:
        raise ValueError("bucket_boundaries must not be empty")
    for pair in pairwise(boundaries):
        if not all(isinstance(boundary, int) for boundary in pair):
            wrong = "{} and {}".format(*pair)
            raise TypeError(f"bucket boundaries must be integers, but saw: {wrong}")
        if pair[1] <= pair[0]:
            wrong = "{} before {}".format(*pair)
            raise ValueError(
                f"Buckets must contain sequential increasing lengths, but saw: {wrong}"
            )


@export("contrib.training.bucket_by_sequence_length")
def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Batches of sequences of similar lengths.

    Args:
      input_length: the length of a sequence, a scalar.
      tensors: the components of an example, a list or dict.
      bucket_boundaries: increasing lengths, each the first that no longer fits a bucket; one more
        bucket takes all that are longer.
      batch_size, num_threads, capacity, bucket_capacities, shapes, dynamic_pad,
        allow_smaller_final_batch, keep_input, shared_name: as of `bucket`.
      name: of the scope.

    Returns:
      The lengths of the sequences of a batch, and its components.

    Raises:
      TypeError: boundaries that are not a list or tuple of ints.
      ValueError: boundaries that do not increase.
    """
    components = as_list(tensors)
    _check_boundaries(bucket_boundaries)
    with tf.name_scope(name, "bucket_by_sequence_length", [input_length, *components]):
        length = convert_to_tensor(input_length, dtype=tf.int32, name="input_length")
        lowest = [_INT32[0], *bucket_boundaries]
        beyond = [*bucket_boundaries, _INT32[1]]
        fits = tf.logical_and(tf.less_equal(lowest, length), tf.less(length, beyond))
        which = tf.cast(tf.reduce_min(tf.where_v2(fits)), tf.int32)
        if shapes is not None:
            shapes = [tf.TensorShape([]), *shapes]
        _, batch = bucket(
            [length, *components], which, batch_size, len(beyond), num_threads, capacity,
            bucket_capacities, shapes, dynamic_pad, allow_smaller_final_batch, keep_input,
            shared_name,
        )  # fmt: skip
        return batch[0], as_given(tensors, batch[1:])
