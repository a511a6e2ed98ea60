from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stillflow as tf
from stillflow.ragged.broadcasting import broadcast_to
from stillflow.ragged.dynamic_shape import RaggedTensorDynamicShape
from stillflow.ragged.loops import map_fn
from stillflow.ragged.spec import RaggedTensorType

ROWS = [[3, 1, 4], [], [1, 5, 9, 2], [6]]


def lists(value: Any) -> Any:
    return value.to_list() if hasattr(value, "to_list") else value.tolist()


some_rows = st.lists(st.lists(st.integers(-9, 9), max_size=4), min_size=1, max_size=5)


@settings(max_examples=15)
@given(some_rows)
def test_sums_are_those_of_lists(rows: list[list[int]]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.ragged.constant(rows, dtype=tf.int32, ragged_rank=1)
        columns = [sum(column) for column in zip_longest(*rows, fillvalue=0)]
        assert session.run(tf.reduce_sum(x, axis=1)).tolist() == [sum(row) for row in rows]
        assert session.run(tf.reduce_sum(x, axis=0)).tolist() == columns
        assert session.run(tf.reduce_sum(x)) == sum(map(sum, rows))


@settings(max_examples=15)
@given(some_rows, some_rows)
def test_joined_rows_are_those_of_lists(a: list[list[int]], b: list[list[int]]) -> None:
    count = min(len(a), len(b))
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = (tf.ragged.constant(rows, dtype=tf.int32, ragged_rank=1) for rows in (a, b))
        assert lists(session.run(tf.concat([x, y], 0))) == a + b
        side_by_side = tf.concat([x[:count], y[:count]], 1)
        assert lists(session.run(side_by_side)) == [i + j for i, j in zip(a, b)]
        assert lists(session.run(tf.stack([x, y]))) == [a, b]


CASES: list[tuple[Callable[[Any], Any], Any]] = [
    (lambda x: tf.gather(x, [3, 0]), [ROWS[3], ROWS[0]]),
    (lambda x: tf.gather_nd(x, [[2, 1], [0, 2]]), [5, 4]),
    (lambda x: tf.tile(x, [1, 2]), [row * 2 for row in ROWS]),
    (lambda x: tf.expand_dims(x, 1), [[row] for row in ROWS]),
    (lambda x: tf.size(x), 8),
    (lambda x: tf.where(x > 3), [[0, 2], [2, 1], [2, 2], [3, 0]]),
    (lambda x: tf.where(x > 3, x, -x), [[-3, -1, 4], [], [-1, 5, 9, -2], [6]]),
    (lambda x: tf.ragged.boolean_mask(x, x > 3), [[4], [], [5, 9], [6]]),
    (lambda x: tf.ragged.boolean_mask(x, [True, True, False, False]), [[3, 1, 4], []]),
    (lambda x: tf.math.unsorted_segment_max(x, [0, 0, 1, 0], 2), [[6, 1, 4], [1, 5, 9, 2]]),
    (lambda x: 10 - x, [[7, 9, 6], [], [9, 5, 1, 8], [4]]),
    (lambda x: x * [[1], [2], [3], [4]], [[3, 1, 4], [], [3, 15, 27, 6], [24]]),
    (lambda x: tf.squeeze(x[3:], [1]), [6]),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_functions_of_tensors_take_ragged_ones(session: Any, number: int) -> None:
    function, expected = CASES[number]
    assert lists(session.run(function(tf.ragged.constant(ROWS)))) == expected


def test_what_is_not_ragged_is_refused_as_before(session: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        tf.add(object(), 1)
    with pytest.raises(TypeError, match="may not be used as a boolean"):
        bool(tf.ragged.constant(ROWS))


def test_splits_of_two_types_do_not_mix(session: Any) -> None:
    x = tf.ragged.constant(ROWS)
    with pytest.raises(ValueError, match="mismatched row_splits dtypes"):
        x + tf.ragged.constant(ROWS, row_splits_dtype=tf.int32)
    narrow = x.with_row_splits_dtype(tf.int32)
    assert lists(session.run(narrow + narrow)) == [[2 * i for i in row] for row in ROWS]


def test_rows_that_differ_are_refused(session: Any) -> None:
    x, splits = tf.ragged.constant([[1, 2], [3]]), tf.placeholder(tf.int64, [3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="identical ragged splits"):
        tf.ragged.map_flat_values(tf.add, x, tf.ragged.constant([[1], [2, 3]]))
    other = tf.RaggedTensor.from_row_splits([4, 5, 6], splits)
    total = tf.ragged.map_flat_values(tf.add, x, other)
    assert lists(session.run(total, {splits: [0, 2, 3]})) == [[5, 7], [9]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="identical ragged splits"):
        session.run(total, {splits: [0, 1, 3]})


def test_a_function_of_every_row(session: Any) -> None:
    x = tf.ragged.constant(ROWS)
    assert lists(session.run(map_fn(tf.reduce_sum, x))) == [8, 0, 17, 6]
    kind = RaggedTensorType(tf.int32, 1)
    twice = map_fn(lambda row: tf.concat([row, row], 0), x, kind, infer_shape=False)
    assert lists(session.run(twice)) == [row * 2 for row in ROWS]
    with pytest.raises(ValueError, match="declared ragged rank"):
        map_fn(lambda row: row, x, RaggedTensorType(tf.int32, 3))


def test_shapes_are_broadcast(session: Any) -> None:
    shape = RaggedTensorDynamicShape.from_dim_sizes([2, [3, 1]])
    assert lists(session.run(broadcast_to(tf.constant([[7], [8]]), shape))) == [[7, 7, 7], [8]]
    assert shape.rank == 2
    assert [shape.is_ragged(axis) for axis in (0, 1)] == [False, True]


def test_gradients_pass_through(session: Any) -> None:
    values = tf.constant([1.0, 2.0, 3.0])
    x = tf.RaggedTensor.from_row_splits(values, [0, 2, 3])
    loss = tf.reduce_sum(tf.gather(x, [1, 1]).flat_values ** 2)
    gradient = tf.convert_to_tensor(tf.gradients(loss, values)[0])
    np.testing.assert_allclose(session.run(gradient), [0, 0, 12])


def test_branches_and_loops_carry_them(session: Any) -> None:
    x = tf.ragged.constant(ROWS)
    chosen = tf.cond(tf.constant(False), lambda: x, lambda: x[:1])
    assert lists(session.run(chosen)) == ROWS[:1]
    _, doubled = tf.while_loop(
        lambda i, _: i < 2, lambda i, rows: (i + 1, tf.concat([rows, rows], 1)), [0, x]
    )
    assert lists(session.run(doubled)) == [row * 4 for row in ROWS]
