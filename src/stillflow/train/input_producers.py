"""tf.train.string_input_producer and the like: queues over the elements of a tensor."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.indexed_slices import convert_n_to_tensor_or_indexed_slices
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.sequences import range as range_of
from stillflow.ops.arrays.shape import shape, size
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.debugging.asserts import Assert
from stillflow.ops.math.comparison import greater
from stillflow.ops.queues.classes import FIFOQueue
from stillflow.ops.random.shuffle import random_shuffle
from stillflow.train.batching import NO_QUEUES, summarize_fullness
from stillflow.train.queue_runner import QueueRunner, add_queue_runner
from stillflow.variables.base import Variable

_SHUFFLED = "shuffle(tf.shape(input_tensor, out_type=tf.int64)[0]).repeat(num_epochs)`. "
_UNSHUFFLED = "If `shuffle=False`, omit the `.shuffle(...)`."


@export("train.limit_epochs")
def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Return a tensor that can be computed only so many times; then it raises `OutOfRangeError`.

    The count is a local variable: run `tf.local_variables_initializer()` first.

    Args:
      tensor: any tensor.
      num_epochs: how many times; without limit if None.
      name: of the result.

    Raises:
      ValueError: if `num_epochs` is not positive.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        zero = constant(0, dtype=dtypes.int64)
        epochs: Any = Variable(
            zero, name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES]
        )
        counter = epochs.count_up_to(num_epochs)
        with control_dependencies([counter]):
            return identity(tensor, name=scope)


def _row_shape(rows: Tensor, given: Any) -> TensorShape:
    shape_of_row = rows.shape[1:].merge_with(given)
    if shape_of_row.is_fully_defined():
        return shape_of_row
    raise ValueError(
        "Either `input_tensor` must have a fully defined shape or `element_shape` must be specified"
    )


@export("train.input_producer")
def input_producer(
    input_tensor: Any, element_shape: Any = None, num_epochs: int | None = None,
    shuffle: bool = True, seed: int | None = None, capacity: int = 32,
    shared_name: str | None = None, summary_name: str | None = None, name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:  # fmt: skip
    """Return a queue that a queue runner fills with the rows of a tensor, again and again.

    Args:
      input_tensor: the rows.
      element_shape: the shape of a row, where the tensor does not know it.
      num_epochs: how many times the rows are put in; without end if None.
      shuffle: whether their order is another one each time.
      seed: of the order; see `tf.set_random_seed`.
      capacity: of the queue.
      shared_name: under which sessions share the queue.
      summary_name: of a summary of how full the queue is, or None for no summary.
      name: of the queue.
      cancel_op: what the queue runner runs when it is to stop.

    Raises:
      ValueError: if the shape of a row is not known.
      RuntimeError: where operations run when they are called.
    """
    if executing_eagerly():
        raise RuntimeError(NO_QUEUES)
    with name_scope(name, "input_producer", [input_tensor]):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        shapes = [_row_shape(rows, element_shape)]
        ordered = random_shuffle(rows, seed=seed) if shuffle else rows
        repeated = limit_epochs(ordered, num_epochs)
        queue = FIFOQueue(
            capacity, [rows.dtype.base_dtype], shapes, shared_name=shared_name,
            name=name,  # type: ignore[arg-type]
        )  # fmt: skip
        runner = QueueRunner(queue, [queue.enqueue_many([repeated])], cancel_op=cancel_op)
        add_queue_runner(runner)
        if summary_name is not None:
            summarize_fullness(summary_name, queue, capacity)
    return queue


@export("train.string_input_producer")
def string_input_producer(
    string_tensor: Any, num_epochs: int | None = None, shuffle: bool = True,
    seed: int | None = None, capacity: int = 32, shared_name: str | None = None,
    name: str | None = None, cancel_op: Any = None,
) -> FIFOQueue:  # fmt: skip
    """Return a queue of strings, file names most often; see `input_producer`.

    Args:
      string_tensor: the strings, a vector.
      num_epochs: how many times they are put in; without end if None.
      shuffle: whether their order is another one each time.
      seed: of the order.
      capacity: of the queue.
      shared_name: under which sessions share the queue.
      name: of the queue.
      cancel_op: what the queue runner runs when it is to stop.

    Raises:
      ValueError: if `string_tensor` is an empty list.

    Example:
      >>> queue = tf.train.string_input_producer(["a.txt", "b.txt"], shuffle=False)
      >>> names = queue.dequeue_many(3)
      >>> with tf.train.MonitoredSession() as sess: print(sess.run(names))
      [b'a.txt' b'b.txt' b'a.txt']
    """
    message = "string_input_producer requires a non-null input tensor"
    if not isinstance(string_tensor, (Tensor, Variable)) and not len(string_tensor):
        raise ValueError(message)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        strings = convert_to_tensor(string_tensor, dtype=dtypes.string)
        with control_dependencies([Assert(greater(size(strings), 0), [message])]):
            strings = identity(strings)
        return input_producer(
            strings, element_shape=[], num_epochs=num_epochs, shuffle=shuffle, seed=seed,
            capacity=capacity, shared_name=shared_name, name=scope,
            summary_name=f"fraction_of_{capacity}_full", cancel_op=cancel_op,
        )  # fmt: skip


@export("train.range_input_producer")
def range_input_producer(
    limit: Any, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None,
    capacity: int = 32, shared_name: str | None = None, name: str | None = None,
) -> FIFOQueue:  # fmt: skip
    """Return a queue of the integers from 0 up to, not including, `limit`; see `input_producer`."""
    with name_scope(name, "input_producer", [limit]) as scope:
        return input_producer(
            range_of(limit), [], num_epochs, shuffle, seed, capacity, shared_name,
            f"fraction_of_{capacity}_full", scope,
        )  # fmt: skip


@export("train.slice_input_producer")
def slice_input_producer(
    tensor_list: Any, num_epochs: int | None = None, shuffle: bool = True,
    seed: int | None = None, capacity: int = 32, shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:  # fmt: skip
    """One row of each of some tensors, another one at each run; see `input_producer`.

    Args:
      tensor_list: tensors with as many rows.
      num_epochs: how many times each row is given; without end if None.
      shuffle: whether their order is another one each time.
      seed: of the order.
      capacity: of the queue of row numbers.
      shared_name: under which sessions share the queue.
      name: of the scope.

    Raises:
      ValueError: if there are no tensors.
    """
    with name_scope(name, "input_producer", tensor_list):
        tensors = convert_n_to_tensor_or_indexed_slices(tensor_list)
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        queue = range_input_producer(
            shape(tensors[0])[0], num_epochs=num_epochs, shuffle=shuffle, seed=seed,
            capacity=capacity, shared_name=shared_name,
        )  # fmt: skip
        index = queue.dequeue()
        return [gather(tensor, index) for tensor in tensors]
