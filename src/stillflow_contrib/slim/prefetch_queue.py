"""A queue that holds batches ready while others are used."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.train.batching import summarize_fullness


@export("contrib.slim.prefetch_queue.prefetch_queue")
def prefetch_queue(
    tensors: Any,
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return a queue of tensors' values, which threads of a queue runner fill.

    Args:
      tensors: a list, or a dict; what comes out is one too.
      capacity: of the queue.
      num_threads: how many threads fill it.
      dynamic_pad: whether tensors may be of different sizes, and are filled up in batches.
      shared_name: under which sessions share the queue.
      name: of the scope.
    """
    names = sorted(tensors) if isinstance(tensors, dict) else None
    components = tensors if names is None else [tensors[key] for key in names]
    with tf.name_scope(name, "prefetch_queue", components):
        kind = tf.PaddingFIFOQueue if dynamic_pad else tf.FIFOQueue
        queue = kind(
            capacity=capacity, dtypes=[tensor.dtype for tensor in components],
            shapes=[tensor.get_shape() for tensor in components], names=names,
            shared_name=shared_name,
        )  # fmt: skip
        enqueue = queue.enqueue(tensors)
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [enqueue] * num_threads))
        summarize_fullness(f"fraction_of_{capacity}_full", queue, capacity)
        return queue
