"""`tf.nn.raw_rnn`: a cell in a loop whose inputs and states a function of the user's chooses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import nest
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.tensor_shape import TensorShape, dimension_at_index, dimension_value
from stillflow.nn.recurrent.steps import keep_where, recurrent_scope, static_shape
from stillflow.nn.rnn_cell import sizes
from stillflow.nn.rnn_cell.base import assert_like_rnncell
from stillflow.ops.arrays import fill
from stillflow.ops.arrays.shape import shape
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.while_loop import while_loop
from stillflow.ops.math.comparison import logical_not, logical_or
from stillflow.ops.math.reductions import reduce_all
from stillflow.ops.tensor_array.tensor_array import TensorArray


@export("nn.raw_rnn")
def raw_rnn(
    cell: Any,
    loop_fn: Callable[..., Any],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Apply a cell in a loop whose inputs and end `loop_fn` decides.

    Args:
      cell: an RNNCell.
      loop_fn: of (time, cell_output, cell_state, loop_state); gives (finished, next_input,
        next_state, emit_output, next_loop_state). It is called with time 0 and None for the others
        first, and gives then the first input and state, and zeros like one row of what it emits
        (None where that is the cell's output).
      parallel_iterations: how many steps may run at the same time; 32 by default.
      swap_memory: whether values kept for the gradient may be moved to the host's memory.
      scope: a variable scope or its name, "rnn" by default.

    Returns:
      TensorArrays of what was emitted, the last state, and the last loop state.

    Raises:
      TypeError: if `cell` is no cell or `loop_fn` is not callable.
      ValueError: if structures or shapes do not fit.
    """
    assert_like_rnncell("cell", cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with recurrent_scope(scope):
        time = constant(0, dtype=dtypes.int32)
        finished, first_input, state, emitted, loop_state = loop_fn(time, None, None, None)
        has_loop_state = loop_state is not None
        if not has_loop_state:
            loop_state = constant(0, dtype=dtypes.int32)
        batch_size, known_batch_size = _batch_size(nest.flatten(first_input))
        nest.assert_same_structure(state, cell.state_size)
        flat_state = [convert_to_tensor(part) for part in nest.flatten(state)]
        state = nest.pack_sequence_as(state, flat_state)
        structure, kinds = _emitted(cell, emitted, flat_state[0].dtype)
        arrays = [
            TensorArray(
                dtype=dtype,
                dynamic_size=True,
                element_shape=TensorShape([known_batch_size]).concatenate(static_shape(size)),
                size=0,
                name=f"rnn_output_{i}",
            )
            for i, (size, dtype) in enumerate(kinds)
        ]
        zeros = [fill.zeros(sizes.concat(batch_size, size), dtype) for size, dtype in kinds]
        body = _Body(cell, loop_fn, nest.pack_sequence_as(structure, zeros))
        returned = while_loop(
            lambda time, finished, *_: logical_not(reduce_all(finished)),
            body,
            loop_vars=[
                time, finished, first_input, nest.pack_sequence_as(structure, arrays), state,
                loop_state,
            ],
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )  # fmt: skip
        arrays, final_state, final_loop_state = returned[-3:]
        return arrays, final_state, final_loop_state if has_loop_state else None


def _batch_size(flat_input: list[Any]) -> tuple[Any, Any]:
    """Return the batch size, and its static value."""
    first, *others = (dimension_at_index(value.get_shape(), 0) for value in flat_input)
    for other in others:
        first.merge_with(other)
    known = dimension_value(first)
    return (shape(flat_input[0])[0] if known is None else known), known


def _emitted(cell: Any, emitted: Any, dtype: Any) -> tuple[Any, list[tuple[Any, Any]]]:
    """Return the structure of a step's output, and the size and dtype of each part."""
    if emitted is None:
        return cell.output_size, [(size, dtype) for size in nest.flatten(cell.output_size)]
    flat = nest.flatten(emitted)
    sizes_ = [part.shape if part.shape.is_fully_defined() else shape(part) for part in flat]
    return emitted, list(zip(sizes_, [part.dtype for part in flat], strict=True))


class _Body:
    """The body of the loop."""

    def __init__(self, cell: Any, loop_fn: Callable[..., Any], zeros: Any) -> None:
        self.cell, self.loop_fn, self.zeros = cell, loop_fn, zeros

    def __call__(
        self, time: Any, finished: Any, inputs: Any, arrays: Any, state: Any, loop_state: Any
    ) -> tuple[Any, ...]:
        output, cell_state = self.cell(inputs, state)
        nest.assert_same_structure(state, cell_state)
        nest.assert_same_structure(self.cell.output_size, output)
        next_time = time + 1
        next_finished, next_input, next_state, emitted, next_loop_state = self.loop_fn(
            next_time, output, cell_state, loop_state
        )
        nest.assert_same_structure(state, next_state)
        nest.assert_same_structure(inputs, next_input)
        nest.assert_same_structure(arrays, emitted)

        def keep(old: Any, new: Any) -> Any:
            return keep_where(finished, old, new)

        emitted = nest.map_structure(keep, self.zeros, emitted)
        next_state = nest.map_structure(keep, state, next_state)
        arrays = nest.map_structure(lambda array, value: array.write(time, value), arrays, emitted)
        if next_loop_state is not None:
            loop_state = next_loop_state
        finished = logical_or(finished, next_finished)
        return next_time, finished, next_input, arrays, next_state, loop_state
