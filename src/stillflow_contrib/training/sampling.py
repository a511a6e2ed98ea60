"""Batches of examples that are accepted with some probability, from queues."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import convert_n_to_tensor_or_indexed_slices
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_at_index
from stillflow.ops.control_flow.identity_and_group import with_dependencies

_TOLERANCE = 1e-6  # of the sum of probabilities
_SEEN_BEFORE = 10  # how often each class counts as seen at the start


def _same_rows(tensors: Sequence[Any], rows: Any) -> None:
    for tensor in tensors:
        shape = tensor.get_shape().with_rank_at_least(1)
        dimension_at_index(shape, 0).assert_is_compatible_with(rows)


def _one_by_one(tensors: Sequence[Any], num_threads: int, capacity: int) -> list[Any]:
    """One row of each tensor, by way of a queue."""
    batched = tf.train.batch(
        tensors, batch_size=1, num_threads=num_threads, capacity=capacity, enqueue_many=True
    )
    return [tf.squeeze(x, [0]) for x in batched]


@export("contrib.training.rejection_sample")
def rejection_sample(
    tensors: Sequence[Any],
    accept_prob_fn: Callable[[list[Any]], Any],
    batch_size: int,
    queue_threads: int = 1,
    enqueue_many: bool = False,
    prebatch_capacity: int = 16,
    prebatch_threads: int = 1,
    runtime_checks: bool = False,
    name: str | None = None,
) -> list[Any]:
    """Batches of examples, each of which was accepted with a probability of its own.

    Args:
      tensors: the components of an example; of several examples, if `enqueue_many`.
      accept_prob_fn: gives the probability for the components of one example, a scalar.
      batch_size: of the batches.
      queue_threads: how many threads fill the batches.
      enqueue_many: whether components have a dimension of examples.
      prebatch_capacity, prebatch_threads: of the queue that takes such examples apart.
      runtime_checks: whether probabilities are checked to be such.
      name: of the scope.
    """
    with tf.variable_scope(name, "rejection_sample", tensors):
        components = convert_n_to_tensor_or_indexed_slices(tensors)
        if enqueue_many:
            _same_rows(components, components[0].get_shape().with_rank_at_least(1)[0])
            components = _one_by_one(components, prebatch_threads, prebatch_capacity)
        probability = accept_prob_fn(components)
        if runtime_checks:
            checks = [
                tf.assert_less_equal(0.0, probability), tf.assert_less_equal(probability, 1.0),
            ]  # fmt: skip
            probability = tf.identity(
                with_dependencies(checks, probability), name="prob_with_checks"
            )
        batch = tf.train.maybe_batch(
            components, keep_input=tf.random_uniform([]) < probability, batch_size=batch_size,
            num_threads=queue_threads,
        )  # fmt: skip
        return [batch] if isinstance(batch, Tensor) else batch


@export("contrib.training.stratified_sample")
def stratified_sample(
    tensors: Sequence[Any],
    labels: Any,
    target_probs: Any,
    batch_size: int,
    init_probs: Any = None,
    enqueue_many: bool = False,
    queue_capacity: int = 16,
    threads_per_queue: int = 1,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Batches in which classes are as frequent as wanted.

    Args:
      tensors: the components of an example; of several examples, if `enqueue_many`.
      labels: its class, an integer; theirs, a vector, if `enqueue_many`.
      target_probs: how frequent each class is to be, a vector of known size.
      batch_size: of the batches.
      init_probs: how frequent each class is; estimated while examples pass by default.
      enqueue_many: whether components have a dimension of examples.
      queue_capacity, threads_per_queue: of the queues.
      name: of the scope.

    Returns:
      The components of a batch, and its labels.

    Raises:
      ValueError: probabilities of different sizes.
    """
    with tf.name_scope(name, "stratified_sample", [*tensors, labels]):
        components = convert_n_to_tensor_or_indexed_slices(tensors)
        labels = convert_to_tensor(labels)
        target = convert_to_tensor(target_probs, dtype=tf.float32)
        if not enqueue_many:
            components = [tf.expand_dims(tensor, 0) for tensor in components]
            labels = tf.expand_dims(labels, 0)
        if init_probs is None:
            target.get_shape().assert_is_fully_defined()
            count = target.get_shape().num_elements()
            assert count is not None
            start = estimate_data_distribution(labels, count)
        else:
            start = convert_to_tensor(init_probs, dtype=tf.float32)
        components, labels, (start, target) = verify_input(components, labels, [start, target])
        accept = _accepting(start, target)
        *values, label = _one_by_one([*components, labels], threads_per_queue, queue_capacity)
        probability = tf.gather(accept, label)
        batch = tf.train.maybe_batch(
            [*values, label], keep_input=tf.random_uniform([]) < probability,
            batch_size=batch_size, num_threads=threads_per_queue,
        )  # fmt: skip
        return batch[:-1], batch[-1]


def _accepting(start: Any, target: Any) -> Tensor:
    """Return each class's probability of acceptance; log a warning if it is small."""
    unreachable = (
        "All classes with zero initial probability must also have zero target probability: "
    )
    is_possible = tf.logical_or(tf.not_equal(start, 0), tf.equal(target, 0))
    check = tf.Assert(tf.reduce_all(is_possible), [unreachable, start, target])
    seen = with_dependencies([check], start)
    accept = calculate_acceptance_probabilities(seen, target)
    is_cheap = tf.less(tf.reduce_sum((1 - accept) * seen), 0.5)
    message = "Proportion of examples rejected by sampler is high."
    warned = partial(tf.Print, accept, [accept], message=message, first_n=10)
    return tf.cond(is_cheap, lambda: accept, warned)


def estimate_data_distribution(
    labels: Any, num_classes: int, smoothing_constant: int = _SEEN_BEFORE
) -> Tensor:
    """Return the frequency of classes among all labels so far, counted in a variable.

    `smoothing_constant` is how often each class counts as seen before.
    """
    if smoothing_constant <= 0:
        raise ValueError("smoothing_constant must be nonzero.")
    seen = tf.Variable(
        initial_value=[smoothing_constant] * num_classes, trainable=False, name="class_count",
        dtype=tf.int64,
    )  # fmt: skip
    counts = seen.assign_add(tf.reduce_sum(tf.one_hot(labels, num_classes, dtype=tf.int64), 0))
    counts += 0  # a value: the variable may change before it is read
    return tf.cast(tf.truediv(counts, tf.reduce_sum(counts)), tf.float32)


def _checked(probabilities: Any) -> Tensor:
    probabilities.get_shape().assert_is_fully_defined()
    probabilities.get_shape().assert_has_rank(1)
    total = tf.reduce_sum(probabilities)
    checks = [
        tf.assert_non_negative(probabilities),
        tf.assert_less(total, 1.0 + _TOLERANCE),
        tf.assert_less(1.0 - _TOLERANCE, total),
    ]
    return with_dependencies(checks, probabilities)


def verify_input(
    tensors: Sequence[Any], labels: Any, probabilities: Sequence[Any]
) -> tuple[list[Any], Any, list[Any]]:
    """Return the arguments, checked to go together; ValueError if known sizes do not."""
    checked = [_checked(probs) for probs in probabilities]
    count = checked[0].get_shape().num_elements()
    if any(probs.get_shape().num_elements() != count for probs in checked):
        raise ValueError("Probability parameters must have the same length.")
    labels.get_shape().assert_has_rank(1)
    _same_rows(tensors, labels.get_shape()[0])
    rows = tf.shape(labels)[0]
    some = tf.assert_positive(rows)
    labels = with_dependencies([some], labels)
    matching = [
        with_dependencies([some, tf.assert_equal(tf.shape(x)[0], rows)], x) for x in tensors
    ]
    classes = [
        tf.assert_integer(labels),
        tf.assert_non_negative(labels),
        tf.assert_less(labels, tf.cast(count, labels.dtype)),
    ]
    return matching, with_dependencies(classes, labels), checked


def calculate_acceptance_probabilities(init_probs: Any, target_probs: Any) -> Tensor:
    """Return classes' probability of acceptance, 1 for the rarest, 0 where none are wanted."""
    ratio = target_probs / init_probs
    ratio = tf.where_v2(tf.is_nan(ratio), tf.zeros_like(ratio), ratio)
    return ratio / tf.reduce_max(ratio)
