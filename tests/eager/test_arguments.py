"""Arguments of operations that run when they are called."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("eager")


def test_numbers_take_the_type_of_the_tensor_beside_them():
    x = tf.constant([1.0], tf.float64)
    assert (2 * x).dtype == tf.float64
    assert tf.maximum(0.0, x).dtype == tf.float64
    assert tf.concat([[2.0], x], 0).dtype == tf.float64


def test_lists_stay_lists():
    first, second = tf.split(tf.constant([1, 2, 3, 4]), 2)
    assert (first.numpy().tolist(), second.numpy().tolist()) == ([1, 2], [3, 4])
    assert tf.add_n([tf.constant(1), tf.constant(2)]).numpy() == 3


def test_arrays_and_variables_are_converted():
    variable = tf.Variable([1.0, 2.0])
    assert tf.reduce_sum(variable * np.float32(2)).numpy() == 6.0


def test_types_that_an_op_does_not_take_are_refused():
    with pytest.raises((TypeError, tf.errors.OpError)):
        tf.sqrt(3)


def test_attributes_out_of_their_limits_are_errors_of_the_operation():
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match="Value for attr 'num_split' of -1 must be at least minimum 1",
    ):
        tf.split([1, 2, 3], -1)
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match="Value for attr 'padding' of \"BAD\" is not in the list of allowed values: "
        '"SAME", "VALID"',
    ):
        tf.nn.max_pool2d(tf.zeros([1, 4, 4, 1]), 2, 1, "BAD")
