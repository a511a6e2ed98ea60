"""Strings cut at delimiters, and parts of strings."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow import errors

CASES = {
    "one": ([b"a b", b"", b" c ", b"d"], " ", True, [[b"a", b"b"], [], [b"c"], [b"d"]]),
    "kept empty": ([b"a,,b", b"", b",c,"], ",", False, [[b"a", b"", b"b"], [], [b"", b"c", b""]]),
    "several": ([b"a b,c;d", b"-]e^"], " ,;^]", True, [[b"a", b"b", b"c", b"d"], [b"-", b"e"]]),
    "none": ([b"abc", b""], "", True, [[b"a", b"b", b"c"], []]),
    "zero bytes": ([b"a\0b", b"c"], "\0", True, [[b"a", b"b"], [b"c"]]),
}  # fmt: skip


@pytest.mark.parametrize(("texts", "delimiter", "skips", "rows"), CASES.values(), ids=CASES)
def test_strings_are_cut_at_every_delimiter(texts, delimiter, skips, rows):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.string, [None])
        split = tf.string_split(x, delimiter, skip_empty=skips)
        found = session.run(split, {x: np.array(texts, object)})
    assert found.values.tolist() == [part for row in rows for part in row]
    places = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    assert found.indices.tolist() == places
    assert found.dense_shape.tolist() == [len(rows), max(map(len, rows))]


def test_no_strings_have_no_parts():
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(tf.string_split(tf.constant([], tf.string)))
    assert found.dense_shape.tolist() == [0, 0]


def part(texts, pos, length):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.string, [None])
        return session.run(tf.strings.substr(x, pos, length), {x: texts}).tolist()


@pytest.mark.parametrize("pos", range(-3, 4))
@pytest.mark.parametrize("length", [-1, 0, 1, 2, 9])
def test_one_part_of_all_strings_is_that_of_each(pos, length):
    texts = [b"abc", b"defgh"]
    assert part(texts, pos, length) == part(texts, [pos, pos], [length, length])
    rest = b"abc"[pos % 3 if pos < 0 else pos :]
    assert part(texts[:1], pos, length) == [rest if length < 0 else rest[:length]]


@pytest.mark.parametrize("pos", [-2, 2])
def test_a_part_that_begins_outside_of_a_string_is_refused(pos):
    with pytest.raises(errors.InvalidArgumentError, match=f"pos {pos} out of range .* index 1"):
        part([b"abc", b"d"], pos, 1)
