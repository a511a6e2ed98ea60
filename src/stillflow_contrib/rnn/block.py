"""Cells whose time step, or whole sequence, is one operation."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, dimension_value
from stillflow.layers.base import Layer
from stillflow.layers.input_spec import InputSpec
from stillflow.nn.rnn_cell.base import LayerRNNCell
from stillflow.nn.rnn_cell.lstm import LSTMStateTuple
from stillflow.ops.recurrent.gru_block import gru_block_cell_op
from stillflow.ops.recurrent.lstm_block import block_lstm_op, lstm_block_cell_op
from stillflow.util.notices import noticed


class _LSTMVariables(Layer):
    """The variables of an LSTM."""

    _num_units: int
    _use_peephole: bool

    def _make_variables(self, input_size: int) -> None:
        units = self._num_units
        self._kernel = self.add_weight("kernel", [input_size + units, units * 4])
        zeros = tf.constant_initializer(0.0)
        self._bias = self.add_weight("bias", [units * 4], initializer=zeros)
        if self._use_peephole:
            for gate in "ifo":
                setattr(self, f"_w_{gate}_diag", self.add_weight(f"w_{gate}_diag", [units]))
        self.built = True

    def _peepholes(self, dtype: Any) -> list[Any]:
        if not self._use_peephole:
            return [tf.zeros([self._num_units], dtype=dtype)] * 3
        return [getattr(self, f"_w_{gate}_diag") for gate in "ifo"]


@export("contrib.rnn.LSTMBlockCell")
class LSTMBlockCell(_LSTMVariables, LayerRNNCell):
    """A basic LSTM cell, its time step in one operation.

    Args:
      num_units: the size of the memory.
      forget_bias: added to the forget gate.
      cell_clip: a limit for the memory; none by default.
      use_peephole: whether the gates see the memory.
      dtype: of the variables; that of the inputs by default.
      reuse: whether the variables exist already.
      name: of the variable scope.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: Any = None,
        reuse: Any = None,
        name: Any = "lstm_cell",
    ) -> None:
        super().__init__(_reuse=reuse, dtype=dtype, name=name)
        self._num_units, self._forget_bias = num_units, forget_bias
        self._use_peephole = use_peephole
        self._cell_clip = -1 if cell_clip is None else cell_clip
        self.input_spec = InputSpec(ndim=2)

    @property
    def state_size(self) -> LSTMStateTuple:
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        return self._num_units

    def build(self, inputs_shape: Any) -> None:
        inputs_shape = TensorShape(inputs_shape)
        if not inputs_shape.dims[1].value:
            raise ValueError(f"Expecting inputs_shape[1] to be set: {inputs_shape}")
        self._make_variables(inputs_shape.dims[1].value)

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        if len(state) != 2:
            raise ValueError("Expecting state to be a tuple with length 2.")
        peepholes = self._peepholes(self.dtype)
        outputs = lstm_block_cell_op(
            inputs, *state, self._kernel, *peepholes, self._bias,
            forget_bias=self._forget_bias, cell_clip=self._cell_clip,
            use_peephole=self._use_peephole,
        )  # fmt: skip
        return outputs.h, LSTMStateTuple(outputs.cs, outputs.h)


@export("contrib.rnn.LSTMBlockWrapper")
class LSTMBlockWrapper(Layer):
    """Base of LSTMs over a whole sequence; a subclass implements it."""

    @property
    def num_units(self) -> Any:
        """The size of the memory."""
        raise NotImplementedError

    def _call_cell(
        self, inputs: Any, initial_cell_state: Any, initial_output: Any, dtype: Any,
        sequence_length: Any,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Return the memories and the outputs of all time steps."""
        raise NotImplementedError

    def call(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
    ) -> tuple[Any, Any]:
        """Run the cell.

        Args:
          inputs: [time, batch, n], or a list over time.
          initial_state: (memory, output) [batch, units]; zeros by default.
          dtype: of the zero state and the outputs.
          sequence_length: int [batch]; behind it outputs are zeros and states stay.

        Returns:
          The outputs (a list if the inputs are one), and the last state.
        """
        is_list = isinstance(inputs, list)
        if is_list:
            inputs = tf.stack(inputs)
        shape = inputs.get_shape().with_rank(3)
        if not shape[2]:
            raise ValueError(f"Expecting inputs_shape[2] to be set: {shape}")
        batch_size = shape.dims[1].value
        batch_size = tf.shape(inputs)[1] if batch_size is None else batch_size
        time = shape.dims[0].value
        time = tf.shape(inputs)[0] if time is None else time
        initial_state, dtype = self._first_state(initial_state, dtype, batch_size)
        if sequence_length is not None:
            sequence_length = tf.convert_to_tensor(sequence_length)
        c, h = initial_state
        cells, outputs = self._call_cell(inputs, c, h, dtype, sequence_length)
        if sequence_length is None:
            state = LSTMStateTuple(cells[-1], outputs[-1])
        else:
            mask = tf.transpose(tf.sequence_mask(sequence_length, time, dtype=dtype), [1, 0])
            mask = tf.tile(tf.expand_dims(mask, [-1]), [1, 1, self.num_units])
            outputs *= mask
            padded = [
                tf.concat([tf.expand_dims(first, [0]), values], 0)
                for first, values in zip(initial_state, (cells, outputs), strict=True)
            ]
            state = LSTMStateTuple(
                *(self._gather_states(values, sequence_length, batch_size) for values in padded)
            )
        return tf.unstack(outputs) if is_list else outputs, state

    def _first_state(self, state: Any, dtype: Any, batch_size: Any) -> tuple[Any, Any]:
        if state is None:
            if dtype is None:
                raise ValueError("Either initial_state or dtype needs to be specified")
            zeros = tf.zeros(tf.stack([batch_size, self.num_units]), dtype=dtype)
            return (zeros, zeros), dtype
        if len(state) != 2:
            raise ValueError("Expecting initial_state to be a tuple with length 2 or None")
        return state, state[0].dtype if dtype is None else dtype

    def _gather_states(self, data: Any, indices: Any, batch_size: Any) -> Tensor:
        return tf.gather_nd(data, tf.stack([indices, tf.range(batch_size)], axis=1))


@export("contrib.rnn.LSTMBlockFusedCell")
class LSTMBlockFusedCell(_LSTMVariables, LSTMBlockWrapper):
    """A basic LSTM cell, a whole sequence in one operation.

    Args:
      num_units, forget_bias, cell_clip, use_peephole, reuse, dtype, name: as of `LSTMBlockCell`.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        reuse: Any = None,
        dtype: Any = None,
        name: Any = "lstm_fused_cell",
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units, self._forget_bias = num_units, forget_bias
        self._cell_clip = -1 if cell_clip is None else cell_clip
        self._use_peephole = use_peephole
        self.input_spec = InputSpec(ndim=3)

    @property
    def num_units(self) -> int:
        return self._num_units

    def build(self, input_shape: Any) -> None:
        input_shape = TensorShape(input_shape)
        self._make_variables(input_shape.dims[2].value)

    def _call_cell(
        self, inputs: Any, initial_cell_state: Any = None, initial_output: Any = None,
        dtype: Any = None, sequence_length: Any = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        time = inputs.get_shape().with_rank(3).dims[0].value
        if time is None:
            time = tf.shape(inputs)[0]
        peepholes = self._peepholes(dtype)
        longest = time if sequence_length is None else tf.reduce_max(sequence_length)
        outputs = block_lstm_op(
            tf.cast(longest, tf.int64), inputs, initial_cell_state, initial_output,
            self._kernel, *peepholes, self._bias, forget_bias=self._forget_bias,
            cell_clip=self._cell_clip, use_peephole=self._use_peephole,
        )  # fmt: skip
        return outputs.cs, outputs.h


@export("contrib.rnn.GRUBlockCell")
class GRUBlockCell(LayerRNNCell):
    """A gated recurrent unit in one operation.

    Args:
      num_units: the size of the state.
      cell_size: the older name of it.
      reuse: whether the variables exist already.
      name: of the variable scope.

    Raises:
      ValueError: if not exactly one of the sizes is given.
    """

    _NAMES: tuple[str, ...] = ("w_ru", "b_ru", "w_c", "b_c")

    @noticed("contrib.rnn.GRUBlockCell")
    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: Any = None,
        name: Any = "gru_cell",
    ) -> None:
        super().__init__(_reuse=reuse, name=name)
        if (cell_size is None) == (num_units is None):
            raise ValueError("Exactly one of num_units or cell_size must be provided.")
        self._cell_size: Any = cell_size if num_units is None else num_units
        self.input_spec = InputSpec(ndim=2)

    @property
    def state_size(self) -> int:
        return self._cell_size

    @property
    def output_size(self) -> Any:
        return self._cell_size

    def build(self, input_shape: Any) -> None:
        input_size = dimension_value(TensorShape(input_shape)[1])
        if input_size is None:
            raise ValueError("Expecting input_size to be set.")
        rows, size = input_size + self._cell_size, self._cell_size
        names, one = self._NAMES, tf.constant_initializer(1.0)
        self._gate_kernel = self.add_weight(names[0], [rows, size * 2])
        self._gate_bias = self.add_weight(names[1], [size * 2], initializer=one)
        self._candidate_kernel = self.add_weight(names[2], [rows, size])
        zero = tf.constant_initializer(0.0)
        self._candidate_bias = self.add_weight(names[3], [size], initializer=zero)
        self.built = True

    def call(self, inputs: Any, h_prev: Any) -> tuple[Tensor, Tensor]:
        size = h_prev.get_shape().with_rank(2)[1]
        if size != self._cell_size:
            raise ValueError(f"Shape of h_prev[1] incorrect: cell_size {self._cell_size} vs {size}")
        new_h = gru_block_cell_op(
            inputs, h_prev, self._gate_kernel, self._candidate_kernel, self._gate_bias,
            self._candidate_bias,
        ).h  # fmt: skip
        return new_h, new_h


@export("contrib.rnn.GRUBlockCellV2")
class GRUBlockCellV2(GRUBlockCell):
    """`GRUBlockCell` whose variables are named as those of `tf.nn.rnn_cell.GRUCell`."""

    _NAMES = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")


def lstm_block_cell(
    x: Any, cs_prev: Any, h_prev: Any, w: Any, b: Any, wci: Any = None, wcf: Any = None,
    wco: Any = None, forget_bias: Any = None, cell_clip: Any = None, use_peephole: Any = None,
    name: Any = None,
) -> Any:  # fmt: skip
    """One time step of an LSTM; peepholes are zeros where they are not given."""
    if wci is None:
        size = cs_prev.get_shape().with_rank(2).dims[1].value
        if size is None:
            raise ValueError("cell_size from `cs_prev` should not be None.")
        wci = wcf = wco = tf.constant(0, dtype=tf.float32, shape=[size])
    return lstm_block_cell_op(
        x, cs_prev, h_prev, w, wci, wcf, wco, b, forget_bias=forget_bias,
        cell_clip=-1 if cell_clip is None else cell_clip, use_peephole=use_peephole, name=name,
    )  # fmt: skip


def block_lstm(
    seq_len_max: Any, x: Any, w: Any, b: Any, cs_prev: Any = None, h_prev: Any = None,
    wci: Any = None, wcf: Any = None, wco: Any = None, forget_bias: Any = None,
    cell_clip: Any = None, use_peephole: Any = None, name: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Return an LSTM over a list of inputs; gives lists of all that the steps compute."""
    dtype = x[0].dtype
    batch_size = x[0].get_shape().with_rank(2).dims[0].value
    columns = b.get_shape().with_rank(1).dims[0].value
    if columns is None:
        raise ValueError("`b` shape must not be None.")
    size = columns // 4
    zero_state = None
    if cs_prev is None or h_prev is None:
        zero_state = tf.constant(0, dtype=dtype, shape=[batch_size, size])
    if wci is None:
        wci = wcf = wco = tf.constant(0, dtype=dtype, shape=[size])
    outputs = block_lstm_op(
        seq_len_max, tf.stack(x), zero_state if cs_prev is None else cs_prev,
        zero_state if h_prev is None else h_prev, w, wci, wcf, wco, b, forget_bias=forget_bias,
        cell_clip=-1 if cell_clip is None else cell_clip, use_peephole=use_peephole, name=name,
    )  # fmt: skip
    return tuple(tf.unstack(output) for output in outputs)
