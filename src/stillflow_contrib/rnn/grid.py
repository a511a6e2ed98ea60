"""LSTM cells over time and frequency: `GridLSTMCell` and its relative of both directions."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_value
from stillflow.nn.rnn_cell.base import RNNCell, warn_of_joined_state
from stillflow_contrib.rnn.coupled import sharded_variable


class _Memory:
    """The memory along one of the two axes.

    `peepholes` are two weights for each gate that has them, for the memories along frequency and
    time. `forget_bias` is added to the gate that forgets, unless it is the input gate's complement;
    `clip` is None or how large the memory may become.
    """

    def __init__(
        self, kernel: Any, bias: Any, peepholes: dict[str, tuple[Any, Any]], forget_bias: float,
        clip: float | None,
    ) -> None:  # fmt: skip
        self._kernel, self._bias, self._peepholes = kernel, bias, peepholes
        self._forget_bias, self._clip = forget_bias, clip

    def gates(self, inputs: Any, coupled: bool) -> dict[str, Any]:
        """Return the gates before their activations, by name."""
        names = "ijo" if coupled else "ijfo"
        made = tf.nn.bias_add(tf.matmul(inputs, self._kernel), self._bias)
        split = tf.split(value=made, num_or_size_splits=len(names), axis=1)
        return dict(zip(names, split, strict=True))

    def next(self, gates: dict[str, Any], previous: Any, of_freq: Any, of_time: Any) -> Any:
        """Return the memory after a step; the memories before are those of frequency and time."""
        enter = self._opened("i", gates["i"], of_freq, of_time)
        if "f" in gates:
            keep = self._opened("f", gates["f"] + self._forget_bias, of_freq, of_time)
        else:
            keep = 1.0 - enter
        held = keep * previous + enter * tf.tanh(gates["j"])
        return held if self._clip is None else tf.clip_by_value(held, -self._clip, self._clip)

    def shown(self, gates: dict[str, Any], held: Any, of_freq: Any, of_time: Any) -> Tensor:
        """Return the output for the memory."""
        return self._opened("o", gates["o"], of_freq, of_time) * tf.tanh(held)

    def _opened(self, name: str, gate: Any, of_freq: Any, of_time: Any) -> Tensor:
        if name in self._peepholes:
            by_freq, by_time = self._peepholes[name]
            gate = gate + by_freq * of_freq + by_time * of_time
        return tf.sigmoid(gate)


@export("contrib.rnn.GridLSTMCell")
class GridLSTMCell(RNNCell):
    """An LSTM with memories along time and frequency (Li et al., 2016).

    The input is cut into pieces along the frequency, each of which has a memory of its own.

    Args:
      num_units: the size of the memories.
      use_peepholes: whether gates see the memories.
      share_time_frequency_weights: whether both axes have the same weights.
      cell_clip: how large memories may become, or None.
      initializer: not used, as in TF.
      num_unit_shards: into how many variables kernels are cut.
      forget_bias: added to the gates that forget.
      feature_size: the length of a piece.
      frequency_skip: how far pieces are apart.
      num_frequency_blocks: how many pieces there are, in a list: one number for each block.
      start_freqindex_list, end_freqindex_list: where blocks begin and end; one block by default.
      couple_input_forget_gates: whether what does not enter is kept.
      state_is_tuple: whether the state is a named tuple rather than one tensor.
      reuse: whether the variables exist already.

    Raises:
      ValueError: if `num_frequency_blocks` is missing.
    """

    _directions: tuple[str, ...] = ("",)

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None,
        start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None,
        couple_input_forget_gates: bool = False,
        state_is_tuple: bool = True,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        del initializer
        if not state_is_tuple:
            warn_of_joined_state(self)
        if num_frequency_blocks is None:
            raise ValueError("Must specify num_frequency_blocks")
        self._num_units, self._num_unit_shards = num_units, num_unit_shards
        self._use_peepholes, self._shares = use_peepholes, share_time_frequency_weights
        self._cell_clip, self._forget_bias = cell_clip, forget_bias
        self._feature_size: Any = feature_size
        self._frequency_skip: Any = frequency_skip
        self._blocks = [int(count) for count in num_frequency_blocks]
        self._starts, self._ends = start_freqindex_list, end_freqindex_list
        self._coupled = couple_input_forget_gates
        self._state_is_tuple = state_is_tuple
        total = sum(self._blocks) * len(self._directions)
        names = [
            f"{direction}state_f{piece:02d}_b{block:02d}_{part}"
            for direction in self._directions
            for block, count in enumerate(self._blocks)
            for piece in range(count)
            for part in "cm"
        ]
        kind = f"{type(self).__name__.removesuffix('Cell')}StateTuple"
        self._state_tuple_type: type[Any] | None = (
            collections.namedtuple(kind, names) if state_is_tuple else None
        )
        self._state_size: Any = num_units * total * 2
        if self.state_tuple_type is not None:
            self._state_size = self.state_tuple_type(*[num_units] * (2 * total))
        self._output_size = num_units * total * 2

    @property
    def output_size(self) -> int:
        return self._output_size

    @property
    def state_size(self) -> Any:
        return self._state_size

    @property
    def state_tuple_type(self) -> type[Any] | None:
        """The named tuple of states; None if the state is one tensor."""
        return self._state_tuple_type

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        batch = dimension_value(inputs.shape[0]) or tf.shape(inputs)[0]
        shown, held = self._through(self._pieces(inputs), state, batch, "")
        if self._state_tuple_type is not None:
            new_state = self._state_tuple_type(*held)
        else:
            new_state = tf.concat(held, 1)
        return tf.concat(shown, 1), new_state

    def _through(
        self, blocks: Sequence[Sequence[Any]], state: Any, batch: Any, direction: str
    ) -> tuple[list[Any], list[Any]]:
        """Pass all pieces; return the outputs and contents of the memories."""
        shown: list[Any] = []
        held: list[Any] = []
        for block, pieces in enumerate(blocks):
            found = self._through_block(pieces, block, state, batch, direction)
            shown.extend(found[0])
            held.extend(found[1])
        return shown, held

    def _through_block(
        self, pieces: Sequence[Any], block: int, state: Any, batch: Any, direction: str
    ) -> tuple[list[Any], list[Any]]:
        dtype = pieces[0].dtype
        freq, time = self._memories(block, pieces[0].get_shape().as_list()[1], dtype)
        m_freq, c_freq = (tf.zeros([batch, self._num_units], dtype) for _ in range(2))
        shown: list[Any] = []
        held: list[Any] = []
        for index, piece in enumerate(pieces):
            c_time, m_time = self._states(state, index, block, direction)
            inputs = tf.concat([piece, m_time, m_freq], 1)
            by_freq = freq.gates(inputs, self._coupled)
            by_time = by_freq if self._shares else time.gates(inputs, self._coupled)
            new_freq = freq.next(by_freq, c_freq, c_freq, c_time)
            new_time = time.next(by_time, c_time, c_freq, c_time)
            c_freq, c_time = new_freq, new_time
            m_freq = freq.shown(by_freq, c_freq, c_freq, c_time)
            m_time = time.shown(by_time, c_time, c_freq, c_time)
            held.extend((c_time, m_time))
            shown.extend((m_time, m_freq))
        return shown, held

    def _states(self, state: Any, index: int, block: int, direction: str) -> tuple[Any, Any]:
        if self._state_is_tuple:
            prefix = f"{direction}state_f{index:02d}_b{block:02d}"
            return getattr(state, f"{prefix}_c"), getattr(state, f"{prefix}_m")
        units = self._num_units
        first, second = (
            tf.slice(state, [0, (2 * index + part) * units], [-1, units]) for part in (0, 1)
        )
        return first, second

    def _memories(self, block: int, width: int, dtype: Any) -> tuple[_Memory, _Memory]:
        """Return the memories along frequency and time, with the variables of a block."""
        size = (3 if self._coupled else 4) * self._num_units
        axes = ("f",) if self._shares else ("f", "t")
        kernels = []
        for axis in axes:
            shape = [width + 2 * self._num_units, size]
            kernel = sharded_variable(f"W_{axis}_{block}", shape, dtype, self._num_unit_shards)
            bias = tf.get_variable(
                f"B_{axis}_{block}", shape=[size], initializer=tf.zeros_initializer(), dtype=dtype
            )
            kernels.append((kernel, bias))
        made = []
        for (kernel, bias), name in zip(kernels, ("freq", "time"), strict=False):
            peepholes = self._peepholes(name, block, dtype) if self._use_peepholes else {}
            made.append(_Memory(kernel, bias, peepholes, self._forget_bias, self._cell_clip))
        return made[0], made[-1]

    def _peepholes(self, axis: str, block: int, dtype: Any) -> dict[str, tuple[Any, Any]]:
        found = {}
        for gate in "io" if self._coupled else "fio":
            names = [f"W_{gate.upper()}_diag_{axis}{of}_{block}" for of in "ft"]
            by_freq, by_time = (
                tf.get_variable(name, shape=[self._num_units], dtype=dtype) for name in names
            )
            found[gate] = (by_freq, by_time)
        return found

    def _pieces(self, inputs: Any, offset: int = 0) -> list[list[Any]]:
        """Return the pieces of each block, `offset` further up the frequencies."""
        width = inputs.get_shape().with_rank(2).dims[-1].value
        if width is None:
            raise ValueError("Cannot infer input_size from static shape inference.")
        if offset:
            pad = [0, 0, 0, offset] if offset > 0 else [0, 0, -offset, 0]
            inputs = tf.pad(inputs, tf.constant(pad, shape=[2, 2], dtype=tf.int32), "CONSTANT")
            offset = max(offset, 0)
        ranges = self._ranges(width)
        found = []
        for (start, end), wanted in zip(ranges, self._blocks, strict=True):
            count = int((end - start - self._feature_size) / self._frequency_skip) + 1
            if count != wanted:
                raise ValueError(
                    f"Invalid num_frequency_blocks, requires {wanted} but gets {count}, please "
                    "check the input size and filter config are correct."
                )
            found.append([
                tf.slice(inputs, [0, start + offset + i * self._frequency_skip],
                         [-1, self._feature_size])
                for i in range(count)
            ])  # fmt: skip
        return found

    def _ranges(self, width: int) -> list[tuple[int, int]]:
        """Return the first and last indices of blocks."""
        count = len(self._blocks)
        if not self._starts or not self._ends:
            if count != 1:
                raise ValueError(f"Length of num_frequency_blocks is not 1, but instead is {count}")
            return [(0, width)]
        if len(self._starts) != len(self._ends):
            raise ValueError(
                "Length of start and end freqindex_list does not match "
                f"{len(self._starts)} {len(self._ends)}"
            )
        if count != len(self._starts):
            raise ValueError(
                "Length of num_frequency_blocks is not equal to start_freqindex_list "
                f"{count} {len(self._starts)}"
            )
        return list(zip(self._starts, self._ends, strict=True))


@export("contrib.rnn.BidirectionalGridLSTMCell")
class BidirectionalGridLSTMCell(GridLSTMCell):
    """A `GridLSTMCell` that goes up and down the frequencies.

    Args:
      backward_slice_offset: how far up pieces begin on the way down.
      num_units, use_peepholes, share_time_frequency_weights, cell_clip, initializer,
        num_unit_shards, forget_bias, feature_size, frequency_skip, num_frequency_blocks,
        start_freqindex_list, end_freqindex_list, couple_input_forget_gates, reuse: as for
        `GridLSTMCell`.
    """

    _directions = ("fwd_", "bwd_")

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None,
        start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None,
        couple_input_forget_gates: bool = False,
        backward_slice_offset: int = 0,
        reuse: Any = None,
    ) -> None:
        super().__init__(
            num_units, use_peepholes, share_time_frequency_weights, cell_clip, initializer,
            num_unit_shards, forget_bias, feature_size, frequency_skip, num_frequency_blocks,
            start_freqindex_list, end_freqindex_list, couple_input_forget_gates, True, reuse,
        )  # fmt: skip
        self._backward_slice_offset = int(backward_slice_offset)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        batch = dimension_value(inputs.shape[0]) or tf.shape(inputs)[0]
        up = down = self._pieces(inputs)
        if self._backward_slice_offset:
            down = self._pieces(inputs, self._backward_slice_offset)
        shown: list[Any] = []
        held: list[Any] = []
        for direction, blocks in (("fwd", up), ("bwd", [pieces[::-1] for pieces in down])):
            with tf.variable_scope(direction):
                found = self._through(blocks, state, batch, f"{direction}_")
            shown.extend(found[0])
            held.extend(found[1])
        assert self._state_tuple_type is not None
        return tf.concat(shown, 1), self._state_tuple_type(*held)
