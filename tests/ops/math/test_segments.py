"""Segment reductions: their errors, and missing segments."""

from __future__ import annotations

import numpy as np
import pytest
from tests.running import run

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own

ROWS = np.arange(8, dtype=np.float32).reshape(4, 2) - 3


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1, 0, 2, 2], "segment ids are not increasing"),
        ([0, 1, 2, 0], r"Segment id 1 out of range \[0, 1\), possibly because 'segment_ids' input"),
        ([-1, 0, 1, 1], r"Segment id -1 out of range \[0, 2\)"),
        ([0, 0, 0, -1], "segment ids must be >= 0"),
        ([0, 0, 0], "same size as dimension 0"),
        ([[0, 0, 1, 1]], "should be a vector"),
    ],
)
def test_sorted_ids_are_checked(ids, message):
    numbers = tf.placeholder(tf.int32)
    for function in (tf.segment_sum, tf.segment_mean, tf.segment_max):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            run(function(ROWS, numbers), {numbers: ids})


def test_ids_in_any_order_are_checked(cpu):
    ids, count = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
    result = tf.unsorted_segment_sum(tf.constant(ROWS), ids, count)
    assert run(result, {ids: [3, 0, -1, 3], count: 4}).tolist() == [[-1, 0], [0, 0], [0, 0], [0, 2]]
    for given, rows, message in (
        ([0, 1, 2, 5], 3, r"segment_ids\[3\] = 5 is out of range \[0, 3\)"),
        ([[0, 9], [0, 0], [0, 0], [0, 0]], 3, r"segment_ids\[0,1\] = 9 is out of range"),
        ([0, 1], 3, r"data.shape = \[4,2\] does not start with segment_ids.shape = \[2\]"),
        ([0, 1, 0, 1], -1, "num_segments == -1 must not be negative"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            run(result, {ids: given, count: rows})


def test_static_shapes():
    data = tf.placeholder(tf.float32, [None, 5])
    assert tf.segment_sum(data, tf.placeholder(tf.int32)).shape.as_list() == [None, 5]
    ids = tf.placeholder(tf.int32, [None])
    assert tf.unsorted_segment_sum(data, ids, 7).shape.as_list() == [7, 5]
    assert tf.unsorted_segment_sum(data, tf.placeholder(tf.int32), 7).shape.ndims is None


@pytest.mark.parametrize("index_type", [tf.int32, tf.int64])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_rows_picked_from_a_table(index_type, rank):
    table = np.random.default_rng(3).standard_normal((5, 2, 3)[:rank]).astype(np.float32)
    indices, ids = [4, 0, 0, 2], [0, 0, 2, 2]
    picked = table[indices]
    sums = np.zeros((4, *table.shape[1:]), np.float32)
    np.add.at(sums, ids, picked)
    feeds = tf.constant(table), tf.constant(indices, index_type), tf.constant(ids)
    two = np.float32(2.0)
    for function, expected in (
        (tf.sparse_segment_sum, sums),
        (tf.sparse_segment_mean, sums / two),
        (tf.sparse_segment_sqrt_n, sums / np.sqrt(two)),
    ):
        np.testing.assert_allclose(run(function(*feeds)), expected[:3], rtol=1e-6)
        np.testing.assert_allclose(run(function(*feeds, num_segments=4)), expected, rtol=1e-6)


def test_indices_into_a_table_are_checked():
    indices, ids = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
    result = tf.sparse_segment_mean(tf.constant(ROWS), indices, ids)
    for given, segments, message in (
        ([0, 5], [0, 0], r"Bad: indices\[1\] == 5 out of range \[0, 4\)"),
        ([-1, 1], [0, 1], r"Bad: indices\[0\] == -1 out of range"),
        ([0, 1], [1, 0], "segment ids are not increasing"),
        ([0, 1], [0], "should have same size"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            run(result, {indices: given, ids: segments})


def test_means_and_roots_over_segments_without_rows():
    result = tf.unsorted_segment_mean(tf.constant(ROWS), [0, 0, 2, 2], 4)
    assert run(result).tolist() == [[-2, -1], [0, 0], [2, 3], [0, 0]]
    rooted = tf.unsorted_segment_sqrt_n(tf.constant(ROWS), [0, 0, 2, 2], 3)
    np.testing.assert_allclose(run(rooted)[0], np.float32([-4, -2]) / np.sqrt(np.float32(2)))
