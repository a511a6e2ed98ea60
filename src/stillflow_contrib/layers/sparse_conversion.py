"""Sparse tensors of dense ones."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.feature_column.cache import values_without
from stillflow.graph.operation import Tensor


def _nothing(dtype: Any, ignore_value: Any) -> Any:
    """Return the value of empty cells: zero or the empty string by default."""
    if ignore_value is not None:
        return ignore_value
    return "" if dtype == tf.string else dtype.as_numpy_dtype()


def dense_to_sparse_tensor(dense_tensor: Any, ignore_value: Any = None) -> tf.SparseTensor:
    """Return a dense tensor's values that are not `ignore_value`, in their places.

    Zeros or empty strings are left out by default.
    """
    with tf.name_scope("DenseToSparseTensor"):
        dense_tensor = tf.convert_to_tensor(dense_tensor)
        return values_without(dense_tensor, _nothing(dense_tensor.dtype, ignore_value))


def indicators_to_sparse_ids(
    indicators: Any, ignore_value: Any = None, dtype: Any = tf.int64
) -> tf.SparseTensor:
    """Return the places of a dense tensor's values that are not `ignore_value`, moved to the left.

    Indicators are [..., n], of any type; zeros or empty strings are empty by default.
    """
    if not dtype.is_integer:
        raise ValueError(f"Invalid dtype {dtype} not integer.")
    with tf.name_scope(None, "indicators_to_sparse_ids", (indicators, ignore_value)):
        indicators = tf.convert_to_tensor(indicators, name="indicators")
        ignored = tf.cast(
            _nothing(indicators.dtype, ignore_value), indicators.dtype, name="ignore_value"
        )
        missing = tf.equal(indicators, ignored, name="missing")
        zeros = tf.zeros_like(indicators, dtype=tf.int64, name="zeros")
        ones = tf.ones_like(indicators, dtype=tf.int64, name="ones")
        present = tf.where(missing, zeros, ones, name="binary_indicators")
        numbers = tf.where(missing, zeros, tf.cumsum(present, axis=-1), "row_index_indicators")
        width = tf.reshape(tf.reduce_max(numbers), shape=(1,), name="result_last_dim")
        sparse = dense_to_sparse_tensor(numbers, ignore_value=0)
        rows, places = sparse.indices[:, :-1], tf.reshape(sparse.values - 1, (-1, 1))
        return tf.SparseTensor(
            indices=tf.concat((rows, places), axis=1, name="indices"),
            values=tf.cast(sparse.indices[:, -1], dtype=dtype, name="values"),
            dense_shape=tf.concat((sparse.dense_shape[0:-1], width), axis=0, name="dense_shape"),
        )


def sparse_row_envelope(
    sparse_input: Any, row_axis: int = 0, col_axis: int = 1, name: str | None = None
) -> Tensor:
    """Return the width of each row of a SparseTensor: the last column's number, plus one."""
    if not (isinstance(row_axis, int) and isinstance(col_axis, int)):
        raise ValueError("`row_axis` and `col_axis` must be integers.")
    if row_axis == col_axis:
        raise ValueError("Row and column can not be the same axis.")
    with tf.name_scope(name, "sparse_row_envelope", [sparse_input]):
        rows, columns = (sparse_input.indices[:, axis] for axis in (row_axis, col_axis))
        count = tf.cast(sparse_input.dense_shape[row_axis], tf.int32)
        ends = columns + 1
        widths = tf.unsorted_segment_max(ends, rows, count, name=name)
        empty = tf.zeros_like(widths)
        return tf.where(widths > empty, widths, empty)
