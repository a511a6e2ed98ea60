"""Distinct integers, their counts, and those of one vector that are not in another."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf


def numbers(count: int, kind: type) -> np.ndarray:
    random = np.random.RandomState(count)
    limit = np.iinfo(kind)
    few = random.randint(-9, 9, count).astype(kind)
    return np.where(random.rand(count) < 0.1, [limit.min, limit.max][count % 2], few)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("count", [0, 1, 7, 300])
def test_distinct_numbers_are_counted_as_they_come(either_way, kind, count):
    given = numbers(count, kind)
    expected = list(dict.fromkeys(given.tolist()))
    with tf.Graph().as_default():
        x = tf.placeholder(kind, [None])
        found = tf.unique_with_counts(x, out_idx=tf.int64)
        with tf.Session() as session:
            y, places, counts = session.run(found, {x: given})
    assert y.tolist() == expected and y.dtype == kind
    assert y[places].tolist() == given.tolist()
    assert counts.tolist() == [given.tolist().count(each) for each in expected]
    assert places.dtype == counts.dtype == np.int64


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize(("count", "others"), [(0, 5), (5, 0), (9, 4), (300, 7), (1, 1)])
def test_what_another_vector_lacks_is_kept_in_order(either_way, kind, count, others):
    given, known = numbers(count, kind), numbers(others, kind)
    kept = [i for i, each in enumerate(given.tolist()) if each not in known.tolist()]
    with tf.Graph().as_default():
        x, y = tf.placeholder(kind, [None]), tf.placeholder(kind, [None])
        with tf.Session() as session:
            out, places = session.run(tf.setdiff1d(x, y), {x: given, y: known})
    assert out.tolist() == given[kept].tolist() and out.dtype == kind
    assert places.tolist() == kept and places.dtype == np.int32


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float32, np.bool_])
def test_distinct_rows_are_numbered_as_they_come(either_way, kind):
    random = np.random.default_rng(3)
    rows = random.integers(0, 2, (200, 5)).astype(kind)
    if kind is np.float32:
        rows[rows == 0] *= random.choice([-1, 1], (rows == 0).sum())  # zeros of both signs
    with tf.Session() as session:
        found, places = session.run(tf.raw_ops.UniqueV2(x=rows, axis=[0])[:2])
    np.testing.assert_array_equal(found[places], rows)
    _, firsts = np.unique(rows, axis=0, return_index=True)
    np.testing.assert_array_equal(found, rows[np.sort(firsts)])
