"""Shapes that are checked when the graph runs."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.tensor_like import is_tensor
from stillflow.graph.tensor_shape import TensorShape


def _same_rank(expected_shape: Any, tensor: Any) -> Tensor:
    expected_rank = tf.size(expected_shape)
    with tf.name_scope("is_rank", values=[tensor]) as scope:
        expected = tf.convert_to_tensor(expected_rank, name="expected")
        return tf.equal(expected, tf.rank(tensor, name="actual"), name=scope)


def _same_dims(expected_shape: Any, actual: Any) -> Tensor:
    """Return True if all sizes are equal, or -1 where they are expected."""
    with tf.name_scope("shape_tensor_equal", values=[expected_shape, actual]) as scope:
        free = tf.equal(expected_shape, -1)
        equal = tf.equal(expected_shape, actual, "equal")
        return tf.reduce_all(tf.logical_or(free, equal, name="exclude_partial_shape"), name=scope)


def _is_shape(expected_shape: Any, tensor: Any, actual: Any) -> Tensor:
    with tf.name_scope("is_shape", values=[tensor]) as scope:
        same_rank = _same_rank(expected_shape, tensor)
        return tf.logical_and(same_rank, _same_dims(expected_shape, actual), name=scope)


def _assert_shape(expected_shape: Any, tensor: Any) -> Operation:
    with tf.name_scope("assert_shape", values=[tensor]) as scope:
        actual = tf.shape(tensor, name="actual")
        wanted = expected_shape
        if isinstance(wanted, TensorShape) and not wanted.is_fully_defined():
            wanted = [size or -1 for size in wanted.as_list()]
        told = [f"Wrong shape for {tensor.name} [expected] [actual].", wanted, actual]
        return tf.Assert(_is_shape(wanted, tensor, actual), told, name=scope)


def _vector(expected_shape: Any, name: str) -> TensorShape:
    """Return the shape as an int32 array if it is a list or an array."""
    if isinstance(expected_shape, (list, tuple)):
        expected_shape = np.asarray(expected_shape)
        if not expected_shape.size or expected_shape.dtype == np.int64:
            expected_shape = expected_shape.astype(np.int32)
    if isinstance(expected_shape, np.ndarray):
        what = f"for shape {expected_shape} expected of tensor {name}."
        if expected_shape.ndim > 1:
            raise ValueError(f"Invalid rank {expected_shape.ndim} {what}")
        if expected_shape.dtype != np.int32:
            raise ValueError(f"Invalid dtype {expected_shape.dtype} {what}")
    return expected_shape


@export("contrib.framework.with_shape")
def with_shape(expected_shape: Any, tensor: Any) -> Any:
    """`tensor`, checked to be of a shape: now if that is known, else when the graph runs.

    Args:
      expected_shape: a list, or an int32 vector.
      tensor: a tensor.

    Raises:
      ValueError: if the shape does not fit, or is no vector of int32.
    """
    if isinstance(tensor, SparseTensor):
        raise ValueError("SparseTensor not supported.")
    dynamic = is_tensor(expected_shape)
    if dynamic and expected_shape.dtype.base_dtype != tf.int32:
        raise ValueError(
            f"Invalid dtype {expected_shape.dtype} for shape {expected_shape} expected of tensor "
            f"{tensor.name}."
        )
    expected_shape = _vector(expected_shape, tensor.name)
    actual = tensor.get_shape()
    if not actual.is_fully_defined() or dynamic:
        with tf.name_scope(f"{tensor.op.name}/", values=[tensor]):
            if not dynamic and len(expected_shape) < 1:
                return tf.reshape(tensor, [])
            with tf.control_dependencies([_assert_shape(expected_shape, tensor)]):
                result = tf.identity(tensor)
            if not dynamic:
                result.set_shape(expected_shape)
            return result
    if not actual.is_compatible_with(expected_shape):
        if len(expected_shape) < 1 and actual.is_compatible_with([1]):
            with tf.name_scope(f"{tensor.op.name}/", values=[tensor]):
                return tf.reshape(tensor, [])
        raise ValueError(
            f"Invalid shape for tensor {tensor.name}, expected {expected_shape}, got {actual}."
        )
    return tensor


@export("contrib.framework.with_same_shape")
def with_same_shape(expected_tensor: Any, tensor: Any) -> Any:
    """`tensor`, checked to be of the shape of another.

    Raises:
      ValueError: if it is known not to be.
    """
    with tf.name_scope(f"{tensor.op.name}/", values=[expected_tensor, tensor]):
        shape = expected_tensor.get_shape()
        if shape.is_fully_defined():
            return with_shape(shape.as_list(), tensor)
        return with_shape(tf.shape(expected_tensor, name="expected_shape"), tensor)
