"""Records of tapes, where recordings of TensorFlow do not decide."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.eager import backprop
from stillflow.eager import tape as tape_lib

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


def run(fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def test_jacobian_of_unknown_length_agrees_with_the_gradient_of_each_element():
    x = tf.placeholder_with_default([1.0, 2.0, 3.0], [None])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cumsum(x * x)
    found = run(tape.jacobian(y, x))
    np.testing.assert_allclose(found, [[2, 0, 0], [2, 4, 0], [2, 4, 6]])


def test_jacobian_by_a_source_that_does_not_matter_is_none():
    x, z = tf.constant([1.0]), tf.constant([2.0])
    with tf.GradientTape() as tape:
        tape.watch([x, z])
        y = x * 2.0
    by_x, by_z = tape.jacobian(y, [x, z])
    assert by_z is None
    np.testing.assert_allclose(run(by_x), [[2.0]])


def test_variables_read_within_loops_are_differentiated():
    v = tf.get_variable("v", [], use_resource=True, initializer=tf.constant_initializer(3.0))

    def body(i):
        with tf.GradientTape() as tape:
            y = v * v
        return i + tape.gradient(y, v)

    result = tf.while_loop(lambda i: i < 5.0, body, [0.0])
    assert run(result) == 6.0


def test_tapes_are_forgotten_when_their_context_is_left():
    assert not tape_lib.could_possibly_record()
    with tf.GradientTape() as tape:
        assert tape_lib.could_possibly_record()
        with tape_lib.stop_recording():
            assert not tape_lib.could_possibly_record()
        tape.gradient(tf.constant(1.0), tf.constant(2.0))
        assert not tape_lib.could_possibly_record()


def test_reference_variables_cannot_be_watched():
    v = tf.Variable(1.0, use_resource=False)
    with tf.GradientTape() as tape, pytest.raises(AttributeError, match="_id"):
        tape.watch(v)


def test_batches_of_different_sizes_have_no_batch_jacobian():
    x, y = tf.zeros([2, 3]), tf.zeros([4, 3])
    with pytest.raises(ValueError, match="to match"), tf.GradientTape() as tape:
        tape.batch_jacobian(x, y)


def test_gradients_by_rows_are_summed():
    rows = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([0, 2]), tf.constant([3, 1]))
    assert backprop.aggregate_indexed_slices_gradients([None]) is None
    twice = backprop.aggregate_indexed_slices_gradients([rows, None, rows])
    assert isinstance(twice, tf.IndexedSlices)
    np.testing.assert_array_equal(run(tf.convert_to_tensor(twice)), [[2.0], [0.0], [4.0]])
    mixed = backprop.aggregate_indexed_slices_gradients([rows, tf.ones([3, 1])])
    np.testing.assert_array_equal(run(mixed), [[2.0], [1.0], [3.0]])
