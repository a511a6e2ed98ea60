"""Errors for ranks of fed arguments, with the messages of TF's kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stillflow as tf


@pytest.mark.parametrize("function, arguments, message", [
    (tf.tile, ([7], 2), r"Expected multiples to be 1-D, but got shape \[\]"),
    (tf.fill, (2, 3), r"dims must be a vector, got shape \[\]"),
    (tf.fill, ([2], [3]), r"value must be a scalar, got shape \[1\]"),
    (tf.pad, (7, [[1, 2]]), r"first dimension of paddings must be the rank of inputs\[1,2\] \[\]"),
    (tf.pad, ([7], [1, 2]), r"paddings must be a matrix with 2 columns: \[2\]"),
    (tf.reshape, ([7], 1), r"sizes input must be 1-D, not \[\]"),
    (tf.slice, (np.arange(9), 2, [3]),
     r"to be 1-D tensors of size 1, but got shapes \[\] and \[1\] instead"),
    (tf.range, (0, [3], 2), r"limit must be a scalar, not shape \[1\]"),
    (tf.sparse_to_dense, (1, 4, 7), r"output_shape should be a vector, got shape \[\]"),
    (lambda x, axis: tf.concat([x, x], axis), ([2], [0]),
     r"axis tensor should be a scalar integer, but got shape \[1\]"),
    (lambda count: tf.raw_ops.ShardedFilespec(basename="a", num_shards=count), ([100],),
     r"num_shards must be a scalar, got shape \[1\]"),
    (lambda x, axis: tf.concat([x, x], axis), (2, 0), r"dimensions in the range \[0, 0\)"),
])  # fmt: skip
def test_fed_arguments(function: Any, arguments: tuple[Any, ...], message: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        feeds = {}
        for value in arguments:
            array = np.asarray(value)
            array = array.astype(np.int32) if array.dtype == np.int64 else array
            feeds[tf.placeholder(array.dtype)] = array
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(function(*feeds), feeds)


def test_building_uses_the_words_of_shape_functions() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="must be rank 1 but is rank 0"):
        tf.fill(tf.zeros([], tf.int32), 3)
