"""Mapping, folding and scanning: what recorded programs do not show."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


@pytest.mark.parametrize("function", [tf.map_fn, tf.foldl, tf.foldr, tf.scan])
def test_functions_must_be_callable(function):
    with pytest.raises(TypeError, match="fn must be callable"):
        function(3, tf.constant([1.0]))


def test_a_failing_function_does_not_leave_variables_cached():
    def fail(element):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        tf.map_fn(fail, tf.constant([1.0]))
    assert tf.get_variable_scope().caching_device is None


def test_elements_of_different_numbers_are_refused():
    with pytest.raises(ValueError, match="Dimensions 2 and 3 are not compatible"):
        tf.map_fn(lambda e: e[0] + e[1], (tf.zeros([2]), tf.zeros([3])), dtype=tf.float32)


def test_no_elements_give_an_empty_result():
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.map_fn(lambda e: e * 2.0, x)
    assert y.shape.as_list() == [None, 2]
    with tf.Session() as session:
        assert session.run(y, {x: np.zeros([0, 2])}).shape == (0, 2)


def test_hessians_of_several_variables():
    x, y = tf.constant([1.0, 2.0]), tf.constant([[3.0]])
    matrices = tf.hessians(tf.reduce_sum(x**3) * tf.reduce_sum(y * y), [x, y])
    with tf.Session() as session:
        of_x, of_y = session.run(matrices)
    np.testing.assert_allclose(of_x, [[54.0, 0.0], [0.0, 108.0]])
    np.testing.assert_allclose(of_y, [[[[18.0]]]])
