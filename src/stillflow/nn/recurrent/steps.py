"""Shared parts of functions that run a cell over a sequence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from stillflow import nest
from stillflow.graph.api import colocate_with
from stillflow.graph.dtypes import DType
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.layers.base_layer import Layer
from stillflow.nn.rnn_cell.base import RNNCell
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import rank
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.math.reductions import reduce_max, reduce_min
from stillflow.ops.tensor_array.tensor_array import TensorArray
from stillflow.variables.variable_scope import variable_scope


@contextmanager
def recurrent_scope(scope: Any, default: str = "rnn", unique: bool = False) -> Iterator[Any]:
    """Return a variable scope whose variables are read once, not in every iteration.

    It may be given by name, `default` if not; that is made unique if so asked.
    """
    with variable_scope(*((scope, default) if unique else (scope or default,))) as opened:
        context = get_default_graph()._get_control_flow_context()
        in_loop = context is not None and context.GetWhileContext() is not None
        cached = not in_loop and not executing_eagerly()
        if cached and opened.caching_device is None:
            opened.set_caching_device(lambda op: op.device)
        yield opened


@export("contrib.rnn.transpose_batch_time")
def transpose_batch_time(x: Any) -> Tensor:
    """Swap the first two dimensions of `x`, if it has two.

    Args:
      x: a tensor.
    """
    static = x.get_shape()
    if static.ndims is not None and static.ndims < 2:
        return x
    rest = range_(2, rank(x))
    result = transpose(x, concat(([1, 0], rest), axis=0))
    dims = [static.dims[1].value, static.dims[0].value] if static.dims is not None else [None] * 2
    result.set_shape(TensorShape(dims).concatenate(static[2:]))
    return result


@export("contrib.rnn.best_effort_input_batch_size")
def best_effort_input_batch_size(flat_input: Sequence[Any]) -> Tensor | int:
    """Return the batch size of inputs [time, batch, ...]: a number if it is known, else a tensor.

    Raises:
      ValueError: if an input has less than two dimensions.
    """
    for value in flat_input:
        shape = value.shape
        if shape.ndims is None:
            continue
        if shape.ndims < 2:
            raise ValueError(f"Expected input tensor {value} to have rank at least 2")
        if shape.dims[1].value is not None:
            return shape.dims[1].value
    return shape_of(flat_input[0])[1]


def state_dtype(explicit: Any, state: Any) -> DType:
    """Return the dtype given, or else the one that all parts of the state have."""
    if explicit is not None:
        return explicit
    if not nest.is_sequence(state):
        return state.dtype
    found = [part.dtype for part in nest.flatten(state)]
    if not found:
        raise ValueError("Unable to infer dtype from empty state.")
    if any(dtype != found[0] for dtype in found):
        raise ValueError(
            "State has tensors of different inferred_dtypes. Unable to infer a single "
            "representative dtype."
        )
    return found[0]


def static_shape(size: Any) -> Any:
    """Return a size, or the static value of a tensor."""
    return as_shape(static_value(size)) if isinstance(size, Tensor) else size


def is_keras_cell(cell: Any) -> bool:
    """Return True if a cell is one of Keras', whose state is always a list."""
    return (
        isinstance(cell, Layer)
        and not isinstance(cell, RNNCell)
        and getattr(cell, "zero_state", None) is None
    )


def first_state(cell: Any, initial_state: Any, batch_size: Any, dtype: Any, message: str) -> Any:
    """Return the state given, or else the cell's zero state; ValueError without a dtype."""
    if initial_state is not None:
        return initial_state
    if not dtype:
        raise ValueError(message)
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def keep_where(finished: Any, old: Any, new: Any) -> Tensor:
    """Return the rows of `old` where `finished` holds, else those of `new`.

    Scalars and arrays are new.
    """
    if isinstance(old, TensorArray) or old.shape.ndims == 0:
        return new
    with colocate_with(new):
        return where(finished, old, new)


class Lengths:
    """The lengths of the sequences of a batch, and their limits."""

    def __init__(self, lengths: Any) -> None:
        self.each = lengths
        self.least = reduce_min(lengths)
        self.most = reduce_max(lengths)


def masked_step(
    time: Any,
    lengths: Lengths,
    zero_output: Any,
    state: Any,
    call_cell: Callable[[], tuple[Any, Any]],
    conditional: bool,
) -> tuple[Any, Any]:
    """Return a step after whose end sequences give zeros and keep their state.

    `call_cell` gives output and next state; if `conditional`, it is called only while there are
    sequences left.
    """
    before = nest.flatten(zero_output) + nest.flatten(state)
    count = len(nest.flatten(zero_output))
    finished = time >= lengths.each

    def step() -> list[Any]:
        output, new_state = call_cell()
        nest.assert_same_structure(zero_output, output)
        nest.assert_same_structure(state, new_state)
        flat: list[Any] = nest.flatten(output) + nest.flatten(new_state)
        return flat

    def keep(after: list[Any]) -> list[Any]:
        return [keep_where(finished, old, new) for old, new in zip(before, after, strict=False)]

    def step_of_the_unfinished() -> list[Tensor]:
        after = step()
        return cond(time < lengths.least, lambda: after, lambda: keep(after))

    if conditional:
        values = cond(time >= lengths.most, lambda: before, step_of_the_unfinished)
    else:
        values = keep(step())
    if len(values) != len(before):
        raise ValueError("Internal error: state and output were not concatenated correctly.")
    for value, old in zip(values, before, strict=True):
        if not isinstance(value, TensorArray):
            value.set_shape(old.get_shape())
    return (
        nest.pack_sequence_as(structure=zero_output, flat_sequence=values[:count]),
        nest.pack_sequence_as(structure=state, flat_sequence=values[count:]),
    )
