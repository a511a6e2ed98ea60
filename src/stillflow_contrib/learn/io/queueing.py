"""Batches of parsed features through a queue."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.train.batching import summarize_fullness


@export("contrib.learn.io.queue_parsed_features")
def queue_parsed_features(
    parsed_features: dict[str, Any],
    keys: Any = None,
    feature_queue_capacity: int = 100,
    num_enqueue_threads: int = 2,
    name: str | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Put batches into a queue, so that threads parse while a model is trained.

    Args:
      parsed_features: tensors and SparseTensors by name.
      keys: [batch], or None.
      feature_queue_capacity: how many batches the queue holds.
      num_enqueue_threads: how many threads fill it.
      name: a name scope.

    Returns:
      The keys and the features of a batch.
    """
    tensors = list(parsed_features.values())
    if keys is not None:
        tensors.append(keys)
    with tf.name_scope(name, "queue_parsed_features", tensors):
        parts = []
        for key in sorted(parsed_features):
            parts.extend(_parts(parsed_features[key]))
        if keys is not None:
            parts.append(keys)
        queue = tf.FIFOQueue(feature_queue_capacity, [part.dtype for part in parts])
        name = f"queue/parsed_features/{queue.name}/fraction_of_{feature_queue_capacity}_full"
        summarize_fullness(name, queue, feature_queue_capacity)
        tf.train.add_queue_runner(tf.train.QueueRunner(
            queue, [queue.enqueue(parts) for _ in range(num_enqueue_threads)],
            queue_closed_exception_types=(tf.errors.OutOfRangeError, tf.errors.CancelledError),
        ))  # fmt: skip
        taken = queue.dequeue()
        taken = taken if isinstance(taken, list) else [taken]
        for out, part in zip(taken, parts):
            out.set_shape(part.get_shape())
        return _put_together(taken, parsed_features, keys is not None)


def _parts(tensor: Any) -> list[Any]:
    if isinstance(tensor, tf.SparseTensor):
        return [tensor.indices, tensor.values, tensor.dense_shape]
    return [tensor]


def _put_together(parts: list[Any], like: dict[str, Any], keyed: bool) -> tuple[Any, Any]:
    rest = iter(parts)
    features = {
        key: tf.SparseTensor(next(rest), next(rest), next(rest))
        if isinstance(like[key], tf.SparseTensor)
        else next(rest)
        for key in sorted(like)
    }
    return next(rest) if keyed else None, features
