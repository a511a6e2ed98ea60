"""Recurrent networks in the variable scopes of 0.x: "RNN" and "BiRNN"."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor


def rnn(cell: Any, inputs: Any, initial_state: Any = None, dtype: Any = None,
        sequence_length: Any = None, scope: Any = None) -> Any:  # fmt: skip
    """Apply a cell to each input of a list: `tf.nn.static_rnn` of today.

    Args:
      cell: a cell of 0.x or of today.
      inputs: a list over time of tensors [batch, depth].
      initial_state: (nested) tensors as the cell's state; zeros by default.
      dtype: of the zeros.
      sequence_length: int [batch], None where all sequences are full.
      scope: a variable scope or its name, "RNN" by default.

    Returns:
      The list of outputs, and the last state.
    """
    return tf.nn.static_rnn(cell, inputs, initial_state, dtype, sequence_length, scope or "RNN")


def dynamic_rnn(cell: Any, inputs: Any, sequence_length: Any = None, initial_state: Any = None,
                dtype: Any = None, parallel_iterations: Any = None, swap_memory: bool = False,
                time_major: bool = False, scope: Any = None) -> Any:  # fmt: skip
    """Apply a cell in a loop: `tf.nn.dynamic_rnn` in the scope "RNN".

    Args:
      cell: a cell of 0.x or of today.
      inputs: [batch, time, depth], or [time, batch, depth] if `time_major`.
      sequence_length: int [batch], None where all sequences are full.
      initial_state: (nested) tensors as the cell's state; zeros by default.
      dtype: of the zeros.
      parallel_iterations: how many iterations may run at a time.
      swap_memory: accepted; nothing is moved out of memory.
      time_major: whether time is the first axis of inputs and outputs.
      scope: a variable scope or its name, "RNN" by default.

    Returns:
      The outputs in one tensor, and the last state.
    """
    return tf.nn.dynamic_rnn(
        cell, inputs, sequence_length, initial_state, dtype, parallel_iterations, swap_memory,
        time_major, scope or "RNN",
    )  # fmt: skip


def state_saving_rnn(cell: Any, inputs: Any, state_saver: Any, state_name: Any,
                     sequence_length: Any = None, scope: Any = None) -> Any:  # fmt: skip
    """Apply a cell to a list of inputs, with the state kept by `state_saver` between runs.

    Args:
      cell: a cell of 0.x or of today.
      inputs: a list over time of tensors [batch, depth].
      state_saver: an object with `state(name)` and `save_state(name, value)`.
      state_name: the name, or the tuple of names, of the state.
      sequence_length: int [batch], None where all sequences are full.
      scope: a variable scope or its name, "RNN" by default.

    Returns:
      The list of outputs, and the last state.
    """
    return tf.nn.static_state_saving_rnn(
        cell, inputs, state_saver, state_name, sequence_length, scope or "RNN"
    )


def bidirectional_rnn(cell_fw: Any, cell_bw: Any, inputs: Any, initial_state_fw: Any = None,
                      initial_state_bw: Any = None, dtype: Any = None, sequence_length: Any = None,
                      scope: Any = None) -> tuple[list[Tensor], Tensor, Tensor]:  # fmt: skip
    """Apply one cell forwards and one backwards to each input of a list.

    Args:
      cell_fw: the cell that begins with the first input.
      cell_bw: the cell that begins with the last one.
      inputs: a list over time of tensors [batch, depth].
      initial_state_fw: the state that the first begins with; zeros by default.
      initial_state_bw: the same of the second.
      dtype: of the zeros.
      sequence_length: int [batch], None where all sequences are full.
      scope: a variable scope or its name, "BiRNN" by default.

    Returns:
      The list of both outputs, joined along their depth, and the last state of each cell.
    """
    with tf.variable_scope(scope or "BiRNN"):
        with tf.variable_scope("FW") as forwards:
            ahead, state_fw = rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, forwards
            )
        with tf.variable_scope("BW") as backwards:
            turned = _turned(inputs, sequence_length)
            back, state_bw = rnn(
                cell_bw, turned, initial_state_bw, dtype, sequence_length, backwards
            )
        back = _turned(back, sequence_length)
    outputs = [tf.concat(both, 1) for both in zip(ahead, back, strict=True)]
    return outputs, state_fw, state_bw


def _turned(values: Any, lengths: Any) -> list[Any]:
    """Return a list over time backwards, each sequence within its length."""
    if lengths is None:
        return list(reversed(values))
    turned = tf.reverse_sequence(tf.stack(values), lengths, seq_axis=0, batch_axis=1)
    parts = tf.unstack(turned)
    for part, value in zip(parts, values, strict=True):
        part.set_shape(value.get_shape())
    return list(parts)


def bidirectional_dynamic_rnn(cell_fw: Any, cell_bw: Any, inputs: Any, sequence_length: Any = None,
                              initial_state_fw: Any = None, initial_state_bw: Any = None,
                              dtype: Any = None, parallel_iterations: Any = None,
                              swap_memory: bool = False, time_major: bool = False,
                              scope: Any = None) -> tuple[Any, ...]:  # fmt: skip
    """Apply one cell forwards and one backwards, in loops.

    Args:
      cell_fw: the cell that begins with the first input.
      cell_bw: the cell that begins with the last one.
      inputs: [batch, time, depth], or [time, batch, depth] if `time_major`.
      sequence_length: int [batch], None where all sequences are full.
      initial_state_fw: the state that the first begins with; zeros by default.
      initial_state_bw: the same of the second.
      dtype: of the zeros.
      parallel_iterations: how many iterations may run at a time.
      swap_memory: accepted; nothing is moved out of memory.
      time_major: whether time is the first axis of inputs and outputs.
      scope: a variable scope or its name, "BiRNN" by default.

    Returns:
      A pair of outputs and a pair of last states.
    """
    time, batch = (0, 1) if time_major else (1, 0)

    def turned(value: Any) -> Tensor:
        if sequence_length is None:
            return tf.reverse(value, [time])
        return tf.reverse_sequence(value, sequence_length, seq_axis=time, batch_axis=batch)

    settings = (dtype, parallel_iterations, swap_memory, time_major)
    with tf.variable_scope(scope or "BiRNN"):
        with tf.variable_scope("FW") as forwards:
            ahead, state_fw = dynamic_rnn(
                cell_fw, inputs, sequence_length, initial_state_fw, *settings, forwards
            )
        with tf.variable_scope("BW") as backwards:
            back, state_bw = dynamic_rnn(
                cell_bw, turned(inputs), sequence_length, initial_state_bw, *settings, backwards
            )
    return (ahead, turned(back)), (state_fw, state_bw)
