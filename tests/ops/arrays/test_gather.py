"""Gathering rows and slices: against numpy, and the gradients of what is gathered."""

from __future__ import annotations

import numpy as np
import pytest
from tests.running import run

import stillflow as tf

X = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_rows_along_an_axis_are_those_of_numpy(axis: int) -> None:
    places = np.array([[1, 0], [1, 1]])
    result = tf.gather(X, places, axis=axis)
    np.testing.assert_array_equal(run(result), np.take(X, places, axis))
    unknown = tf.placeholder(tf.float32)
    result = tf.gather(unknown, places, axis=tf.constant(axis))
    np.testing.assert_array_equal(run(result, {unknown: X}), np.take(X, places, axis))


@pytest.mark.parametrize(("axis", "dims"), [(1, 1), (2, 1), (-1, 1), (2, -1)])
def test_batches_are_gathered_one_by_one(axis: int, dims: int) -> None:
    places = np.array([[2, 0, 1], [1, 1, 0]])
    batch = dims % places.ndim if dims < 0 else dims
    along = axis % X.ndim
    pieces = [
        np.take(X[place], places[place], along - batch) for place in np.ndindex(X.shape[:batch])
    ]
    expected = np.reshape(pieces, X.shape[:batch] + pieces[0].shape)
    result = tf.gather(X, places, axis=axis, batch_dims=dims)
    assert result.shape.as_list() == list(expected.shape)
    np.testing.assert_array_equal(run(result), expected)


def test_elements_and_slices_are_gathered_by_their_place() -> None:
    assert run(tf.gather_nd(X, [[1, 2, 3], [0, 0, 0]])).tolist() == [23, 0]
    np.testing.assert_array_equal(run(tf.gather_nd(X, [[[1]], [[0]]])), X[[1, 0]][:, None])
    assert run(tf.gather_nd(tf.constant([["a", "b"]]), [0, 1])) == b"b"


def test_places_outside_are_refused(cpu) -> None:
    places = tf.placeholder(tf.int32)
    for given, place in (([0, 2], 2), ([0, -1], -1)):
        message = rf"indices\[1\] = {place} is not in \[0, 2\)"
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            run(tf.gather(X, places), {places: given})
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0\] = \[2, 0\] does not"):
        run(tf.gather_nd(X, places), {places: [[2, 0]]})


def test_the_gradient_of_rows_holds_only_these_rows() -> None:
    x = tf.constant(X)
    (grad,) = tf.gradients(tf.gather(x, [1, 1]), x)
    assert isinstance(grad, tf.IndexedSlices)
    values, places, size = run([grad.values, grad.indices, grad.dense_shape])
    assert values.shape == (2, 3, 4)
    assert places.tolist() == [1, 1]
    assert size.tolist() == [2, 3, 4]


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")
def test_rows_gathered_twice_get_both_gradients() -> None:
    x = tf.constant(X)
    for axis in (0, 1):
        (grad,) = tf.gradients(tf.gather(x, [1, 1, 0], axis=axis), x)
        counts = np.zeros_like(X)
        counts[(slice(None),) * axis + (1,)] = 2
        counts[(slice(None),) * axis + (0,)] = 1
        np.testing.assert_array_equal(run(tf.convert_to_tensor(grad)), counts)


def test_variables_are_gathered_from() -> None:
    for use_resource in (False, True):
        variable = tf.Variable(X, use_resource=use_resource)
        np.testing.assert_array_equal(run(tf.gather(variable, [1])), X[[1]])
        assert run(tf.gather_nd(variable, [[1, 2, 3]])).tolist() == [23]
