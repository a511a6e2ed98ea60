"""Joining strings by segment."""

from __future__ import annotations

import stillflow as tf


def joined(*args, **kwargs) -> list:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.strings.unsorted_segment_join(*args, **kwargs)).tolist()


def test_strings_are_joined_in_order():
    assert joined(["a", "b", "c"], [1, 0, 1], 3, separator=":") == [b"b", b"a:c", b""]


def test_slices_are_joined_element_by_element():
    assert joined([["a", "b"], ["c", "d"]], [1, 1], 2, "-") == [[b"", b""], [b"a-c", b"b-d"]]
    assert joined([["a", "b"], ["c", "d"]], [[0, 1], [1, 0]], 2) == [b"ad", b"bc"]
