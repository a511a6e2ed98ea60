"""`tf.nn.static_rnn` and its relatives: a cell applied to a sequence, once per element."""

from __future__ import annotations

from typing import Any

from stillflow import nest
from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import (
    Dimension,
    TensorShape,
    dimension_at_index,
    dimension_value,
    unknown_shape,
)
from stillflow.nn.recurrent.steps import (
    Lengths,
    first_state,
    is_keras_cell,
    masked_step,
    recurrent_scope,
    state_dtype,
)
from stillflow.nn.rnn_cell import sizes
from stillflow.nn.rnn_cell.base import assert_like_rnncell
from stillflow.ops.arrays import fill
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.reverse import reverse_sequence
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.arrays.splitting import unstack
from stillflow.ops.arrays.stack import stack
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.math.cast import cast
from stillflow.variables.variable_scope import variable_scope


def _check_inputs(inputs: Any) -> None:
    if not nest.is_sequence(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")


def _static_batch_size(inputs: Any, first: Any) -> Dimension:
    """Return the static batch size of all inputs, a `Dimension`."""
    if first.get_shape().ndims == 1:
        return first.get_shape().with_rank_at_least(1).dims[0]
    batch = first.get_shape().with_rank_at_least(2).dims[0]
    for value in nest.flatten(inputs):
        shape = value.get_shape().with_rank_at_least(2)
        batch.merge_with(dimension_at_index(shape, 0))
        for i, size in enumerate(shape[1:].dims):
            if dimension_value(size) is None:
                raise ValueError(
                    f"Input size (dimension {i} of inputs) must be accessible via shape "
                    "inference, but saw value None."
                )
    return batch


@export("nn.static_rnn", "contrib.rnn.static_rnn")
def static_rnn(
    cell: Any,
    inputs: Any,
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Apply a cell to a batch of sequences, with separate nodes for every time step.

    Args:
      cell: an RNNCell.
      inputs: a list over time of (nested) tensors [batch, ...].
      initial_state: (nested) tensors as the cell's state; zeros by default.
      dtype: of the zero state and the outputs.
      sequence_length: int [batch]; behind it outputs are zeros and states stay. None where all
        sequences are full.
      scope: a variable scope or its name, "rnn" by default.

    Returns:
      A list over time of the outputs, and the last state.

    Raises:
      TypeError: if `cell` is no cell or `inputs` is no list.
      ValueError: if there are no inputs, their depth is unknown, or neither a state nor a dtype
        is given.
    """
    assert_like_rnncell("cell", cell)
    _check_inputs(inputs)
    with recurrent_scope(scope) as opened:
        first = inputs
        while nest.is_sequence(first):
            first = first[0]
        static = _static_batch_size(inputs, first)
        batch_size = dimension_value(static) or shape_of(first)[0]
        message = "If no initial_state is provided, dtype must be specified"
        state = first_state(cell, initial_state, batch_size, dtype, message)
        lengths = zero_output = None
        if sequence_length is not None:
            lengths, zero_output = _masking(
                cell, sequence_length, batch_size, static, state_dtype(dtype, state)
            )
        keras = is_keras_cell(cell)
        if keras and not nest.is_sequence(state):
            state = [state]
        outputs = []
        for time, value in enumerate(inputs):
            if time > 0:
                opened.reuse_variables()

            def call_cell(value: Any = value, state: Any = state) -> Any:
                return cell(value, state)

            if lengths is None:
                output, state = call_cell()
            else:
                output, state = masked_step(
                    time, lengths, zero_output, state, call_cell, conditional=True
                )
            outputs.append(output)
        return outputs, state[0] if keras and len(state) == 1 else state


def _masking(
    cell: Any, sequence_length: Any, batch_size: Any, static: Any, dtype: Any
) -> tuple[Lengths, Any]:
    """Return the lengths, and the output behind the end of a sequence."""
    sequence_length = convert_to_tensor(sequence_length, name="sequence_length")
    if sequence_length.get_shape().ndims not in (None, 1):
        raise ValueError("sequence_length must be a vector of length batch_size")

    def zeros(size: Any) -> Tensor:
        value = fill.zeros(stack(sizes.concat(batch_size, size)), dtype)
        value.set_shape(TensorShape(sizes.concat(dimension_value(static), size, static=True)))
        return value

    zero_output = nest.map_structure(zeros, cell.output_size)
    return Lengths(cast(sequence_length, dtypes.int32)), zero_output


@export("nn.static_state_saving_rnn", "contrib.rnn.static_state_saving_rnn")
def static_state_saving_rnn(
    cell: Any,
    inputs: Any,
    state_saver: Any,
    state_name: Any,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """`static_rnn` whose first state was saved before, and whose last state is saved.

    Args:
      cell, inputs, sequence_length, scope: as for `static_rnn`.
      state_saver: an object with methods `state(name)` and `save_state(name, value)`.
      state_name: the name of the state, or (nested) names if it has several parts.

    Returns:
      A list over time of the outputs, and the last state; both wait for the saving.

    Raises:
      ValueError: if names and states have different structures.
    """
    size = cell.state_size
    nested = nest.is_sequence(size)
    if nested != nest.is_sequence(state_name):
        raise ValueError(
            "state_name should be the same type as cell.state_size.  state_name: "
            f"{state_name}, cell.state_size: {size}"
        )
    names = nest.flatten(state_name)
    count = len(nest.flatten(size))
    if len(names) != count:
        raise ValueError(f"#elems(state_name) != #elems(state_size): {len(names)} vs. {count}")
    saved = [state_saver.state(name) for name in names]
    initial_state = nest.pack_sequence_as(size, saved)
    outputs, state = static_rnn(
        cell, inputs, initial_state=initial_state, sequence_length=sequence_length, scope=scope
    )
    parts = nest.flatten(state) if nested else [state]
    saving = [state_saver.save_state(name, part) for name, part in zip(names, parts, strict=False)]
    with control_dependencies(saving):
        outputs[-1] = nest.map_structure(identity, outputs[-1])
        state = nest.map_structure(identity, state)
    return outputs, state


@export("nn.static_bidirectional_rnn", "contrib.rnn.static_bidirectional_rnn")
def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """`static_rnn` from the first to the last element, and with another cell backwards.

    Args:
      cell_fw, cell_bw: the cells.
      initial_state_fw, initial_state_bw: their first states.
      inputs, dtype, sequence_length: as for `static_rnn`.
      scope: a variable scope or its name, "bidirectional_rnn" by default.

    Returns:
      A list over time of outputs, forward and backward ones joined along their last dimension; the
      last state of the forward cell; that of the backward cell.
    """
    assert_like_rnncell("cell_fw", cell_fw)
    assert_like_rnncell("cell_bw", cell_bw)
    _check_inputs(inputs)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            output_fw, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=forward
            )
        with variable_scope("bw") as backward:
            output_bw, state_bw = static_rnn(
                cell_bw,
                reversed_sequence(inputs, sequence_length),
                initial_state_bw, dtype, sequence_length, scope=backward,
            )  # fmt: skip
    output_bw = reversed_sequence(output_bw, sequence_length)
    flat_bw = nest.flatten(output_bw)
    joined = [concat([fw, bw], 1) for fw, bw in zip(nest.flatten(output_fw), flat_bw)]
    return nest.pack_sequence_as(output_fw, joined), state_fw, state_bw


def reversed_sequence(values: Any, lengths: Any) -> list[Any]:
    """Return a list over time backwards; within the lengths of the sequences, if they are given."""
    if lengths is None:
        return list(reversed(values))
    results: list[list[Any]] = [[] for _ in values]
    for sequence in zip(*(nest.flatten(value) for value in values)):
        shape = unknown_shape(rank=sequence[0].get_shape().ndims)
        for value in sequence:
            shape.merge_with(value.get_shape())
            value.set_shape(shape)
        backwards = unstack(reverse_sequence(stack(sequence), lengths, 0, 1))
        for value, result in zip(backwards, results, strict=True):
            value.set_shape(shape)
            result.append(value)
    return [nest.pack_sequence_as(value, flat) for value, flat in zip(values, results)]
