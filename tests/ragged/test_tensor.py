from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stillflow as tf


def lists(value: Any) -> Any:
    return value.to_list() if hasattr(value, "to_list") else value.tolist()


def test_runs_give_values_and_take_them(session: Any) -> None:
    fed = tf.ragged.placeholder(tf.int32, ragged_rank=1, value_shape=[])
    value = tf.ragged.constant_value([[1], [], [2, 3]], dtype=np.int32)
    found = session.run({"twice": [fed * 2], "as it is": fed}, {fed: value})
    assert isinstance(found["as it is"], tf.ragged.RaggedTensorValue)
    assert lists(found["twice"][0]) == [[2], [], [4, 6]]


def test_rows_are_checked_when_they_run(session: Any) -> None:
    splits = tf.placeholder(tf.int64, [None])
    rows = tf.RaggedTensor.from_row_splits([1, 2, 3], splits)
    assert lists(session.run(rows, {splits: [0, 3]})) == [[1, 2, 3]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="do not form a valid RaggedTensor"):
        session.run(rows, {splits: [0, 2, 1, 3]})


@pytest.mark.parametrize("method, partition", [
    ("from_row_splits", [0, 2, 2, 3]), ("from_row_lengths", [2, 0, 1]),
    ("from_row_starts", [0, 2, 2]), ("from_row_limits", [2, 2, 3]),
    ("from_value_rowids", [0, 0, 2]),
])  # fmt: skip
def test_all_ways_to_tell_rows_apart_mean_the_same(
    session: Any, method: str, partition: list[int]
) -> None:
    rows = getattr(tf.RaggedTensor, method)(tf.constant([1, 2, 3]), partition)
    assert lists(session.run(rows)) == [[1, 2], [], [3]]
    assert session.run(rows.nrows()) == 3
    assert session.run(rows.row_lengths()).tolist() == [2, 0, 1]
    assert session.run(rows.value_rowids()).tolist() == [0, 0, 2]


KEYS: list[tuple[Any, Callable[[list[Any]], Any]]] = [
    (1, lambda rows: rows[1]),
    (-1, lambda rows: rows[-1]),
    (slice(1, None), lambda rows: rows[1:]),
    (slice(None, None, -1), lambda rows: rows[::-1]),
    ((slice(None), slice(1, None)), lambda rows: [row[1:] for row in rows]),
    ((slice(None), slice(-2, None)), lambda rows: [row[-2:] for row in rows]),
    ((slice(1, 3), slice(None, 1)), lambda rows: [row[:1] for row in rows[1:3]]),
    ((slice(None), slice(None, None, 2)), lambda rows: [row[::2] for row in rows]),
    (None, lambda rows: [rows]),
]


@pytest.mark.parametrize("key, expected", KEYS)
def test_keys_mean_what_they_mean_for_lists(session: Any, key: Any, expected: Any) -> None:
    rows = [[1, 2, 3], [], [4], [5, 6, 7, 8]]
    assert lists(session.run(tf.ragged.constant(rows)[key])) == expected(rows)


def test_padding_and_back(session: Any) -> None:
    rows = [[1, 2, 3], [], [4]]
    dense = tf.ragged.constant(rows).to_tensor(-1)
    assert session.run(dense).tolist() == [[1, 2, 3], [-1, -1, -1], [4, -1, -1]]
    assert lists(session.run(tf.RaggedTensor.from_tensor(dense, padding=-1))) == rows
    assert lists(session.run(tf.RaggedTensor.from_sparse(
        tf.ragged.constant(rows).to_sparse()))) == rows  # fmt: skip


def test_variants_hold_them(session: Any) -> None:
    rows = tf.ragged.constant([[[1, 2]], [], [[3], [4, 5]]])
    spec = rows._type_spec
    assert lists(session.run(spec._from_tensor_list(spec._to_tensor_list(rows)))) == [
        [[1, 2]], [], [[3], [4, 5]],
    ]  # fmt: skip
    (batched,) = spec._to_batched_tensor_list(rows)
    back = tf.RaggedTensor._from_variant(batched, tf.int32, output_ragged_rank=2)
    assert lists(session.run(back)) == [[[1, 2]], [], [[3], [4, 5]]]


def test_datasets_hold_them(session: Any) -> None:
    rows = tf.ragged.constant([[[1, 2]], [], [[3], [4, 5]]])
    elements = tf.data.Dataset.from_tensors(rows).concatenate(tf.data.Dataset.from_tensors(rows))
    slices = tf.data.Dataset.from_tensor_slices(rows)
    for dataset, expected in (
        (elements, [[[[1, 2]], [], [[3], [4, 5]]]] * 2),
        (slices, [[[1, 2]], [], [[3], [4, 5]]]),
        (slices.batch(2), [[[[1, 2]], []], [[[3], [4, 5]]]]),
    ):
        element = tf.data.make_one_shot_iterator(dataset).get_next()
        assert [lists(session.run(element)) for _ in expected] == expected


def test_lists_thousands_deep_are_refused() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        tf.ragged.constant(deep)


def test_functions_of_python_see_their_rows(session: Any) -> None:
    seen: list[Any] = []

    def use(values: Any) -> Any:
        rows = tf.RaggedTensor.from_row_lengths(values, [2, 0, 1], validate=False)
        seen.append((rows.to_list(), repr(rows)))
        return tf.reduce_sum(rows, axis=1)

    sums = tf.py_function(use, [tf.constant([1.0, 2.0, 3.0])], tf.float32)
    assert session.run(sums).tolist() == [3, 0, 3]
    assert seen == [([[1, 2], [], [3]], "<tf.RaggedTensor [[1.0, 2.0], [], [3.0]]>")]
