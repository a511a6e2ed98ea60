"""Sorting, largest elements, searching, distinct elements: what comes first among equals."""

from __future__ import annotations

import numpy as np
import pytest
from tests.running import run

import stillflow as tf


def test_of_equal_elements_the_first_is_larger() -> None:
    values, places = run(tf.nn.top_k([1.0, 3.0, 3.0, 2.0, 3.0], 4))
    assert values.tolist() == [3, 3, 3, 2]
    assert places.tolist() == [1, 2, 4, 3]


def test_the_largest_of_each_row() -> None:
    x = np.random.default_rng(0).permutation(60).reshape(3, 4, 5)
    values, places = run(tf.nn.top_k(x, 2))
    np.testing.assert_array_equal(places, np.argsort(-x, -1)[..., :2])
    np.testing.assert_array_equal(values, np.take_along_axis(x, places.astype(int), -1))


def test_more_elements_than_there_are_cannot_be_asked_for() -> None:
    with pytest.raises(ValueError, match="input must have last dimension >= k = 4 but is 3"):
        tf.nn.top_k([1, 2, 3], 4)


def test_the_nth_element_of_each_row() -> None:
    x = np.random.default_rng(1).permutation(20).reshape(4, 5).astype(np.float32)
    nth = tf.contrib.nn.nth_element
    np.testing.assert_array_equal(run(nth(x, 1)), np.sort(x)[:, 1])
    np.testing.assert_array_equal(run(nth(x, 1, reverse=True)), np.sort(x)[:, -2])


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("direction", ["ASCENDING", "DESCENDING"])
def test_sorting_along_an_axis(axis: int, direction: str) -> None:
    x = np.random.default_rng(2).permutation(24).reshape(2, 3, 4)
    expected = np.sort(x, axis)
    if direction == "DESCENDING":
        expected = np.flip(expected, axis)
    np.testing.assert_array_equal(run(tf.sort(x, axis, direction)), expected)
    places = run(tf.argsort(x, axis, direction)).astype(int)
    np.testing.assert_array_equal(np.take_along_axis(x, places, axis), expected)


@pytest.mark.parametrize("side", ["left", "right"])
def test_searching_sorted_rows(side: str) -> None:
    rows = np.array([[1, 3, 3, 7], [0, 0, 5, 9]], np.float32)
    wanted = np.array([[3, 8, 0], [0, 5, 10]], np.float32)
    found = run(tf.searchsorted(rows, wanted, side))
    expected = [np.searchsorted(*pair, side=side) for pair in zip(rows, wanted, strict=True)]
    np.testing.assert_array_equal(found, expected)


def test_distinct_elements_come_in_the_order_of_their_first_occurrence() -> None:
    for x in ([5, 1, 5, 3, 1], [b"e", b"a", b"e", b"c", b"a"]):
        y, places, counts = run(tf.unique_with_counts(tf.constant(x)))
        assert y.tolist() == [x[0], x[1], x[3]]
        assert places.tolist() == [0, 1, 0, 2, 1]
        assert counts.tolist() == [2, 2, 1]


def test_what_is_in_one_list_and_not_in_another() -> None:
    out, places = run(tf.setdiff1d([4, 1, 2, 4, 3], [1, 3]))
    assert out.tolist() == [4, 2, 4]
    assert places.tolist() == [0, 2, 3]


def test_partitions_keep_their_order_and_are_stitched_back() -> None:
    x, which = np.arange(10, 16), [2, 0, 1, 0, 2, 2]
    parts = tf.dynamic_partition(x, which, 4)
    assert [part.tolist() for part in run(parts)] == [[11, 13], [12], [10, 14, 15], []]
    places = tf.dynamic_partition(np.arange(6, dtype=np.int32), which, 4)
    assert run(tf.dynamic_stitch(places, parts)).tolist() == x.tolist()


def test_the_last_of_several_stitched_rows_stays() -> None:
    assert run(tf.dynamic_stitch([[0, 1], [1]], [[1, 2], [3]])).tolist() == [1, 3]
