"""Lists that hold tensors become tensors."""

from __future__ import annotations

import numpy as np
import pytest
from tests.running import run

import stillflow as tf


def test_numbers_next_to_tensors_take_their_type() -> None:
    x = tf.constant(2, tf.int16)
    packed = tf.convert_to_tensor([[x, 1], [3, 4]])
    assert packed.dtype == tf.int16
    assert packed.op.type == "Pack"
    assert run(packed).tolist() == [[2, 1], [3, 4]]


def test_lists_without_tensors_are_constants() -> None:
    assert tf.convert_to_tensor([[1, 2], [3, 4]]).op.type == "Const"


def test_dimensions_and_numpy_numbers_are_packed() -> None:
    size = tf.placeholder(tf.float32, [None, 7]).shape[1]
    x = tf.constant(3)
    assert run(tf.convert_to_tensor([x, size.value, np.int32(4)])).tolist() == [3, 7, 4]


def test_tensors_of_different_types_are_refused() -> None:
    with pytest.raises(TypeError, match="Cannot convert a list containing a tensor of dtype"):
        tf.convert_to_tensor([tf.constant(1), tf.constant(1.0)])


def test_packed_lists_are_what_functions_take() -> None:
    x, y = tf.constant(2), tf.constant(3)
    assert run(tf.zeros([x, y])).shape == (2, 3)
    assert run(tf.reshape(tf.range(6), [x, -1])).shape == (2, 3)
    assert tf.reshape(tf.range(6), [x, -1]).shape.as_list() == [2, 3]


def test_stacking_along_any_axis_is_undone_by_unstacking() -> None:
    parts = [np.arange(6).reshape(2, 3) + 10 * number for number in range(4)]
    for axis in (-3, -2, -1, 0, 1, 2):
        stacked = tf.stack(parts, axis)
        np.testing.assert_array_equal(run(stacked), np.stack(parts, axis))
        for part, again in zip(parts, run(tf.unstack(stacked, axis=axis)), strict=True):
            np.testing.assert_array_equal(part, again)
    with pytest.raises(ValueError, match=r"axis = 3 not in \[-3, 3\)"):
        tf.stack(parts, 3)


def test_unstacking_needs_a_known_size() -> None:
    with pytest.raises(ValueError, match="Cannot infer num from shape"):
        tf.unstack(tf.placeholder(tf.float32, [None, 2]))
