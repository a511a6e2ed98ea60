"""Long sequences in segments: a barrier keeps those that wait, and the state between them."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.api import colocate_with, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.queues.barrier import Barrier
from stillflow_contrib.training.sequence_checks import (
    check_dimensions,
    check_multiple_of,
    check_rank,
    check_shape,
)

# The barrier's parts of every segment, before its own sequences, contexts and states.
_FIXED = ("length", "total_length", "next_key", "sequence", "sequence_count")
_TOKEN = 21051976  # content of the queue that counts sequences; never read


def _check_names(what: str, names: Any) -> None:
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{what} must be a string: {name}" if what == "state name"
                            else f"{what} must be string: {name}")  # fmt: skip
        if ":" in name:
            raise ValueError(f"{what} may not have a colon: '{name}'")


class SequenceInputs:
    """Description of one sequence, as tensors.

    Args:
      length: of the sequence.
      key: its name.
      sequences: {name: steps}.
      context: {name: what is the same at all steps}.

    Raises:
      TypeError: no dicts, or other names than strings.
      ValueError: no sequence, or a colon in a name.
    """

    def __init__(self, length: Any, key: Any, sequences: Any, context: Any) -> None:
        self.length = convert_to_tensor(length, name="length")
        self.key = convert_to_tensor(key, name="key")
        if not isinstance(sequences, dict):
            raise TypeError("sequences must be a dict")
        if not isinstance(context, dict):
            raise TypeError("context must be a dict")
        if not sequences:
            raise ValueError("must have at least one sequence tensor")
        _check_names("sequence key", sequences)
        _check_names("context key", context)
        self.sequences, self.context = (
            {name: convert_to_tensor(value, name=f"{kind}_{name}") for name, value in of.items()}
            for kind, of in (("sequence", sequences), ("context", context))
        )


def _check_defined(label: str, tensors: dict[str, Any], first: int = 0) -> None:
    for name, tensor in tensors.items():
        if not tensor.get_shape()[first:].is_fully_defined():
            ignoring = "(ignoring first dimension)" if first else ""
            raise ValueError(
                f"Shape for {label} {name} is not fully defined {ignoring}: {tensor.get_shape()}"
            )


@export("contrib.training.NextQueuedSequenceBatch")
class NextQueuedSequenceBatch:
    """The segments that come next, and where their states go.

    Args:
      state_saver: what they come from.
    """

    def __init__(self, state_saver: SequenceQueueingStateSaver) -> None:
        self._state_saver = state_saver
        self._received = state_saver.received

    @property
    def total_length(self) -> Tensor:
        """The lengths of the whole sequences, `[batch]`."""
        return self._received.of("total_length")

    @property
    def length(self) -> Any:
        """The lengths of the segments without padding, `[batch]`."""
        return self._received.of("length")

    @property
    def batch_size(self) -> Any:
        """The number of segments."""
        return self._received.batch_size

    @property
    def insertion_index(self) -> Any:
        """When each segment was put in, `[batch]`."""
        return self._received.indices

    @property
    def key(self) -> Any:
        """The names of the segments, `[batch]`."""
        return self._received.keys

    @property
    def next_key(self) -> Tensor:
        """The names of the segments that follow, `[batch]`; "STOP:" and a key where none does."""
        return self._received.of("next_key")

    @property
    def sequence(self) -> Tensor:
        """The number of each segment in its sequence, `[batch]`."""
        return self._received.of("sequence")

    @property
    def sequence_count(self) -> Tensor:
        """The number of segments of each sequence, `[batch]`."""
        return self._received.of("sequence_count")

    @property
    def context(self) -> dict[str, Any]:
        """{name: `[batch, ...]`}."""
        return self._received.context

    @property
    def sequences(self) -> dict[str, Any]:
        """{name: `[batch, steps of a segment, ...]`}."""
        return self._received.sequences

    def state(self, state_name: str) -> Any:
        """Return the states at the start of the segments, `[batch, ...]`."""
        return self._received.states[state_name]

    def save_state(self, state_name: str, value: Any, name: str | None = None) -> Operation:
        """Keep states for the segments that follow.

        Args:
          state_name: which state.
          value: of the shape of `state(state_name)`.
          name: of the scope.

        Raises:
          KeyError: there is no such state.
        """
        received, saver = self._received, self._state_saver
        if state_name not in received.states:
            raise KeyError(f"state was not declared: {state_name}")
        scope = tf.name_scope(name, "InputQueueingStateSaver_SaveState", values=[value])
        with scope, colocate_with(saver.capacity_queue.queue_ref):
            going_on = tf.reshape(tf.where_v2(tf.logical_not(received.is_done)), [-1])
            keys = tf.gather(self.next_key, going_on)
            given = tf.identity(value, name=f"convert_{state_name}")
            given = check_shape(given, tf.shape(received.states[state_name]))
            kept = tf.gather(given, going_on)
            return saver.insert("state", state_name, keys, kept, f"BarrierInsertState_{state_name}")


class _Received:
    """Elements taken from the barrier: indices, keys, and values by name."""

    def __init__(self, saver: SequenceQueueingStateSaver, taken: Any) -> None:
        self.indices, self.keys, values = taken
        self._values = dict(zip(saver.names, values, strict=True))
        self.context = self._all("context")
        self.sequences = self._all("sequence")
        self.batch_size = tf.squeeze(tf.shape(self.of("length")))
        self.is_done = self.of("sequence") + 1 >= self.of("sequence_count")
        finished = tf.reduce_sum(tf.cast(self.is_done, tf.int32))
        with tf.control_dependencies([saver.capacity_queue.dequeue_many(finished)]):
            states = self._all("state")
            self.states = {name: tf.identity(value) for name, value in states.items()}

    def of(self, name: str) -> Tensor:
        return self._values[f"__{name}"]

    def _all(self, kind: str) -> dict[str, Any]:
        prefix = f"__{kind}__"
        return {
            name.removeprefix(prefix): value
            for name, value in self._values.items() if name.startswith(prefix)
        }  # fmt: skip


@export("contrib.training.SequenceQueueingStateSaver")
class SequenceQueueingStateSaver:
    """Splitter of sequences into batches of segments with their states.

    A segment comes once the one before it has saved its state.

    Args:
      batch_size: how many segments come at once.
      num_unroll: how many steps a segment has.
      input_length: the length of a sequence without padding, int32.
      input_key: its name, which no other sequence has.
      input_sequences: {name: `[padded length, ...]`}, a multiple of `num_unroll`.
      input_context: {name: what is the same at all steps}.
      initial_states: {name: the state before the first step}.
      capacity: how many sequences may be waiting.
      allow_small_batch: whether a batch may be smaller once the saver is closed.
      name: of the scope.

    Raises:
      TypeError: arguments of another kind.
      ValueError: shapes that are not known, sizes or names that cannot be.
    """

    def __init__(
        self, batch_size: Any, num_unroll: Any, input_length: Any, input_key: Any,
        input_sequences: Any, input_context: Any, initial_states: Any, capacity: Any = None,
        allow_small_batch: bool = False, name: str | None = None,
    ) -> None:  # fmt: skip
        input_key = _within_capacity(capacity, batch_size, input_key)
        self._batch_size, self._num_unroll = batch_size, num_unroll
        self._allow_small_batch = allow_small_batch
        self.capacity_queue = tf.FIFOQueue(capacity=capacity, dtypes=[tf.int32], shapes=[[]])
        with colocate_with(self.capacity_queue.queue_ref):
            _check_states(initial_states)
            values = [input_length, input_key, *input_sequences.values(), *input_context.values()]
            with tf.name_scope(name, "InputQueueingStateSaver", values) as self._name:
                inputs = SequenceInputs(input_length, input_key, input_sequences, input_context)
                self._prepare(inputs, initial_states)
                self._make_barrier()
        self._prefetch_op: Any = None
        self._next_batch: Any = None

    def _prepare(self, inputs: SequenceInputs, states: dict[str, Any]) -> None:
        """Sorts the inputs by name, and checks them."""
        states = {k: convert_to_tensor(value, name=f"state_{k}") for k, value in states.items()}
        _check_defined("state", states)
        _check_defined("context", inputs.context)
        _check_defined("sequence", inputs.sequences, first=1)
        sequences, self._context, self._states = (
            dict(sorted(tensors.items())) for tensors in (inputs.sequences, inputs.context, states)
        )
        length, self._key = check_rank(inputs.length, 0), check_rank(inputs.key, 0)
        for label, tensor, dtype in (("length", length, tf.int32), ("key", self._key, tf.string)):
            if tensor.dtype != dtype:
                raise TypeError(f"{label} dtype must be {dtype.name}, but received: {tensor.dtype}")
        padded = tf.identity(tf.shape(next(iter(sequences.values())))[0], name="padded_length")
        self._padded_length = padded = check_multiple_of(padded, self._num_unroll)
        self._sequences = {
            k: check_dimensions(value, [0], [padded], debug_prefix=f"sorted_sequences_{k}")
            for k, value in sequences.items()
        }
        fits = tf.Assert(
            tf.less_equal(length, padded),
            ["Input length should be <= than length from sequences:", length, " vs. ", padded],
        )
        with tf.control_dependencies([fits]):
            self._length = tf.identity(length)

    def _make_barrier(self) -> None:
        kinds = {"sequence": self._sequences, "context": self._context, "state": self._states}
        self.names = [
            *(f"__{name}" for name in _FIXED),
            *(f"__{kind}__{name}" for kind, tensors in kinds.items() for name in tensors),
        ]
        types = [tf.int32, tf.int32, tf.string, tf.int32, tf.int32]
        shapes: list[Any] = [()] * len(_FIXED)
        for kind, tensors in kinds.items():
            for tensor in tensors.values():
                types.append(tensor.dtype)
                sizes = tensor.get_shape().as_list()
                shapes.append([self._num_unroll, *sizes[1:]] if kind == "sequence" else sizes)
        self._barrier = Barrier(types=types, shapes=shapes)

    def insert(self, kind: str, item: str, keys: Any, values: Any, name: str) -> Operation:
        """Put values of segments into the barrier; items of the fixed kind have none."""
        place = self.names.index(f"__{kind}__{item}" if item else f"__{kind}")
        return self._barrier.insert_many(place, keys, values, name=name)

    @property
    def name(self) -> str:
        """The name of the scope."""
        return self._name

    @property
    def barrier(self) -> Barrier:
        """The barrier."""
        return self._barrier

    @property
    def batch_size(self) -> Any:
        """The number of segments per batch."""
        return self._batch_size

    @property
    def num_unroll(self) -> int:
        """The number of steps of a segment."""
        return self._num_unroll

    def _scope(self) -> name_scope:
        return tf.name_scope(self._name, values=[self._barrier.barrier_ref])

    @property
    def prefetch_op(self) -> Operation:
        """Puts a sequence in; threads run it again and again."""
        if self._prefetch_op is None:
            with tf.name_scope(None), self._scope():
                self._prefetch_op = self._make_prefetch_op()
        return self._prefetch_op

    @property
    def next_batch(self) -> NextQueuedSequenceBatch:
        """The next segments; dequeued once in every step that uses them."""
        self.prefetch_op  # noqa: B018  (is made first)
        if self._next_batch is None:
            with tf.name_scope(None), self._scope():
                taken = self._barrier.take_many(
                    self._batch_size, self._allow_small_batch, name="BarrierTakeMany"
                )
                self.received = _Received(self, taken)
                self._next_batch = NextQueuedSequenceBatch(self)
        return self._next_batch

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Return an operation that closes the barrier and the queue.

        Segments in them still come.
        """
        with tf.name_scope(name, "SQSSClose", [self._prefetch_op]) as scope:
            barrier = self._barrier.close(cancel_pending_enqueues, "BarrierClose")
            queue = self.capacity_queue.close(cancel_pending_enqueues, "FIFOClose")
            return tf.group(barrier, queue, name=scope)

    def _make_prefetch_op(self) -> Operation:
        unroll = self._num_unroll
        count = tf.div(self._padded_length, unroll)
        ones = tf.ones(tf.expand_dims(count, 0), dtype=tf.int32)
        numbers = tf.range(count)
        lengths = tf.maximum(0, self._length - unroll * numbers)
        lengths = tf.minimum(unroll, lengths)
        total_lengths, counts = self._length * ones, count * ones
        keys, next_keys = self._segment_keys(numbers, count)
        segments = {name: self._segments(name, x, count) for name, x in self._sequences.items()}
        contexts = {name: _repeated(name, x, count) for name, x in self._context.items()}
        first = [
            self.insert(kind, "", keys, values, f"BarrierInsert{label}")
            for kind, label, values in (
                ("sequence", "Sequence", numbers), ("sequence_count", "SequenceCount", counts),
                ("next_key", "NextKey", next_keys), ("length", "Length", lengths),
                ("total_length", "TotalLength", total_lengths),
            )
        ]  # fmt: skip
        of_context = [
            self.insert("context", name, keys, value, f"BarrierInsertContext_{name}")
            for name, value in contexts.items()
        ]
        of_sequences = [
            self.insert("sequence", name, keys, value, f"BarrierInsertSequences_{name}")
            for name, value in segments.items()
        ]
        token = self.capacity_queue.enqueue((_TOKEN,))
        # A sequence starts by its first state, so that comes when there is room for it.
        with tf.control_dependencies([first[0], token]):
            of_states = [
                self.insert("state", name, tf.stack([keys[0]]), tf.stack([value]),
                            f"BarrierInitialInsertState_{name}")
                for name, value in self._states.items()
            ]  # fmt: skip
        inserts = [token, *first, *of_states, *of_context, *of_sequences]
        return tf.group(*inserts, name="StateSaverPrefetchGroup")

    def _segment_keys(self, numbers: Any, count: Any) -> tuple[Any, Any]:
        """Return the names of a sequence's segments, and of those that follow them."""
        parts = [
            tf.as_string(numbers, width=5, fill="0"), "_of_",
            tf.as_string(count, width=5, fill="0"), ":", self._key,
        ]  # fmt: skip
        keys = tf.string_join(parts, name="StringJoinCurrentKeys")
        following = tf.slice(keys, [1], [-1])
        stop = tf.expand_dims(tf.string_join(["STOP:", self._key], name="StringJoinStop"), 0)
        return keys, tf.concat([following, stop], 0, name="concat_next_keys")

    def _segments(self, name: str, sequence: Tensor, count: Any) -> Tensor:
        sizes = sequence.get_shape().as_list()[1:]
        leading = [tf.expand_dims(count, 0), tf.expand_dims(self._num_unroll, 0)]
        shape = tf.concat([*leading, sizes], 0, name=f"concat_sequences_{name}")
        segments = tf.reshape(sequence, shape, name=f"reshape_sequences_{name}")
        return check_dimensions(
            segments, list(range(len(sizes) + 2)), [count, self._num_unroll, *sizes],
            debug_prefix=f"reshaped_sequences_{name}",
        )  # fmt: skip


def _repeated(name: str, context: Tensor, count: Any) -> Tensor:
    """Return the context of a sequence once for each of its segments."""
    sizes = context.get_shape().as_list()
    rows = tf.expand_dims(context, 0)
    times = [tf.expand_dims(count, 0), [1] * len(sizes)]
    times = tf.concat(times, 0, name=f"concat_context_{name}")
    return check_dimensions(
        tf.tile(rows, times, name=f"tile_context_{name}"), list(range(len(sizes) + 1)),
        [count, *sizes], debug_prefix=f"expanded_context_{name}",
    )  # fmt: skip


def _within_capacity(capacity: Any, batch_size: Any, key: Any) -> Tensor:
    """Return the key, once the capacity was found to be large enough for a batch."""
    if capacity is not None and isinstance(batch_size, Tensor):
        enough = tf.assert_greater_equal(
            tf.cast(capacity, dtype=tf.int64), tf.cast(batch_size, dtype=tf.int64),
            message="capacity needs to be >= batch_size.",
        )  # fmt: skip
        with tf.control_dependencies([enough]):
            return tf.identity(key)
    if capacity is not None and capacity < batch_size:
        raise ValueError(f"capacity {capacity} needs to be >= batch_size {batch_size}")
    return key


def _check_states(states: Any) -> None:
    if not isinstance(states, dict):
        raise TypeError("initial_states must be a dictionary")
    if not states:
        raise ValueError(
            "initial_states may not be empty: at least one state variable is required to properly "
            "enqueue split sequences to run in separate iterations"
        )
    _check_names("state name", states)
