"""Strings cut at delimiters."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

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
