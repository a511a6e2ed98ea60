"""States of recurrent layers."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.util import tf_inspect


def is_multiple(state_size: Any) -> bool:
    """Return True if a cell has several states."""
    return hasattr(state_size, "__len__") and not isinstance(state_size, TensorShape)


def sizes_of(size: Any) -> list[Any]:
    """Return the sizes of a state: an integer or a shape as a list."""
    sizes: list[Any] = as_shape(size).as_list()
    return sizes


def output_size_of(cell: Any) -> Any:
    """Return the size of a cell's output; that of its first state unless it says another."""
    if getattr(cell, "output_size", None) is not None:
        return cell.output_size
    return cell.state_size[0] if is_multiple(cell.state_size) else cell.state_size


def zero_states(batch_size: Any, state_size: Any, dtype: Any) -> Any:
    """Return zeros [batch, *size] for each size; ValueError without batch size or dtype."""
    if batch_size is None or dtype is None:
        raise ValueError(
            "batch_size and dtype cannot be None while constructing initial state: "
            f"batch_size={batch_size}, dtype={dtype}"
        )
    return nest.map_structure(
        lambda size: tf.zeros([batch_size, *sizes_of(size)], dtype=dtype), state_size
    )


def zero_states_of(cell: Any, inputs: Any, batch_size: Any, dtype: Any) -> Tensor | list[Tensor]:
    """Return the zero states of a cell; the inputs tell batch size and dtype, if they are given."""
    if inputs is not None:
        batch_size, dtype = tf.shape(inputs)[0], inputs.dtype
    return zero_states(batch_size, cell.state_size, dtype)


def takes(cell: Any, argument: str) -> bool:
    """Return True if a cell's `call` takes an argument."""
    return argument in tf_inspect.getfullargspec(cell.call).args
