"""Rows that are stitched together far apart: the memory between them stays untouched."""

from __future__ import annotations

import os

import numpy as np
import pytest
from tests.running import run

import stillflow as tf

FAR = 2**28


def resident() -> int:
    """Return the bytes of memory that the process has in use."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def stitched(tf_dtype: tf.DType, index: int) -> tf.Tensor:
    places, row = tf.placeholder_with_default([1, index], [2]), tf.cast([3, 5], tf_dtype)
    return tf.dynamic_stitch([places], [row])


@pytest.mark.parametrize("dtype", [tf.float32, tf.int8, tf.complex64, tf.bool, tf.bfloat16])
def test_rows_far_apart(dtype: tf.DType) -> None:
    whole = stitched(dtype, 2**24)
    first, last, between, count = run(
        [whole[1], whole[-1], tf.reduce_any(tf.cast(whole[2:-1], tf.bool)), tf.size(whole)]
    )
    assert (np.asarray([first, last]) != 0).all()
    assert (bool(between), int(count)) == (False, 2**24 + 1)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_memory_between_rows_is_not_touched(cpu: None) -> None:
    with tf.Session() as session:
        whole = stitched(tf.float32, FAR)
        session.run(stitched(tf.float32, 4))
        before = resident()
        held = session.run(whole)
        assert held.shape == (FAR + 1,)
        assert held[[1, FAR]].tolist() == [3.0, 5.0]
        assert resident() - before < 4 * FAR // 8


def test_the_last_index_makes_too_many_rows() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="2147483648 rows is too large"):
        run(stitched(tf.float32, 2**31 - 1))
