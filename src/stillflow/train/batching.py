"""Shared parts of tf.train's batching functions: the queue, its input and its output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph import dtypes, tensor_shape
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.indexed_slices import convert_n_to_tensor_or_indexed_slices
from stillflow.graph.operation import Operation, Tensor
from stillflow.layers.utils import smart_cond
from stillflow.ops.arrays.dynamic_stitch import dynamic_partition
from stillflow.ops.control_flow.identity_and_group import no_op
from stillflow.ops.math.binary import maximum
from stillflow.ops.math.cast import cast
from stillflow.ops.queues.base import QueueBase
from stillflow.ops.queues.classes import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from stillflow.ops.summary.numbers import scalar
from stillflow.train.queue_runner import QueueRunner, add_queue_runner
from stillflow.train.stored_sparse import restore_sparse, store_sparse, store_sparse_join

# ---- Components as lists


NO_QUEUES = (
    "Input pipelines based on Queues are not supported when eager execution is enabled. Please use "
    "tf.data to ingest data into your model instead."
)


def as_list(tensors: Any) -> Any:
    if executing_eagerly():
        raise ValueError(NO_QUEUES)
    if isinstance(tensors, dict):
        return [tensors[key] for key in sorted(tensors, key=str)]
    return tensors


def _as_lists(tensors_list: Any) -> Any:
    if executing_eagerly():
        raise ValueError(NO_QUEUES)
    if not tensors_list:
        raise ValueError("Expected at least one set of tensors")
    if not isinstance(tensors_list[0], dict):
        return tensors_list
    keys = set(tensors_list[0])
    if any(set(tensors) != keys for tensors in tensors_list[1:]):
        raise ValueError("All dictionaries in tensors_list must have the same keys")
    return [as_list(tensors) for tensors in tensors_list]


def summarize_fullness(name: str, queue: QueueBase, capacity: int) -> None:
    """Add a summary of the share of a queue's capacity that is used."""
    scalar(name, cast(queue.size(), dtypes.float32) * (1.0 / capacity))


def as_given(given: Any, taken: Any) -> Any:
    """Return the dequeued components, in a dictionary if they were given in one."""
    if not isinstance(given, dict):
        return taken
    values = [taken] if len(given) == 1 else taken
    return dict(zip(sorted(given, key=str), values, strict=True))


def check_keep(keep_input: Any, enqueue_many: bool) -> Tensor:
    keep = convert_to_tensor(keep_input)
    ndims = keep.shape.ndims
    if ndims is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not enqueue_many and ndims == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if ndims > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep


def types_of(lists: Sequence[Sequence[Any]]) -> list[Any]:
    types = [tensor.dtype for tensor in lists[0]]
    for tensors in lists[1:]:
        others = [tensor.dtype for tensor in tensors]
        if others != types:
            raise TypeError(
                "Expected types to be consistent: "
                f"{', '.join(t.name for t in types)} vs. {', '.join(t.name for t in others)}."
            )
    return types


def shapes_of(lists: Sequence[Sequence[Any]], shapes: Any, enqueue_many: bool) -> Any:
    if shapes is not None:
        return shapes
    count = len(lists[0])
    for tensors in lists:
        for tensor in tensors[:count]:
            if tensor.shape.ndims is None:
                raise ValueError(f"Cannot infer Tensor's rank: {tensor}")
    columns = [[tensors[i].shape.as_list() for tensors in lists] for i in range(count)]
    return [_merged(column, enqueue_many) for column in columns]


def _merged(column: list[Any], enqueue_many: bool) -> list[int | None]:
    shapes = [tensor_shape.as_shape(shape) for shape in column]
    if enqueue_many:
        shapes = [shape.with_rank_at_least(1)[1:] for shape in shapes]
    for shape in shapes[1:]:
        shapes[0].merge_with(shape)  # raises an error for incompatible shapes
    merged: list[int | None] = shapes[0].as_list()
    return merged


# ---- Filling the queue


def _kept(tensors: Sequence[Any], keep: Any) -> list[Any]:
    """Return the rows that are to be kept."""
    choice = cast(keep, dtypes.int32)
    return [dynamic_partition(tensor, choice, num_partitions=2)[1] for tensor in tensors]


def _enqueue_op(
    queue: QueueBase, tensors: Sequence[Any], enqueue_many: bool, keep: Any
) -> Tensor | Operation:
    enqueue = queue.enqueue_many if enqueue_many else queue.enqueue
    if keep.shape.ndims == 1:
        return enqueue(_kept(tensors, keep))
    return smart_cond(keep, lambda: enqueue(tensors), no_op)


class Batches:
    """Arguments of a batching function.

    Args:
      batch_size: how many elements make a batch, an int or a tensor.
      capacity: of the queue.
      enqueue_many: whether tensors are batches of elements already.
      shapes: of the components, or None to infer them.
      allow_smaller_final_batch: whether a last batch may be smaller.
      shared_name: under which sessions share the queue.
      dynamic_pad: whether elements of different sizes are filled up.
      min_after_dequeue: how many elements stay in to be mixed; None for no shuffling.
      seed: of the shuffling.
    """

    def __init__(
        self, batch_size: Any, capacity: int, enqueue_many: bool, shapes: Any,
        allow_smaller_final_batch: bool, shared_name: str | None, dynamic_pad: bool = False,
        min_after_dequeue: int | None = None, seed: int | None = None,
    ) -> None:  # fmt: skip
        self.batch_size = batch_size
        self.capacity = capacity
        self.enqueue_many = enqueue_many
        self.shapes = shapes
        self.smaller = allow_smaller_final_batch
        self.shared_name = shared_name
        self.dynamic_pad = dynamic_pad
        self.reserved = min_after_dequeue
        self.seed = seed

    def _queue(self, lists: Sequence[Sequence[Any]]) -> QueueBase:
        types, shapes = types_of(lists), shapes_of(lists, self.shapes, self.enqueue_many)
        if self.reserved is not None:
            return RandomShuffleQueue(
                capacity=self.capacity, min_after_dequeue=self.reserved, seed=self.seed,
                dtypes=types, shapes=shapes, shared_name=self.shared_name,
            )  # fmt: skip
        kind = PaddingFIFOQueue if self.dynamic_pad else FIFOQueue
        return kind(
            capacity=self.capacity, dtypes=types, shapes=shapes, shared_name=self.shared_name
        )

    def _summarize(self, queue: QueueBase) -> None:
        """Add a summary of the queue's fullness."""
        if self.reserved is None:
            summarize_fullness(f"fraction_of_{self.capacity}_full", queue, self.capacity)
            return
        room = self.capacity - self.reserved
        over = maximum(0, queue.size() - self.reserved)
        scalar(
            f"fraction_over_{self.reserved}_of_{room}_full",
            cast(over, dtypes.float32) * (1.0 / room),
        )

    def _taken(self, queue: QueueBase, infos: Any, name: str) -> Any:
        self._summarize(queue)
        take = queue.dequeue_up_to if self.smaller else queue.dequeue_many
        return restore_sparse(take(self.batch_size, name=name), infos)

    def _check(self) -> None:
        if self.reserved is not None and self.capacity <= self.reserved:
            raise ValueError(
                f"capacity {self.capacity} must be bigger than min_after_dequeue {self.reserved}."
            )

    def of(self, tensors: Any, keep_input: Any, num_threads: int, name: Any, scope: str) -> Any:
        """Batches of one set of components, which `num_threads` threads compute."""
        components = as_list(tensors)
        with name_scope(name, scope, [*components, keep_input]) as full_name:
            self._check()
            components = convert_n_to_tensor_or_indexed_slices(components)
            if not components:
                raise ValueError("Expected at least one tensor in batch().")
            keep = check_keep(keep_input, self.enqueue_many)
            stored, infos = store_sparse(components, self.enqueue_many, keep)
            queue = self._queue([stored])
            enqueue = [_enqueue_op(queue, stored, self.enqueue_many, keep)] * num_threads
            add_queue_runner(QueueRunner(queue, enqueue))
            return as_given(tensors, self._taken(queue, infos, full_name))

    def joined(
        self, tensors_list: Any, keep_input: Any, name: Any, scope: str
    ) -> dict[str, Tensor] | list[Tensor]:
        """Batches of several sets of components, each computed by a thread of its own."""
        lists = _as_lists(tensors_list)
        flat = [tensor for tensors in lists for tensor in tensors]
        with name_scope(name, scope, [*flat, keep_input]) as full_name:
            lists = [convert_n_to_tensor_or_indexed_slices(tensors) for tensors in lists]
            if not lists:
                raise ValueError("Expected at least one input in batch_join().")
            keep = check_keep(keep_input, self.enqueue_many)
            stored, infos = store_sparse_join(lists, self.enqueue_many, keep)
            queue = self._queue(stored)
            enqueue = [_enqueue_op(queue, tensors, self.enqueue_many, keep) for tensors in stored]
            add_queue_runner(QueueRunner(queue, enqueue))
            return as_given(tensors_list[0], self._taken(queue, infos, full_name))
