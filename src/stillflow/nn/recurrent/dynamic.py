"""`tf.nn.dynamic_rnn`: a cell applied to a sequence in a loop of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillflow import nest
from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.nn.recurrent.steps import (
    Lengths,
    best_effort_input_batch_size,
    first_state,
    is_keras_cell,
    masked_step,
    recurrent_scope,
    state_dtype,
    static_shape,
    transpose_batch_time,
)
from stillflow.nn.rnn_cell import sizes
from stillflow.nn.rnn_cell.base import assert_like_rnncell
from stillflow.ops.arrays import fill
from stillflow.ops.arrays.reverse import reverse as reverse_
from stillflow.ops.arrays.reverse import reverse_sequence
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.arrays.stack import stack
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.control_flow.while_loop import while_loop
from stillflow.ops.debugging.asserts import Assert
from stillflow.ops.math.binary import maximum, minimum
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal
from stillflow.ops.math.reductions import reduce_all
from stillflow.ops.tensor_array import tensor_array
from stillflow.variables.variable_scope import variable_scope

if TYPE_CHECKING:
    from stillflow.ops.tensor_array.tensor_array import TensorArray


@export("nn.dynamic_rnn")
def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """Apply a cell to a batch of sequences, in a loop.

    Args:
      cell: an RNNCell.
      inputs: (nested) tensors [batch, time, ...].
      sequence_length: int32 [batch]; behind it outputs are zeros and states stay. None where all
        sequences are full.
      initial_state: (nested) tensors as the cell's state; zeros by default.
      dtype: of the zero state and the outputs.
      parallel_iterations: how many steps may run at the same time; 32 by default.
      swap_memory: whether values kept for the gradient may be moved to the host's memory.
      time_major: whether inputs and outputs are [time, batch, ...].
      scope: a variable scope or its name, "rnn" by default.

    Returns:
      The outputs (nested as the cell's, [batch, time, ...]) and the last state.

    Raises:
      TypeError: if `cell` is no cell.
      ValueError: if the depth of the inputs is unknown, or neither a state nor a dtype is given.

    Example:
      >>> cell = tf.nn.rnn_cell.BasicRNNCell(4)
      >>> outputs, state = tf.nn.dynamic_rnn(cell, tf.ones([2, 5, 3]), [5, 2], dtype=tf.float32)
      >>> outputs.shape.as_list(), state.shape.as_list()
      ([2, 5, 4], [2, 4])
    """
    assert_like_rnncell("cell", cell)
    with recurrent_scope(scope):
        flat = nest.flatten(inputs)
        if not time_major:
            flat = [convert_to_tensor(value) for value in flat]
            flat = [transpose_batch_time(value) for value in flat]
        if sequence_length is not None:
            sequence_length = cast(sequence_length, dtypes.int32)
            if sequence_length.get_shape().ndims not in (None, 1):
                raise ValueError(
                    "sequence_length must be a vector of length batch_size, but saw shape: "
                    f"{sequence_length.get_shape()}"
                )
            sequence_length = identity(sequence_length, name="sequence_length")
        batch_size = best_effort_input_batch_size(flat)
        message = "If there is no initial_state, you must give a dtype."
        state = first_state(cell, initial_state, batch_size, dtype, message)
        if sequence_length is not None and not executing_eagerly():
            with control_dependencies([_has_shape(sequence_length, [batch_size])]):
                sequence_length = identity(sequence_length, name="CheckSeqLen")
        loop = _Loop(cell, nest.pack_sequence_as(inputs, flat), state, sequence_length, dtype)
        outputs, final_state = loop.run(parallel_iterations or 32, swap_memory)
        if not time_major:
            outputs = nest.map_structure(transpose_batch_time, outputs)
        return outputs, final_state


def _has_shape(x: Any, expected: list[Any]) -> Operation | None:
    shape, packed = shape_of(x), stack(expected)
    return Assert(
        reduce_all(equal(shape, packed)),
        [f"Expected shape for Tensor {x.name} is ", packed, " but saw shape: ", shape],
    )


class _Loop:
    """The loop of one call: inputs are [time, batch, ...]."""

    def __init__(
        self, cell: Any, inputs: Any, state: Any, sequence_length: Any, dtype: Any
    ) -> None:
        self.cell, self.inputs, self.state = cell, inputs, state
        self.flat_input = nest.flatten(inputs)
        self.output_sizes = nest.flatten(cell.output_size)
        self.time_steps = shape_of(self.flat_input[0])[0]
        batch_size = best_effort_input_batch_size(self.flat_input)
        self.shapes, self.static = _static_sizes(self.flat_input)
        self.dtype = dtype
        zeros = [
            fill.zeros(stack(sizes.concat(batch_size, size)), state_dtype(dtype, state))
            for size in self.output_sizes
        ]
        self.zero_output = nest.pack_sequence_as(cell.output_size, zeros)
        self.lengths = None if sequence_length is None else Lengths(sequence_length)

    def run(self, parallel_iterations: int, swap_memory: bool) -> tuple[Any, Any]:
        time = constant(0, dtype=dtypes.int32, name="time")
        with name_scope("dynamic_rnn") as base_name:
            pass
        outputs = self._output_arrays(base_name)
        self.arrays = self._input_arrays(base_name)
        longest = self.time_steps if self.lengths is None else self.lengths.most
        bound = minimum(self.time_steps, maximum(1, longest))
        _, outputs, state = while_loop(
            cond=lambda time, *_: time < bound,
            body=self._step,
            loop_vars=(time, outputs, self.state),
            parallel_iterations=parallel_iterations,
            maximum_iterations=self.time_steps,
            swap_memory=swap_memory,
        )
        stacked = tuple(array.stack() for array in outputs)
        for value, size in zip(stacked, self.output_sizes, strict=True):
            value.set_shape(sizes.concat(self.static, size, static=True))
        return nest.pack_sequence_as(self.cell.output_size, stacked), state

    def _array(self, name: str, element_shape: Any, dtype: Any) -> TensorArray:
        return tensor_array.TensorArray(
            dtype=dtype,
            size=self.time_steps,
            element_shape=element_shape,
            tensor_array_name=name,
        )

    def _output_arrays(self, base_name: str) -> tuple[Any, ...]:
        batch = TensorShape([self.static[1]])
        return tuple(
            self._array(
                f"{base_name}output_{i}",
                batch.concatenate(static_shape(size)),
                state_dtype(self.dtype, self.state),
            )
            for i, size in enumerate(self.output_sizes)
        )

    def _input_arrays(self, base_name: str) -> tuple[Any, ...]:
        arrays = [
            self._array(f"{base_name}input_{i}", value.shape[1:], value.dtype)
            for i, value in enumerate(self.flat_input)
        ]
        return tuple(
            array.unstack(value) for array, value in zip(arrays, self.flat_input, strict=True)
        )

    def _step(self, time: Any, outputs: Any, state: Any) -> tuple[Any, Any, Any]:
        flat = tuple(array.read(time) for array in self.arrays)
        for value, shape in zip(flat, self.shapes, strict=True):
            value.set_shape(shape[1:])
        inputs = nest.pack_sequence_as(self.inputs, flat)
        keras = is_keras_cell(self.cell)
        if keras and not nest.is_sequence(state):
            state = [state]

        def call_cell() -> tuple[Tensor | tuple[Tensor, Tensor], Any]:
            return self.cell(inputs, state)

        if self.lengths is None:
            output, new_state = call_cell()
        else:
            output, new_state = masked_step(
                time, self.lengths, self.zero_output, state, call_cell, conditional=False
            )
        if keras and len(new_state) == 1:
            new_state = new_state[0]
        written = zip(outputs, nest.flatten(output), strict=False)
        outputs = tuple(array.write(time, value) for array, value in written)
        return time + 1, outputs, new_state


def _static_sizes(flat_input: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return the shapes of the inputs, and the static [time, batch], the same for all."""
    shapes = [value.get_shape().with_rank_at_least(3) for value in flat_input]
    time, batch = shapes[0].as_list()[:2]
    for shape in shapes:
        if not shape[2:].is_fully_defined():
            raise ValueError(
                "Input size (depth of inputs) must be accessible via shape inference, but saw "
                "value None."
            )
        if time != shape.dims[0].value:
            raise ValueError(
                "Time steps is not the same for all the elements in the input in a batch."
            )
        if batch != shape.dims[1].value:
            raise ValueError("Batch_size is not the same for all the elements in the input.")
    return shapes, [time, batch]


@export("nn.bidirectional_dynamic_rnn")
def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """Apply one cell to sequences from the first to the last element, another backwards.

    Args:
      cell_fw, cell_bw: the cells.
      initial_state_fw, initial_state_bw: their first states.
      inputs, sequence_length, dtype, parallel_iterations, swap_memory, time_major: as for
        `tf.nn.dynamic_rnn`.
      scope: a variable scope or its name, "bidirectional_rnn" by default.

    Returns:
      Two pairs of forward and backward: outputs, both in the order of the inputs, and states.

    Example:
      >>> x, cells = tf.ones([2, 5, 3]), [tf.nn.rnn_cell.GRUCell(4), tf.nn.rnn_cell.GRUCell(4)]
      >>> outputs, states = tf.nn.bidirectional_dynamic_rnn(*cells, x, dtype=tf.float32)
      >>> tf.concat(outputs, 2).shape.as_list(), [state.shape.as_list() for state in states]
      ([2, 5, 8], [[2, 4], [2, 4]])
    """
    assert_like_rnncell("cell_fw", cell_fw)
    assert_like_rnncell("cell_bw", cell_bw)
    options = {
        "sequence_length": sequence_length, "dtype": dtype, "swap_memory": swap_memory,
        "parallel_iterations": parallel_iterations, "time_major": time_major,
    }  # fmt: skip
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def reverse(value: Any) -> Any:
        if sequence_length is None:
            return reverse_(value, axis=[time_axis])
        return reverse_sequence(
            value, seq_lengths=sequence_length, seq_axis=time_axis, batch_axis=batch_axis
        )

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            output_fw, state_fw = dynamic_rnn(
                cell_fw, inputs, initial_state=initial_state_fw, scope=forward, **options
            )
        with variable_scope("bw") as backward:
            reversed_inputs = nest.map_structure(reverse, inputs)
            output_bw, state_bw = dynamic_rnn(
                cell_bw, reversed_inputs, initial_state=initial_state_bw, scope=backward, **options
            )
    return (output_fw, reverse(output_bw)), (state_fw, state_bw)
