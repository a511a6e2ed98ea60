"""tf.train.batch, shuffle_batch and their joining and conditional forms."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.train.batching import Batches

_PADDED = "(or `padded_batch(...)` if `dynamic_pad=True`)."


@export("train.batch")
def batch(
    tensors: Any, batch_size: Any, num_threads: int = 1, capacity: int = 32,
    enqueue_many: bool = False, shapes: Any = None, dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Batch the values of a tensor or several, run after run.

    A queue runner fills a queue of them: see `tf.train.start_queue_runners`.

    Args:
      tensors: a list or dict of tensors.
      batch_size: how many elements make a batch.
      num_threads: how many threads fill the queue.
      capacity: how many elements the queue holds at most.
      enqueue_many: whether the tensors are batches of elements.
      shapes: of an element's tensors; inferred if None.
      dynamic_pad: whether elements are filled up with zeros to the largest of a batch.
      allow_smaller_final_batch: whether a last batch may be smaller.
      shared_name: under which sessions share the queue.
      name: of the result.

    Returns:
      Tensors with a new first dimension, in the structure of `tensors`.

    Example:
      >>> x, label = tf.train.batch([tf.ones([28, 28]), tf.constant(7)], batch_size=32)
      >>> x.shape.as_list(), label.shape.as_list()
      ([32, 28, 28], [32])
    """
    asked = Batches(
        batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name,
        dynamic_pad=dynamic_pad,
    )  # fmt: skip
    return asked.of(tensors, True, num_threads, name, "batch")


@export("train.maybe_batch")
def maybe_batch(
    tensors: Any, keep_input: Any, batch_size: Any, num_threads: int = 1, capacity: int = 32,
    enqueue_many: bool = False, shapes: Any = None, dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Tensor | list[Tensor]:  # fmt: skip
    """Batch the values of a tensor or several, run after run; some are left out.

    A queue runner fills a queue of them: see `tf.train.start_queue_runners`.

    Args:
      tensors: a list or dict of tensors.
      keep_input: whether an element goes in, a bool scalar, or a vector if `enqueue_many`.
      batch_size: how many elements make a batch.
      num_threads: how many threads fill the queue.
      capacity: how many elements the queue holds at most.
      enqueue_many: whether the tensors are batches of elements.
      shapes: of an element's tensors; inferred if None.
      dynamic_pad: whether elements are filled up with zeros to the largest of a batch.
      allow_smaller_final_batch: whether a last batch may be smaller.
      shared_name: under which sessions share the queue.
      name: of the result.

    Returns:
      Tensors with a new first dimension, in the structure of `tensors`.
    """
    asked = Batches(
        batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name,
        dynamic_pad=dynamic_pad,
    )  # fmt: skip
    return asked.of(tensors, keep_input, num_threads, name, "batch")


@export("train.batch_join")
def batch_join(
    tensors_list: Any, batch_size: Any, capacity: int = 32, enqueue_many: bool = False,
    shapes: Any = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Batch the values of several sets of tensors, each set computed by its own thread.

    A queue runner fills a queue of them: see `tf.train.start_queue_runners`.

    Args:
      tensors_list: a list of lists or dicts of tensors.
      batch_size: how many elements make a batch.
      capacity: how many elements the queue holds at most.
      enqueue_many: whether the tensors are batches of elements.
      shapes: of an element's tensors; inferred if None.
      dynamic_pad: whether elements are filled up with zeros to the largest of a batch.
      allow_smaller_final_batch: whether a last batch may be smaller.
      shared_name: under which sessions share the queue.
      name: of the result.

    Returns:
      Tensors with a new first dimension, in the structure of one set.
    """
    asked = Batches(
        batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name,
        dynamic_pad=dynamic_pad,
    )  # fmt: skip
    return asked.joined(tensors_list, True, name, "batch_join")


@export("train.maybe_batch_join")
def maybe_batch_join(
    tensors_list: Any, keep_input: Any, batch_size: Any, capacity: int = 32,
    enqueue_many: bool = False, shapes: Any = None, dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Batch the values of several sets of tensors, a thread for each; some are left out.

    A queue runner fills a queue of them: see `tf.train.start_queue_runners`.

    Args:
      tensors_list: a list of lists or dicts of tensors.
      keep_input: whether an element goes in, a bool scalar, or a vector if `enqueue_many`.
      batch_size: how many elements make a batch.
      capacity: how many elements the queue holds at most.
      enqueue_many: whether the tensors are batches of elements.
      shapes: of an element's tensors; inferred if None.
      dynamic_pad: whether elements are filled up with zeros to the largest of a batch.
      allow_smaller_final_batch: whether a last batch may be smaller.
      shared_name: under which sessions share the queue.
      name: of the result.

    Returns:
      Tensors with a new first dimension, in the structure of one set.
    """
    asked = Batches(
        batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name,
        dynamic_pad=dynamic_pad,
    )  # fmt: skip
    return asked.joined(tensors_list, keep_input, name, "batch_join")


@export("train.shuffle_batch")
def shuffle_batch(
    tensors: Any, batch_size: Any, capacity: int, min_after_dequeue: int, num_threads: int = 1,
    seed: int | None = None, enqueue_many: bool = False, shapes: Any = None,
    allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Tensor | list[Tensor]:  # fmt: skip
    """Batch, in random order, the values of a tensor or several, run after run.

    A queue runner fills a queue of them: see `tf.train.start_queue_runners`.

    Args:
      tensors: a list or dict of tensors.
      batch_size: how many elements make a batch.
      capacity: how many elements the queue holds at most.
      min_after_dequeue: how many stay in, so that they mix well.
      num_threads: how many threads fill the queue.
      seed: of the order; see `tf.set_random_seed`.
      enqueue_many: whether the tensors are batches of elements.
      shapes: of an element's tensors; inferred if None.
      allow_smaller_final_batch: whether a last batch may be smaller.
      shared_name: under which sessions share the queue.
      name: of the result.

    Returns:
      Tensors with a new first dimension, in the structure of `tensors`.

    Example:
      >>> pair = [tf.ones([28, 28]), tf.constant(7)]
      >>> x, label = tf.train.shuffle_batch(pair, 32, capacity=2000, min_after_dequeue=1000)
      >>> x.shape.as_list(), label.shape.as_list()
      ([32, 28, 28], [32])
    """
    asked = Batches(
        batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name,
        min_after_dequeue=min_after_dequeue, seed=seed,
    )  # fmt: skip
    return asked.of(tensors, True, num_threads, name, "shuffle_batch")


@export("train.maybe_shuffle_batch")
def maybe_shuffle_batch(
    tensors: Any, batch_size: Any, capacity: int, min_after_dequeue: int, keep_input: Any,
    num_threads: int = 1, seed: int | None = None, enqueue_many: bool = False,
    shapes: Any = None, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Batch, in random order, the values of a tensor or several; some are left out.

    A queue runner fills a queue of them: see `tf.train.start_queue_runners`.

    Args:
      tensors: a list or dict of tensors.
      batch_size: how many elements make a batch.
      capacity: how many elements the queue holds at most.
      min_after_dequeue: how many stay in, so that they mix well.
      keep_input: whether an element goes in, a bool scalar, or a vector if `enqueue_many`.
      num_threads: how many threads fill the queue.
      seed: of the order; see `tf.set_random_seed`.
      enqueue_many: whether the tensors are batches of elements.
      shapes: of an element's tensors; inferred if None.
      allow_smaller_final_batch: whether a last batch may be smaller.
      shared_name: under which sessions share the queue.
      name: of the result.

    Returns:
      Tensors with a new first dimension, in the structure of `tensors`.
    """
    asked = Batches(
        batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name,
        min_after_dequeue=min_after_dequeue, seed=seed,
    )  # fmt: skip
    return asked.of(tensors, keep_input, num_threads, name, "shuffle_batch")


@export("train.shuffle_batch_join")
def shuffle_batch_join(
    tensors_list: Any, batch_size: Any, capacity: int, min_after_dequeue: int,
    seed: int | None = None, enqueue_many: bool = False, shapes: Any = None,
    allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Batch, in random order, the values of several sets of tensors, a thread for each.

    A queue runner fills a queue of them: see `tf.train.start_queue_runners`.

    Args:
      tensors_list: a list of lists or dicts of tensors.
      batch_size: how many elements make a batch.
      capacity: how many elements the queue holds at most.
      min_after_dequeue: how many stay in, so that they mix well.
      seed: of the order; see `tf.set_random_seed`.
      enqueue_many: whether the tensors are batches of elements.
      shapes: of an element's tensors; inferred if None.
      allow_smaller_final_batch: whether a last batch may be smaller.
      shared_name: under which sessions share the queue.
      name: of the result.

    Returns:
      Tensors with a new first dimension, in the structure of one set.
    """
    asked = Batches(
        batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name,
        min_after_dequeue=min_after_dequeue, seed=seed,
    )  # fmt: skip
    return asked.joined(tensors_list, True, name, "shuffle_batch_join")


@export("train.maybe_shuffle_batch_join")
def maybe_shuffle_batch_join(
    tensors_list: Any, batch_size: Any, capacity: int, min_after_dequeue: int, keep_input: Any,
    seed: int | None = None, enqueue_many: bool = False, shapes: Any = None,
    allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> dict[str, Tensor] | list[Tensor]:  # fmt: skip
    """Batch, in random order, the values of several sets of tensors; some are left out.

    A queue runner fills a queue of them: see `tf.train.start_queue_runners`.

    Args:
      tensors_list: a list of lists or dicts of tensors.
      batch_size: how many elements make a batch.
      capacity: how many elements the queue holds at most.
      min_after_dequeue: how many stay in, so that they mix well.
      keep_input: whether an element goes in, a bool scalar, or a vector if `enqueue_many`.
      seed: of the order; see `tf.set_random_seed`.
      enqueue_many: whether the tensors are batches of elements.
      shapes: of an element's tensors; inferred if None.
      allow_smaller_final_batch: whether a last batch may be smaller.
      shared_name: under which sessions share the queue.
      name: of the result.

    Returns:
      Tensors with a new first dimension, in the structure of one set.
    """
    asked = Batches(
        batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name,
        min_after_dequeue=min_after_dequeue, seed=seed,
    )  # fmt: skip
    return asked.joined(tensors_list, keep_input, name, "shuffle_batch_join")
