"""`tf.contrib.recurrent.functional_rnn`: recurrent cells in loops of functions."""

from __future__ import annotations

import copy
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.functional.defun import DefinedFunction, Defun
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.recurrent.recurrent import Recurrent


class _PureFunction(DefinedFunction):
    """Function that takes its captures as arguments."""

    @property
    def captured_inputs(self) -> list[Any]:
        return []


def _pure(function: Any) -> Any:
    if not function.captured_inputs:
        return function
    pure = copy.copy(function)
    pure.__class__ = _PureFunction
    return pure


def _take_shapes(structure: Any, template: Any) -> None:
    for tensor, known in zip(nest.flatten(structure), nest.flatten(template), strict=True):
        tensor.set_shape(known.shape)


class _FunctionalRnnCell:
    """A cell as a function of its variables, too.

    Args:
      rnn_cell: an `RNNCell`.
      seq_inputs: [time, batch, ...].
      initial_state: nested, [batch, ...].
    """

    def __init__(self, rnn_cell: Any, seq_inputs: Any, initial_state: Any) -> None:
        assert initial_state is not None
        states = [tf.convert_to_tensor(state) for state in nest.flatten(initial_state)]
        types = [seq_inputs.dtype, *(state.dtype for state in states)]
        now = nest.map_structure(lambda x: tf.stop_gradient(tf.gather(x, 0)), seq_inputs)
        template = (now, initial_state)

        @Defun(*types)
        def FlatCellStep(*flat_inputs: Any) -> list[Tensor]:
            """The flattened version of `rnn_cell`."""  # its name depends on these words
            inputs_t, state0 = nest.pack_sequence_as(template, flat_inputs)
            _take_shapes(state0, initial_state)
            _take_shapes(inputs_t, now)
            outputs, state1 = rnn_cell(inputs_t, state0)
            return self._results(outputs, nest.flatten(state1))

        pure = _pure(FlatCellStep)

        def cell_step(theta: Any, state0: Any, inputs_t: Any) -> tuple[Any, list[Any]]:
            state = self.without_output(nest.flatten(state0))
            found = pure(*[inputs_t, *state, *theta])
            return found, []

        self.cell_step, self.theta = cell_step, FlatCellStep.captured_inputs
        self.state_template, self._dtype = initial_state, types[1]

    def _results(self, outputs: Any, state: list[Any]) -> list[Any]:
        """Return the state, with the output in front of it unless it is a part."""
        self.output_shape = outputs.shape
        places = [i for i, part in enumerate(state) if part is outputs]
        self._has_output_in_front = not places
        self._place = places[0] if places else 0
        return state if places else [outputs, *state]

    @property
    def initial_state(self) -> Any:
        """The state to begin with, with zeros for the output."""
        if not self._has_output_in_front:
            return self.state_template
        return [tf.zeros(self.output_shape, dtype=self._dtype), self.state_template]

    def output(self, state: Any) -> Any:
        """Return the output among a state."""
        return nest.flatten(state)[self._place]

    def without_output(self, flat_state: list[Any]) -> list[Any]:
        """Return the cell's own state."""
        return flat_state[1:] if self._has_output_in_front else flat_state


def _masked(lengths: Any, outputs: Any) -> Tensor:
    """Return outputs [batch, time, width] with zeros after the ends of series."""
    shape = tf.shape(outputs)
    batch, longest, width = shape[0], shape[1], shape[2]
    times = tf.reshape(tf.tile(tf.range(0, longest), [batch]), [batch, longest])
    ends = tf.tile(tf.reshape(lengths, [-1, 1]), [1, longest])
    is_within = tf.cast(tf.less(times, ends), dtype=outputs.dtype)
    return tf.tile(tf.expand_dims(is_within, -1), [1, 1, width]) * outputs


def _states_at_ends(states: Any, lengths: Any) -> Any:
    """Return the last states of series, [batch, width], from [time, batch, width]."""

    def last(state: Any) -> Any:
        shape = tf.shape(state)
        longest, batch = shape[0], shape[1]
        times = tf.reshape(tf.tile(tf.range(0, longest), [batch]), [batch, longest])
        ends = tf.tile(tf.reshape(lengths, [-1, 1]), [1, longest])
        is_last = tf.transpose(tf.cast(tf.equal(times, ends - 1), dtype=state.dtype))
        return tf.reduce_sum(tf.multiply(tf.expand_dims(is_last, -1), state), 0)

    return nest.pack_sequence_as(states, [last(state) for state in nest.flatten(states)])


def _finished(
    cell: _FunctionalRnnCell, states: Any, last: Any, time: Any, lengths: Any, is_reversed: bool
) -> tuple[Any, Any]:
    """Return outputs [batch, time, width] and the last state."""
    if lengths is None or is_reversed:
        flat = cell.without_output(nest.flatten(last))
        state = nest.pack_sequence_as(cell.state_template, flat)
    else:
        flat = cell.without_output(nest.flatten(states))
        state = _states_at_ends(nest.pack_sequence_as(cell.state_template, flat), lengths)
    outputs = cell.output(states)
    if is_reversed:
        outputs = tf.reverse(outputs, [0])
    outputs = tf.transpose(outputs, [1, 0, 2])
    outputs.set_shape([cell.output_shape[0], time, cell.output_shape[1]])
    if lengths is not None:
        outputs = _masked(lengths, outputs)
    _take_shapes(state, cell.state_template)
    return outputs, state


@export("contrib.recurrent.functional_rnn")
def functional_rnn(
    cell: Any, inputs: Any, sequence_length: Any = None, initial_state: Any = None,
    dtype: Any = None, time_major: bool = False, scope: Any = None, use_tpu: bool = False,
    reverse: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """`tf.nn.dynamic_rnn`, by functions of the library.

    Args:
      cell: an `RNNCell`.
      inputs: [batch, time, width], or [time, batch, width].
      sequence_length: [batch], how long series are; all times by default.
      initial_state: the state to begin with; zeros by default.
      dtype: of the state, if there is none to begin with.
      time_major: whether time comes first in `inputs`.
      scope: the variable scope, "rnn" by default.
      use_tpu: whether loops are `While`, not `For`.
      reverse: whether series are read from their ends.

    Returns:
      (outputs, in the order of `inputs`, and the last state).
    """
    with tf.variable_scope(scope or "rnn"):
        if not time_major:
            inputs = nest.map_structure(lambda x: tf.transpose(x, [1, 0, 2]), inputs)
        first = nest.flatten(inputs)[0]
        batch = tf.shape(first)[1]
        if initial_state is None:
            initial_state = cell.zero_state(batch, dtype)
        functional = _FunctionalRnnCell(cell, inputs, initial_state)
    max_length = None if sequence_length is None else tf.reduce_max(sequence_length)
    if reverse:
        inputs = tf.reverse(inputs, [0])
    states, last = Recurrent(
        theta=functional.theta,
        state0=functional.initial_state,
        inputs=inputs,
        cell_fn=functional.cell_step,
        max_input_length=max_length,
        use_tpu=use_tpu,
        aligned_end=reverse,
    )
    time = first.shape[0]
    outputs, state = _finished(functional, states, last, time, sequence_length, reverse)
    return (tf.transpose(outputs, [1, 0, 2]) if time_major else outputs), state


@export("contrib.recurrent.bidirectional_functional_rnn")
def bidirectional_functional_rnn(
    cell_fw: Any, cell_bw: Any, inputs: Any, initial_state_fw: Any = None,
    initial_state_bw: Any = None, dtype: Any = None, sequence_length: Any = None,
    time_major: bool = False, use_tpu: bool = False, fast_reverse: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """`tf.nn.bidirectional_dynamic_rnn`, by functions of the library.

    Args:
      cell_fw, cell_bw: the cells that read forwards and backwards.
      inputs: [batch, time, width], or [time, batch, width].
      initial_state_fw, initial_state_bw: states to begin with; zeros by default.
      dtype: of the states, if there are none to begin with.
      sequence_length: [batch], how long series are; all times by default.
      time_major: whether time comes first in `inputs`.
      use_tpu: whether loops are `While`, not `For`.
      fast_reverse: whether all times are reversed, also those after the ends of series.
      scope: the variable scope, "bidirectional_rnn" by default.

    Returns:
      ((outputs forwards, backwards), (last states forwards, backwards)).
    """
    options = {
        "dtype": dtype, "sequence_length": sequence_length, "time_major": time_major,
        "use_tpu": use_tpu,
    }  # fmt: skip
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def turned(value: Any) -> Any:
        if fast_reverse:
            return value
        if sequence_length is None:
            assert not use_tpu, "Bidirectional with variable sequence lengths unsupported on TPU"
            return tf.reverse(value, axis=[time_axis])
        return tf.reverse_sequence(
            input=value, seq_lengths=sequence_length, seq_dim=time_axis, batch_dim=batch_axis
        )

    with tf.variable_scope(scope or "bidirectional_rnn"):
        with tf.variable_scope("fw") as fw_scope:
            forwards, state_fw = functional_rnn(
                cell_fw, inputs, initial_state=initial_state_fw, scope=fw_scope, **options
            )
        with tf.variable_scope("bw") as bw_scope:
            backwards, state_bw = functional_rnn(
                cell_bw, turned(inputs), initial_state=initial_state_bw, scope=bw_scope,
                reverse=fast_reverse, **options,
            )  # fmt: skip
    return (forwards, turned(backwards)), (state_fw, state_bw)
