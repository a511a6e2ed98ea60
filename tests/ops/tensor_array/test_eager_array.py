"""TensorArrays where operations run when they are called."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.eager.immediate import ImmediateGraph


@pytest.fixture(autouse=True)
def eager():
    with ImmediateGraph().as_default():
        yield


def test_elements_are_read_once_unless_they_are_kept():
    array = tf.TensorArray(tf.float32, 2).write(0, 1.0)
    assert array.read(0).numpy() == 1.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not read index 0 twice"):
        array.read(0)
    kept = tf.TensorArray(tf.float32, 1, clear_after_read=False).write(0, 1.0)
    assert [kept.read(0).numpy() for _ in range(2)] == [1.0, 1.0]


def test_rows_go_in_and_come_out():
    rows = tf.constant([[1.0], [2.0], [3.0]])
    array = tf.TensorArray(tf.float32, 3).unstack(rows)
    assert array.gather([2, 0]).numpy().tolist() == [[3.0], [1.0]]
    array = tf.TensorArray(tf.float32, 3).scatter([2, 0, 1], rows)
    assert array.stack().numpy().tolist() == [[2.0], [3.0], [1.0]]
    array = tf.TensorArray(tf.float32, 2).split(rows, [1, 2])
    assert array.concat().numpy().tolist() == rows.numpy().tolist()
    assert tf.TensorArray(tf.float32, 0).stack().shape == (0,)


def test_what_was_not_written_is_zero():
    array = tf.TensorArray(tf.float32, 2).write(1, [1.0, 2.0])
    assert array.stack().numpy().tolist() == [[0.0, 0.0], [1.0, 2.0]]


def test_tapes_see_through_them():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        array = tf.TensorArray(tf.float32, 2).unstack(x)
        y = array.read(0) * array.read(1)
    assert tape.gradient(y, x).numpy().tolist() == [2.0, 1.0]


@pytest.mark.parametrize(
    "use, error, message",
    [
        (lambda a: a.read(2), tf.errors.OutOfRangeError, "array size is: 2"),
        (lambda a: a.read(-1), tf.errors.OutOfRangeError, "negative indices"),
        (lambda a: a.write(2, 1.0), tf.errors.OutOfRangeError, "not resizeable and size is: 2"),
        (lambda a: a.write(-1, 1.0), tf.errors.OutOfRangeError, "negative indices"),
        (lambda a: a.write(0, tf.constant(1)), tf.errors.InvalidArgumentError, "write dtype int32"),
        (lambda a: a.write(0, 1.0).write(1, [1.0]), ValueError, "Incompatible shape for value"),
        (lambda a: a.unstack([1.0, 2.0, 3.0]), ValueError, "Cannot unstack 3 tensors"),
        (lambda a: a.write(0, 1.0).concat(), tf.errors.InvalidArgumentError, "at least vectors"),
        (lambda a: a.split([1.0], [2]), tf.errors.InvalidArgumentError, "sum of lengths is 2"),
        (lambda a: a.split([1.0], [1]), tf.errors.InvalidArgumentError, "not equal to the size"),
        (lambda a: a.grad("g"), NotImplementedError, "not supported when executing eagerly"),
    ],
)
def test_what_does_not_fit_is_refused(use, error, message):
    with pytest.raises(error, match=message):
        use(tf.TensorArray(tf.float32, 2))


def test_an_array_needs_a_size_and_takes_no_handle():
    with pytest.raises(ValueError, match="Size must be declared"):
        tf.TensorArray(tf.float32)
    with pytest.raises(ValueError, match="handles are not supported"):
        tf.TensorArray(tf.float32, handle=tf.constant(1), flow=tf.constant(1.0))


def test_arrays_go_through_datasets_and_not_into_branches_of_functions():
    array = tf.TensorArray(tf.float32, 2).unstack([1.0, 2.0])
    (found,) = tf.data.Dataset.from_tensors(array)
    assert found.stack().numpy().tolist() == [1.0, 2.0]

    def taken(x):
        return tf.cond(x > 1, lambda: array, lambda: array)

    with pytest.raises(NotImplementedError, match="construct a new TensorArray inside"):
        tf.data.Dataset.range(3).map(taken)
