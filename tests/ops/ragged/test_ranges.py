"""RaggedRange: rows of numbers, with the loop in C and without."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph", "either_way")


def ranges(*given, dtype, splits=tf.int64):
    """Return the splits and values of rows of numbers."""
    feeds = [tf.placeholder(dtype, None) for _ in given]
    with tf.Session() as session:
        found = tf.raw_ops.RaggedRange(
            starts=feeds[0], limits=feeds[1], deltas=feeds[2], Tsplits=splits
        )
        return [x.tolist() for x in session.run(found, dict(zip(feeds, given, strict=True)))]


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_integers_go_up_and_down_to_their_limits(dtype):
    rng = np.random.RandomState(0)
    starts, limits = rng.randint(-20, 20, (2, 50))
    deltas = rng.choice([-7, -2, -1, 1, 3, 50], 50)
    rows = [list(range(*each)) for each in zip(starts, limits, deltas, strict=True)]
    splits, values = ranges(starts, limits, deltas, dtype=dtype, splits=tf.int32)
    assert splits == np.cumsum([0, *map(len, rows)]).tolist()
    assert values == [value for row in rows for value in row]


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
def test_others_add_up_with_rounding_errors(dtype):
    kind = dtype.as_numpy_dtype
    splits, values = ranges([0.1, 5, 1], [1.5, -1, 0], [0.1, -0.7, 1], dtype=dtype)
    expected = []
    for start, delta, count in ((0.1, 0.1, splits[1]), (5, -0.7, splits[2] - splits[1])):
        value = kind(start)
        for _ in range(count):
            expected.append(float(value))
            value += kind(delta)
    assert splits[1:] in ([14, 23, 23], [15, 24, 24])
    assert values == expected


def test_one_number_may_be_there_for_all_rows():
    assert ranges(0, [2, 0, 3], 1, dtype=tf.int32) == [[0, 2, 2, 5], [0, 1, 0, 1, 2]]
    assert ranges([3, 4], 9, [5, 2], dtype=tf.int64) == [[0, 2, 5], [3, 8, 4, 6, 8]]
    assert ranges(2, 4, 1, dtype=tf.int32) == [[0, 2], [2, 3]]


def test_integers_at_the_ends_of_their_type():
    low, high = -(2**63), 2**63 - 1
    assert ranges(low, high, 2**62, dtype=tf.int64)[1] == [low, -(2**62), 0, 2**62]
    assert ranges(high, low, low, dtype=tf.int64)[1] == [high, -1]


@pytest.mark.parametrize("given, said", [
    (([0, 1], [2, 2], [1, 0]), "Requires delta != 0"), ((0, 0, 0), "Requires delta != 0"),
    (([0, -(2**63)], [1, 2**63 - 1], [1, 1]), "Requires ((limit - start) / delta) <="),
    (([0, 1], [2, 2, 2], 1), "must have the same shape"),
])  # fmt: skip
def test_what_is_no_range_raises(given, said):
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        ranges(*given, dtype=tf.int64)
    assert said in str(raised.value)


def test_what_is_not_a_number_raises():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Requires"):
        ranges([0, np.nan], [1, 1], [1, 1], dtype=tf.float32)
