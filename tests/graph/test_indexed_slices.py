"""Rows that stand for a dense tensor."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


def slices(size: list[int] | None = None) -> tf.IndexedSlices:
    values = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    return tf.IndexedSlices(values, tf.constant([2, 0, 2]), size and tf.constant(size))


def test_rows_that_occur_twice_add_up() -> None:
    dense = tf.convert_to_tensor(slices([4, 2]))
    assert dense.op.type == "UnsortedSegmentSum"
    assert tf.Session().run(dense).tolist() == [[3, 4], [0, 0], [6, 8], [0, 0]]


def test_a_dense_tensor_needs_a_shape() -> None:
    with pytest.raises(ValueError, match="Tensor conversion requested for IndexedSlices without"):
        tf.convert_to_tensor(slices())
    with pytest.raises(ValueError, match="Tensor conversion requested dtype int32 for Indexed"):
        tf.convert_to_tensor(slices([4, 2]), tf.int32)


def test_a_large_or_unknown_dense_tensor_is_warned_of() -> None:
    size = tf.placeholder(tf.int32, [2])
    rows = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([2]), size)
    with pytest.warns(UserWarning, match="Converting sparse IndexedSlices to a dense Tensor of un"):
        tf.convert_to_tensor(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tf.convert_to_tensor(slices([4, 2]))


def test_they_are_fetched_and_fed_as_a_whole() -> None:
    rows = slices([4, 2])
    doubled = tf.IndexedSlices(rows.values * 2, rows.indices, rows.dense_shape)
    with tf.Session() as session:
        fetched = session.run(doubled)
        assert fetched._fields == ("values", "indices", "dense_shape")
        assert fetched.values.tolist() == [[2, 4], [6, 8], [10, 12]]
        assert fetched.dense_shape.tolist() == [4, 2]
        fed = session.run(doubled, {rows: (np.ones((3, 2)), [3, 1, 0], [4, 2])})
        assert fed.values.tolist() == [[2, 2]] * 3
        assert fed.indices.tolist() == [3, 1, 0]


def test_they_know_their_parts() -> None:
    rows = slices()
    assert rows.dtype == tf.float32
    assert rows.name == rows.values.name
    assert rows.graph is tf.get_default_graph()
    assert rows.dense_shape is None
    assert tf.Session().run((-rows).values)[0].tolist() == [-1, -2]
    assert "IndexedSlices(indices=Tensor(" in str(rows)
