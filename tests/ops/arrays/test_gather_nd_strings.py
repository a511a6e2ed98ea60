"""Strings at tuples of indices."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")

WORDS = np.array([[b"a", b"b", b"c"], [b"d", b"e", b"f"]], object)


def gathered(indices, dtype, words=WORDS):
    place = tf.placeholder(dtype, [None] * np.ndim(indices))
    with tf.Session() as session:
        return session.run(tf.gather_nd(words, place), {place: indices})


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
@pytest.mark.parametrize(
    "indices", [[[1, 2], [0, 0]], [[1], [0], [1]], [[[0, 1]], [[1, 1]]], np.zeros((0, 2))]
)
def test_strings_are_those_at_the_tuples(dtype, indices):
    found, at = gathered(indices, dtype), np.array(indices, int)
    expected = WORDS[tuple(np.moveaxis(at, -1, 0))]
    assert found.shape == expected.shape and found.tolist() == expected.tolist()


@pytest.mark.parametrize("wrong", [[1, 3], [-1, 0], [2, 0]])
def test_a_tuple_out_of_range_is_named(wrong):
    message = rf"indices\[1\] = \[{wrong[0]}, {wrong[1]}\] does not index into param shape \[2,3\]"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        gathered([[0, 0], wrong], tf.int32)


def test_strings_taken_are_no_part_of_those_they_came_from():
    words = tf.constant(WORDS)
    with tf.Session() as session:
        found = session.run(tf.gather_nd(words, [[0], [1]]))
        found[0, 0] = b"changed"
        assert session.run(words)[0, 0] == b"a"
