"""Scattering into new tensors."""

from __future__ import annotations

import numpy as np
import pytest
from tests.running import run

import stillflow as tf


def test_elements_that_occur_twice_add_up() -> None:
    result = tf.scatter_nd([[1], [3], [1]], np.float32([1, 2, 3]), [5])
    assert run(result).tolist() == [0, 4, 0, 2, 0]


def test_slices_are_scattered() -> None:
    result = tf.scatter_nd([[2], [0]], np.int64([[1, 2], [3, 4]]), [3, 2])
    assert run(result).tolist() == [[3, 4], [0, 0], [1, 2]]


def test_updating_a_tensor_leaves_it_as_it_was() -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    for function, result in (
        (tf.tensor_scatter_update, [1, 9, 3]),
        (tf.tensor_scatter_add, [1, 11, 3]),
        (tf.tensor_scatter_sub, [1, -7, 3]),
    ):
        changed, before = run([function(x, [[1]], [9.0]), x])
        assert changed.tolist() == result
        assert before.tolist() == [1, 2, 3]


def test_strings_are_scattered() -> None:
    result = tf.tensor_scatter_update(tf.constant(["a", "b"]), [[0]], tf.constant(["c"]))
    assert run(result).tolist() == [b"c", b"b"]


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ([[5]], r"indices\[0\] = \[5\] does not index into"),
        ([[-1]], r"indices\[0\] = \[-1\] does not index into"),
    ],
)
def test_places_outside_are_refused(places: list[list[int]], message: str) -> None:
    given = tf.placeholder(tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(tf.scatter_nd(given, [1.0], [5]), {given: places})


def test_gradients_go_to_updates_and_to_what_is_left() -> None:
    x, updates = tf.constant([1.0, 2.0, 3.0]), tf.constant([9.0])
    weights = [10.0, 20.0, 30.0]
    y = tf.tensor_scatter_update(x, [[1]], updates)
    grads = run(tf.gradients(y, [x, updates], tf.constant(weights)))
    assert [grad.tolist() for grad in grads] == [[10, 0, 30], [20]]
