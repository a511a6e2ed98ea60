"""Choices that are made while the graph is built where they can be."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.ops.control_flow.case import smart_case


def never():
    raise AssertionError("called")


@pytest.mark.parametrize("exclusive", [False, True])
def test_what_is_known_chooses_at_once(exclusive):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.int32, [])
        pairs = [(True, lambda: tf.constant(1)), (x > 0, never)]
        result = smart_case(pairs, default=never, exclusive=exclusive)
        assert session.run(result, {x: 0} if exclusive else {}) == 1
        if exclusive:
            with pytest.raises(tf.errors.InvalidArgumentError, match="exclusive=True"):
                session.run(result, {x: 1})
        assert session.run(smart_case([(False, never)], lambda: tf.constant(2))) == 2


def test_what_is_not_known_is_left_to_the_run():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.int32, [])
        pairs = [
            (x > 1, lambda: tf.constant(1)),
            (tf.constant(10) < 1, never),
            (True, lambda: tf.constant(3)),
        ]
        result = smart_case(pairs, default=never)
        assert [session.run(result, {x: value}) for value in (2, 0)] == [1, 3]


def test_wrong_pairs_are_refused():
    with pytest.raises(TypeError, match="must be callable"):
        smart_case([(True, 1)])
    with pytest.raises(TypeError, match="pred must be a Tensor"):
        smart_case([("yes", never)])
