"""Patterns match operations by type and inputs, and say what matched."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow_contrib.quantize.patterns import (
    GraphMatcher,
    MatchResult,
    OneofPattern,
    OpTypePattern,
)


def test_inputs_match_in_any_order_if_order_does_not_matter() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2])
        total = tf.nn.relu(x) + x
        relu = OpTypePattern("Relu|Relu6", name="relu")
        ordered = OpTypePattern("AddV2", inputs=["*", relu])
        unordered = OpTypePattern("AddV2", inputs=["*", relu], ordered_inputs=False)
        assert list(GraphMatcher(ordered).match_graph(graph)) == []
        (found,) = GraphMatcher(unordered).match_graph(graph)
        assert found.get_op(unordered) is total.op
        assert found.get_tensor("relu") is total.op.inputs[0]


def test_the_first_of_several_patterns_wins_and_others_are_unknown() -> None:
    with tf.Graph().as_default():
        split = tf.split(tf.zeros([4]), 2)[1]
        either = OneofPattern([OpTypePattern("Add"), part := OpTypePattern("Split")])
        found = GraphMatcher(OpTypePattern("Neg", inputs=[either])).match_op(tf.negative(split).op)
        assert found is not None
        assert found.get_tensor(part) is split
        assert found.get_op("nobody") is None


def test_a_pattern_of_another_number_of_inputs_does_not_match() -> None:
    with tf.Graph().as_default():
        assert GraphMatcher(OpTypePattern("Neg", inputs=["*", "*"])).match_op(
            tf.negative(tf.zeros([])).op
        ) is None  # fmt: skip


def test_what_cannot_be_a_pattern_is_refused() -> None:
    with pytest.raises(ValueError, match="Only < 8 inputs"):
        OpTypePattern("AddN", inputs=["*"] * 9)
    with pytest.raises(ValueError, match="Expect Pattern or str"):
        MatchResult().get_op(3)  # type: ignore[arg-type]
    with tf.Graph().as_default():
        op, result = tf.no_op(), MatchResult()
        result.add(OpTypePattern("*", name="twice"), op, None)
        with pytest.raises(ValueError, match="Name twice is already bound"):
            result.add(OpTypePattern("*", name="twice"), op, None)
