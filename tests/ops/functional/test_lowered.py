"""Cards that calls of functions are lowered to."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.functional import lowered


def run(make, *values):
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.placeholder(tf.as_dtype(np.asarray(value).dtype)) for value in values]
        return session.run(make(*inputs, name="made"), dict(zip(inputs, values)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, False), (-0.5, True), (np.int32(0), False), (np.int32(3), True), ("", False),
        ("no", True), (np.zeros([0, 2]), False), (np.zeros([2]), True), (np.array([""]), True),
    ],
)  # fmt: skip
def test_numbers_that_are_not_zero_and_what_is_not_empty_are_true(value, expected):
    assert run(lowered.truth_op, value) == expected


@pytest.mark.parametrize(
    ("at", "limit", "delta", "expected"),
    [(2, 3, 1, True), (3, 3, 1, False), (4, 3, -1, True), (3, 3, -1, False)],
)
def test_counters_go_up_and_down(at, limit, delta, expected):
    assert run(lowered.counts_op, *map(np.int32, (at, limit, delta))) == expected


def test_a_range_that_cannot_be_counted_is_an_error():
    assert run(lowered.range_op, *map(np.int32, (1, 5, 2))) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid start/limit/delta: 1 5 -1"):
        run(lowered.range_op, *map(np.int32, (1, 5, -1)))
