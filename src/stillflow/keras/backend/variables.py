"""Variables, placeholders and constants, and static facts about tensors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.api import init_scope
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.config import floatx
from stillflow.keras.backend.initialization import track_variable
from stillflow.layers.names import default_counts, reset_counts
from stillflow.layers.node import int_shape as _int_shape
from stillflow.layers.symbolic_graph import symbolic_graph
from stillflow.variables.base import VariableV2


@export("keras.backend.backend")
def backend() -> str:
    """Return "tensorflow"."""
    return "tensorflow"


@export("keras.backend.cast_to_floatx")
def cast_to_floatx(x: Any) -> np.ndarray:
    """Return an array of the default dtype."""
    return np.asarray(x, dtype=floatx())


@export("keras.backend.get_uid")
def get_uid(prefix: str = "") -> int:
    """Return the number of calls with this prefix in the default graph, this one included."""
    counts: Any = default_counts()
    counts[prefix] += 1
    count: int = counts[prefix]
    return count


export("keras.backend.reset_uids")(reset_counts)


@export("keras.backend.variable")
def variable(value: Any, dtype: Any = None, name: Any = None, constraint: Any = None) -> Any:
    """Return a variable with a first value; a sparse tensor of a matrix of scipy."""
    dtype = floatx() if dtype is None else dtype
    if hasattr(value, "tocoo"):
        coo = value.tocoo()
        indices = np.stack([coo.row, coo.col], axis=1)
        return tf.SparseTensor(indices=indices, values=coo.data, dense_shape=coo.shape)
    made = tf.Variable(
        value, dtype=tf.as_dtype(dtype), name=name, constraint=constraint, use_resource=True
    )
    track_variable(made)
    return made


@export("keras.backend.constant")
def constant(value: Any, dtype: Any = None, shape: Any = None, name: Any = None) -> Any:
    """Return a constant of the default dtype."""
    return tf.constant(value, dtype=dtype or floatx(), shape=shape, name=name or "Const")


@export("keras.backend.is_keras_tensor")
def is_keras_tensor(x: Any) -> bool:
    """Return True if a tensor comes from a layer.

    Raises:
      ValueError: if it is no tensor.
    """
    if not isinstance(x, (tf.Tensor, VariableV2, CompositeTensor)):
        raise ValueError(
            f"Unexpectedly found an instance of type `{type(x)}`. Expected a symbolic tensor "
            "instance."
        )
    return hasattr(x, "_keras_history")


@export("keras.backend.placeholder")
def placeholder(
    shape: Any = None,
    ndim: int | None = None,
    dtype: Any = None,
    sparse: bool = False,
    name: Any = None,
    ragged: bool = False,
) -> Any:
    """Return a placeholder of the default dtype; of rank `ndim` if no shape is given.

    Args:
      ragged: whether rows differ in their sizes; those that do are None in the shape, the second
        dimension being the first of them.

    Raises:
      ValueError: if it is to be sparse and ragged.
    """
    if sparse and ragged:
        raise ValueError("Cannot set both sparse and ragged to True when creating a placeholder.")
    if not shape and ndim:
        shape = (None,) * ndim
    make = tf.sparse_placeholder if sparse else tf.placeholder
    with symbolic_graph().as_default():
        if ragged:
            sizes = tuple(shape)
            rank = sum(1 for _ in itertools.takewhile(lambda size: size is None, sizes[1:]))
            values = sizes[rank + 1 :]
            return tf.ragged.placeholder(dtype or floatx(), rank, values, name=name)
        return make(dtype or floatx(), shape=shape, name=name)


def is_placeholder(x: Any) -> bool:
    """Return True if a tensor is a placeholder, or made of some."""
    if isinstance(x, CompositeTensor):
        return any(is_placeholder(part) for part in tf.nest.flatten(x, expand_composites=True))
    return getattr(getattr(x, "op", None), "type", None) == "Placeholder"


@export("keras.backend.shape")
def shape(x: Any) -> Any:
    """Return the shape, as a tensor."""
    return tf.shape(x)


@export("keras.backend.int_shape")
def int_shape(x: Any) -> Any:
    """Return the static shape as a tuple, None for unknown sizes.

    None if even the rank is unknown.
    """
    return _int_shape(x)


@export("keras.backend.ndim")
def ndim(x: Any) -> int | None:
    """Return the rank; None if it is unknown."""
    rank: int | None = x.shape.ndims
    return rank


@export("keras.backend.dtype")
def dtype(x: Any) -> str:
    """Return the name of the dtype."""
    name: str = x.dtype.base_dtype.name
    return name


def _filled(fill: Any, shape: Any, dtype: Any, name: Any) -> Any:
    with init_scope():
        dtype = dtype or floatx()
        value = fill(shape=shape, dtype=tf.as_dtype(dtype), name=name)
        if all(value.shape.as_list()):
            return variable(value, dtype=dtype, name=name)
        track_variable(value)
        return value


@export("keras.backend.zeros")
def zeros(shape: Any, dtype: Any = None, name: Any = None) -> Any:
    """Return a variable of zeros; a tensor if its shape is not known."""
    return _filled(tf.zeros, shape, dtype, name)


@export("keras.backend.ones")
def ones(shape: Any, dtype: Any = None, name: Any = None) -> Any:
    """Return a variable of ones; a tensor if its shape is not known."""
    return _filled(tf.ones, shape, dtype, name)


@export("keras.backend.eye")
def eye(size: int, dtype: Any = None, name: Any = None) -> Any:
    """Return a variable: the identity matrix."""
    return variable(tf.eye(size, dtype=tf.as_dtype(dtype or floatx())), dtype, name)


@export("keras.backend.zeros_like")
def zeros_like(x: Any, dtype: Any = None, name: Any = None) -> Any:
    """Zeros of the shape of `x`."""
    return tf.zeros_like(x, dtype=dtype, name=name)


@export("keras.backend.ones_like")
def ones_like(x: Any, dtype: Any = None, name: Any = None) -> Any:
    """Ones of the shape of `x`."""
    return tf.ones_like(x, dtype=dtype, name=name)


def _drawn(initializer: Any, shape: Any, dtype: Any, name: Any, seed: Any) -> Any:
    dtype = dtype or floatx()
    seed = np.random.randint(10**9) if seed is None else seed
    return variable(initializer(dtype=tf.as_dtype(dtype), seed=seed)(shape), dtype, name)


@export("keras.backend.random_uniform_variable")
def random_uniform_variable(
    shape: Any, low: Any, high: Any, dtype: Any = None, name: Any = None, seed: Any = None
) -> Any:
    """Return a variable drawn uniformly from [low, high)."""
    return _drawn(
        lambda **how: tf.random_uniform_initializer(low, high, **how), shape, dtype, name, seed
    )


@export("keras.backend.random_normal_variable")
def random_normal_variable(
    shape: Any, mean: Any, scale: Any, dtype: Any = None, name: Any = None, seed: Any = None
) -> Any:
    """Return a variable drawn from a normal distribution."""
    return _drawn(
        lambda **how: tf.random_normal_initializer(mean, scale, **how), shape, dtype, name, seed
    )


@export("keras.backend.count_params")
def count_params(x: Any) -> Any:
    """Return the number of elements."""
    return np.prod(x.shape.as_list())


@export("keras.backend.update")
def update(x: Any, new_x: Any) -> Any:
    """Assign to a variable."""
    return tf.assign(x, new_x)


@export("keras.backend.update_add")
def update_add(x: Any, increment: Any) -> Any:
    """Add to a variable."""
    return tf.assign_add(x, increment)


@export("keras.backend.update_sub")
def update_sub(x: Any, decrement: Any) -> Any:
    """Subtracts from a variable."""
    return tf.assign_sub(x, decrement)


@export("keras.backend.moving_average_update")
def moving_average_update(x: Any, value: Any, momentum: Any) -> Tensor:
    """Move a variable towards a value, corrected for its start at zero."""
    from stillflow.train.moving_averages import assign_moving_average

    return assign_moving_average(x, value, momentum, zero_debias=True)
