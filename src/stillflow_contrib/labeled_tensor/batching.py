"""Batches of labeled tensors, by queues."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow_contrib.labeled_tensor.axes import Axes
from stillflow_contrib.labeled_tensor.core import LabeledTensor, convert_to_labeled_tensor


def _batch_axes(axes: Axes, size: int | None, enqueue_many: bool) -> Axes:
    """Return the axes of a batch, "batch" the first of them."""
    if enqueue_many:
        if not axes or next(iter(axes)) != "batch":
            raise ValueError(
                'When enqueue_many is True, input tensors must have an axis called "batch" as '
                f"their first dimension, but axes were {axes}"
            )
        axes = axes.remove("batch")
    return Axes([("batch", size), *axes.values()])


def _batched(
    labeled_tensors: Collection[Any], default_name: str, batch_fn: Callable[..., Any],
    name: str | None, options: dict[str, Any],
) -> list[LabeledTensor]:  # fmt: skip
    with tf.name_scope(name, default_name, list(labeled_tensors)) as scope:
        given = [convert_to_labeled_tensor(each) for each in labeled_tensors]
        batch = batch_fn([each.tensor for each in given], name=scope, **options)
        batches = batch if isinstance(batch, list) else [batch]
        size = None if options["allow_smaller_final_batch"] else options["batch_size"]
        return [
            LabeledTensor(tensor, _batch_axes(each.axes, size, options["enqueue_many"]))
            for tensor, each in zip(batches, given, strict=True)
        ]


@export("contrib.labeled_tensor.batch")
def batch(
    labeled_tensors: Collection[Any], batch_size: int, num_threads: int = 1, capacity: int = 32,
    enqueue_many: bool = False, allow_smaller_final_batch: bool = False, name: str | None = None,
) -> list[LabeledTensor]:  # fmt: skip
    """Batches, with an axis "batch" in front.

    Args:
      labeled_tensors: what is put into a queue.
      enqueue_many: whether they have this axis already.
      batch_size, num_threads, capacity, ...: as of `tf.train.batch`.

    Raises:
      ValueError: if they should have this axis, and do not.
    """
    options = {
        "batch_size": batch_size, "num_threads": num_threads, "capacity": capacity,
        "enqueue_many": enqueue_many, "allow_smaller_final_batch": allow_smaller_final_batch,
    }  # fmt: skip
    return _batched(labeled_tensors, "lt_batch", tf.train.batch, name, options)


@export("contrib.labeled_tensor.shuffle_batch")
def shuffle_batch(
    labeled_tensors: Collection[Any], batch_size: int, num_threads: int = 1, capacity: int = 32,
    enqueue_many: bool = False, min_after_dequeue: int = 0, seed: int | None = None,
    allow_smaller_final_batch: bool = False, name: str | None = None,
) -> list[LabeledTensor]:  # fmt: skip
    """Batches in random order; see `batch`.

    Args:
      labeled_tensors, enqueue_many: as of `batch`.
      batch_size, min_after_dequeue, ...: as of `tf.train.shuffle_batch`.
    """
    options = {
        "batch_size": batch_size, "num_threads": num_threads, "capacity": capacity,
        "enqueue_many": enqueue_many, "min_after_dequeue": min_after_dequeue, "seed": seed,
        "allow_smaller_final_batch": allow_smaller_final_batch,
    }  # fmt: skip
    return _batched(labeled_tensors, "lt_shuffle_batch", tf.train.shuffle_batch, name, options)
