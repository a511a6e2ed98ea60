"""Batches of segments of long sequences, whose last state is the next one's first."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow import errors
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor, SparseTensorValue
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ops.sparse.rearranging import sparse_reshape
from stillflow.ops.sparse.tensor_maps import (
    add_many_sparse_to_tensors_map,
    take_many_sparse_from_tensors_map,
)
from stillflow_contrib.training.sequence_checks import is_whole
from stillflow_contrib.training.state_saver import (
    NextQueuedSequenceBatch,
    SequenceQueueingStateSaver,
)

_SPARSE = (SparseTensor, SparseTensorValue)
_IN_SEQUENCES = "_context_in_seq_"  # sparse contexts go through the barrier as sequences
_LARGEST_MARK = 100000000
_CLOSED = (errors.OutOfRangeError, errors.CancelledError)


@export("contrib.training.batch_sequences_with_states")
def batch_sequences_with_states(
    input_key: Any,
    input_sequences: Any,
    input_context: Any,
    input_length: Any,
    initial_states: Any,
    num_unroll: Any,
    batch_size: Any,
    num_threads: int = 3,
    capacity: int = 1000,
    allow_small_batch: bool = True,
    pad: bool = True,
    make_keys_unique: bool = False,
    make_keys_unique_seed: int | None = None,
    name: str | None = None,
) -> NextQueuedSequenceBatch:
    """Batches of segments of sequences, for truncated backpropagation.

    A queue runner puts the sequences in.

    Args:
      input_key: the name of a sequence, which no other has.
      input_sequences: {name: `[steps, ...]`}, tensors or sparse tensors.
      input_context: {name: what is the same at all steps}.
      input_length: the length of the sequence; the number of steps if it is None and `pad`.
      initial_states: {name: the state before the first step}.
      num_unroll: how many steps a segment has.
      batch_size: how many segments come at once.
      num_threads: how many threads put sequences in.
      capacity: how many sequences may be waiting.
      allow_small_batch: whether the last batches may be smaller.
      pad: whether sequences are filled up to a multiple of `num_unroll`; they must be such else.
      make_keys_unique: whether a random number is added to the key.
      make_keys_unique_seed: of that.
      name: of the scope.

    Returns:
      The segments that come next; each state has to be saved in every step.
    """
    given = [*input_sequences.values(), *input_context.values(), *initial_states.values()]
    with tf.name_scope(name, "batch_sequences_with_states", given):
        if pad:
            length, input_sequences = padding(input_sequences, num_unroll)
            input_length = length if input_length is None else input_length
        elif input_sequences:
            input_sequences = {
                key: _whole_segments(key, x, num_unroll) for key, x in input_sequences.items()
            }
        move_sparse_tensor_out_context(input_context, input_sequences, num_unroll)
        stored, sparse_keys, stores = deconstruct_sparse_tensor_seq(input_sequences)
        if make_keys_unique:
            mark = tf.random_uniform(
                (), minval=0, maxval=_LARGEST_MARK, dtype=tf.int32, seed=make_keys_unique_seed
            )
            input_key = tf.string_join([input_key, tf.as_string(mark)])
        saver = SequenceQueueingStateSaver(
            batch_size, num_unroll, input_length=input_length, input_key=input_key,
            input_sequences=stored, input_context=input_context, initial_states=initial_states,
            capacity=capacity, allow_small_batch=allow_small_batch,
        )  # fmt: skip
        ready = tf.cast(saver.barrier.ready_size(), tf.float32)
        tf.summary.scalar(f"queue/{saver.barrier.name}/ready_segment_batches_", ready)
        tf.train.add_queue_runner(tf.train.QueueRunner(
            saver, [saver.prefetch_op] * num_threads, queue_closed_exception_types=_CLOSED,
        ))  # fmt: skip
        batch = saver.next_batch
        reconstruct_sparse_tensor_seq(batch.sequences, sparse_keys, stores, batch_size, num_unroll)
        move_sparse_tensor_in_context(batch.context, batch.sequences)
    return batch


def _whole_segments(key: str, value: Any, unroll: Any) -> Any:
    """Return a sequence that is checked to consist of whole segments."""
    sparse = isinstance(value, _SPARSE)
    if not sparse and not isinstance(value, Tensor):
        try:
            value = convert_to_tensor(value)
        except TypeError:
            raise TypeError(
                "Unsupported input_sequences expected Tensor or SparseTensor values, "
                f"got: {type(value)} for key {key}"
            ) from None
    length = value.dense_shape[0] if sparse else tf.shape(value)[0]
    condition = is_whole(length, length % unroll)
    message = tf.string_join([
        f"{'SparseTensor' if sparse else 'Tensor'} {key} first dimension should be a multiple of: ",
        tf.as_string(unroll), ", but saw value: ", tf.as_string(length),
        ". Consider setting pad=True.",
    ])  # fmt: skip
    with tf.control_dependencies([tf.Assert(condition, [message])]):
        name = "multiple_of_checked"
        if not sparse:
            return tf.identity(value, name=name)
        parts = (value.indices, value.values, value.dense_shape)
        return SparseTensor(*(tf.identity(part, name=name) for part in parts))


# ---- Padding


def padding(sequences: Any, num_unroll: Any) -> tuple[Any, dict[str, Any]]:
    """Fill sequences up to a multiple of a number of steps, with zeros or empty strings.

    Returns the length of the sequences, and {name: the longer sequence}.
    """
    if not isinstance(num_unroll, numbers.Integral):
        raise ValueError(f"Unsupported num_unroll expected int, got: {num_unroll}")
    if not isinstance(sequences, dict):
        raise TypeError(f"Unsupported sequences expected dict, got: {sequences}")
    for key in sequences:
        if not isinstance(key, str):
            raise TypeError(f"Unsupported sequences key expected string, got: {key}")
    if not sequences:
        return 0, {}
    given = {
        key: value if isinstance(value, _SPARSE) else convert_to_tensor(value)
        for key, value in sorted(sequences.items())
    }
    length = _common_length(given)
    unroll = tf.constant(num_unroll)
    padded = length + ((unroll - (length % unroll)) % unroll)
    return length, {key: _padded(value, padded) for key, value in given.items()}


def _common_length(sequences: dict[str, Any]) -> Tensor:
    lengths = [tf.shape(x)[0] for x in sequences.values() if isinstance(x, Tensor)]
    if not lengths:
        sparse = [x.dense_shape[0] for x in sequences.values() if isinstance(x, SparseTensor)]
        return tf.reduce_max(tf.cast(sparse, tf.int32))
    first = lengths[0]
    checks = []
    for length in lengths:
        equal = tf.equal(length, first)
        message = ["All sequence lengths must match, but received lengths: ",
                   tf.as_string(lengths)]  # fmt: skip
        checks.append(tf.Assert(equal, [tf.string_join(message)]))
    return with_dependencies(checks, first)


def _padded(value: Any, length: Any) -> Tensor | SparseTensor:
    if not isinstance(value, Tensor):
        shape = tf.concat([[tf.cast(length, tf.int64)], value.dense_shape[1:]], 0)
        return SparseTensor(indices=value.indices, values=value.values, dense_shape=shape)
    missing = [length - tf.shape(value)[0]]
    shape = tf.concat((missing, tf.shape(value)[1:]), 0)
    nothing = tf.constant("" if value.dtype == tf.string else 0, dtype=value.dtype)
    return tf.concat([value, tf.fill(dims=shape, value=nothing)], 0)


# ---- Sparse tensors on their way through the barrier


def _sparse_keys(tensors: dict[str, Any]) -> list[str]:
    return [key for key in sorted(tensors) if isinstance(tensors[key], _SPARSE)]


def move_sparse_tensor_out_context(context: Any, sequences: Any, num_unroll: Any) -> None:
    """Move sparse contexts to the sequences, where they stand at the start of each segment."""
    length = tf.constant(1)
    if sequences:
        first = next(iter(sequences.values()))
        if isinstance(first, Tensor):
            with tf.control_dependencies([first]):
                length = tf.shape(first)[0]
        else:
            length = first.dense_shape[0]
    length = tf.cast(length, dtype=tf.int64)
    for key in _sparse_keys(context):
        sequences[_IN_SEQUENCES + key] = _at_each_start(context.pop(key), length, num_unroll)


def _at_each_start(tensor: Any, length: Any, unroll: Any) -> SparseTensor:
    """Return a sparse tensor, once at the first step of every segment of a sequence."""
    count = tf.cast(length // unroll, dtype=tf.int32)
    values = tf.tile(tensor.values, tf.expand_dims(count, 0))
    shape = tf.concat([tf.expand_dims(length, 0), tensor.dense_shape], 0)
    repeated = tf.tile(tf.expand_dims(tensor.indices, 0), tf.stack([count, 1, 1]))
    entries, rank = tf.shape(tensor.indices)[0], tf.shape(tensor.indices)[1]
    starts = tf.range(start=0, limit=length, delta=unroll)
    starts = tf.expand_dims(tf.expand_dims(starts, 1), 2)
    starts = tf.tile(starts, [1, entries, 1])
    indices = tf.reshape(tf.concat([starts, repeated], 2), [entries * count, rank + 1])
    return SparseTensor(indices=indices, values=values, dense_shape=shape)


def move_sparse_tensor_in_context(context: Any, sequences: Any) -> None:
    """Move sparse contexts back from the sequences."""
    for key in [key for key in sorted(sequences) if key.startswith(_IN_SEQUENCES)]:
        tensor = sequences.pop(key)
        batch, inner = tensor.dense_shape[0], tensor.dense_shape[2:]
        at_start = SparseTensor(tensor.indices, tensor.values, tf.concat([[batch], [1], inner], 0))
        shape = tf.concat([[at_start.dense_shape[0]], at_start.dense_shape[2:]], 0)
        context[key[len(_IN_SEQUENCES) :]] = sparse_reshape(at_start, shape)


def deconstruct_sparse_tensor_seq(
    input_sequence: Any, shared_name: str | None = None
) -> tuple[Any, Any, list[Any]]:
    """Store sparse sequences in the session.

    Returns:
      The sequences, numbers in the place of sparse ones; the names of these, None if there are
      none; the operations that store them.
    """
    keys = _sparse_keys(input_sequence)
    if not keys:
        return input_sequence, None, keys
    stored = [
        add_many_sparse_to_tensors_map(input_sequence[key], shared_name=shared_name) for key in keys
    ]
    tensors = {**input_sequence, **dict(zip(keys, stored, strict=True))}
    return tensors, keys, [handle.op for handle in stored]


def reconstruct_sparse_tensor_seq(
    sequence: Any, sparse_tensor_keys: Any, tensor_op_list: Sequence[Any], batch_size: Any,
    num_unroll: Any,
) -> None:  # fmt: skip
    """Put sparse sequences `[batch, steps, ...]` in the place of the numbers that they have."""
    if not sparse_tensor_keys:
        return
    found = [
        take_many_sparse_from_tensors_map(
            sparse_map_op=store, sparse_handles=tf.reshape(sequence[key], [-1]), rank=None
        )
        for store, key in zip(tensor_op_list, sparse_tensor_keys, strict=True)
    ]
    unroll = convert_to_tensor(num_unroll, dtype=tf.int64, name="num_unroll_int64")
    for key, tensor in zip(sparse_tensor_keys, found, strict=True):
        sequence[key] = _by_segments(tensor, batch_size, unroll)


def _by_segments(tensor: SparseTensor, batch_size: Any, unroll: Any) -> SparseTensor:
    """Rows [batch * steps, ...] as [batch, steps, ...]."""
    segment = tf.cast(tf.floor(tensor.indices[:, 0] / unroll), tf.int64)
    step = tf.mod(tensor.indices[:, 0], unroll)
    columns = [tf.expand_dims(segment, 1), tf.expand_dims(step, 1), tensor.indices[:, 1:]]
    indices = tf.concat(columns, axis=1)
    sizes = [
        [tf.cast(batch_size, dtype=tf.int64)], [tf.cast(unroll, dtype=tf.int64)],
        tensor.dense_shape[1:],
    ]  # fmt: skip
    return SparseTensor(indices=indices, values=tensor.values, dense_shape=tf.concat(sizes, axis=0))
