"""Kernels over sparse tensors and picked rows: the same with loops in C as without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops.sparse import native_kernels

_TYPES = (np.int32, np.int64)


def _run(build: Callable[[], Any]) -> list[Any]:
    with tf.Graph().as_default(), tf.Session() as session:
        fetches = build()
        return session.run(list(fetches) if isinstance(fetches, tuple) else [fetches])


def _fed(value: Any) -> Any:
    """Return a tensor whose value no plan knows beforehand."""
    value = np.asarray(value)
    return tf.placeholder_with_default(value, [None] * value.ndim)


@pytest.fixture
def same(monkeypatch) -> Callable[[Callable[[], Any]], list[Any]]:
    """Run a graph with the loops and without, and compares; skips where they were not built."""
    if native.library() is None:
        pytest.skip("the loops in C were not built")

    def compare(build: Callable[[], Any]) -> list[Any]:
        fast = _run(build)
        with monkeypatch.context() as patch:
            patch.setattr(native, "library", lambda: None)
            plain = _run(build)
        for one, other in zip(fast, plain, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
        return fast

    return compare


@pytest.mark.parametrize("kind", _TYPES)
@pytest.mark.parametrize("size", [0, 1, 7, 1000])
def test_unique(same, kind, size):
    numbers = np.random.RandomState(size).randint(-20, 20, size).astype(kind)
    for out in (tf.int32, tf.int64):
        different, places = same(lambda out=out: tuple(tf.unique(_fed(numbers), out)))
        np.testing.assert_array_equal(different[places], numbers)


def test_unique_of_numbers_that_share_a_slot(same):
    numbers = np.arange(300, dtype=np.int64) << 56
    different, _ = same(lambda: tuple(tf.unique(_fed(np.concatenate([numbers, numbers])))))
    np.testing.assert_array_equal(different, np.unique(numbers.view(np.uint64)).view(np.int64))


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int8, np.complex128, np.bool_])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_gather_nd(same, kind, depth):
    rng = np.random.RandomState(depth)
    params = rng.randint(0, 2, (4, 3, 5)).astype(kind)
    tuples = np.stack([rng.randint(0, size, (2, 6)) for size in (4, 3, 5)[:depth]], -1)
    same(lambda: tf.gather_nd(_fed(params), _fed(tuples)))


@pytest.mark.parametrize("wrong", [-1, 3, 1 << 40])
def test_gather_nd_of_a_row_that_is_not_there(wrong):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = \["):
        _run(lambda: tf.gather_nd(_fed(np.zeros((3, 2), np.float32)), _fed([[0, 0], [wrong, 1]])))


@pytest.mark.parametrize("kind", _TYPES)
@pytest.mark.parametrize("inner", [(), (1,), (8,), (3, 5)])
def test_unsorted_segment_sum(same, kind, inner):
    rng = np.random.RandomState(1)
    data = rng.randn(40, *inner).astype(np.float32)
    ids = rng.randint(-2, 9, 40).astype(kind)
    same(lambda: tf.unsorted_segment_sum(_fed(data), _fed(ids), _fed(np.int32(9))))


@pytest.mark.parametrize("reduce", ["sum", "mean", "sqrt_n"])
@pytest.mark.parametrize("kind", _TYPES)
@pytest.mark.parametrize("inner", [(1,), (7,), (2, 3)])
def test_sparse_segments_and_their_gradients(same, reduce, kind, inner):
    rng = np.random.RandomState(2)
    data = rng.randn(10, *inner).astype(np.float32)
    indices = rng.randint(0, 10, 25).astype(kind)
    ids = np.sort(rng.randint(1, 12, 25)).astype(np.int32)
    call = getattr(tf, f"sparse_segment_{reduce}")

    def build() -> Any:
        table = _fed(data)
        result = call(table, _fed(indices), _fed(ids))
        counted = call(table, _fed(indices), _fed(ids), num_segments=20)
        return result, counted, tf.gradients(tf.square(result), table)[0]

    same(build)


@pytest.mark.parametrize(
    ("indices", "ids", "message"),
    [
        ([0, 9], [0, 0], "out of range"),
        ([0, -1], [0, 0], "out of range"),
        ([0, 1, 2], [0, 2, 1], "not increasing"),
        ([0, 1], [-1, 0], "out of range|>= 0"),
    ],
)
def test_sparse_segments_that_are_wrong(indices, ids, message):
    table = np.zeros((3, 2), np.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        _run(lambda: tf.sparse_segment_mean(_fed(table), _fed(indices), _fed(np.int32(ids))))


@pytest.mark.parametrize("shape", [[6, 4], [2, 12], [24], [3, 2, 2, 2], [-1, 8]])
def test_sparse_reshape(same, shape):
    rows = np.array([[0, 0], [1, 5], [3, 2], [9, -4]])  # the last is outside of the shape
    same(lambda: _parts(tf.sparse_reshape(_sparse(rows, np.arange(4), [4, 6]), _fed(shape))))


def _sparse(rows: Any, values: Any, shape: Any) -> Any:
    return tf.SparseTensor(_fed(np.int64(rows)), _fed(values), _fed(np.int64(shape)))


def _parts(sparse: Any) -> Any:
    return sparse.indices, sparse.values, sparse.dense_shape


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.bool_, np.complex64])
@pytest.mark.parametrize("rows", [[0, 1, 2, 3], [1, 1, 3], [3, 0, 3, 1, 0], [2], []])
def test_sparse_fill_empty_rows(same, kind, rows):
    indices = np.stack([np.int64(rows), np.arange(len(rows))[::-1]], 1)
    values = (np.arange(len(rows)) % 2).astype(kind)

    def build() -> Any:
        sparse = _sparse(indices, values, [4, 6])
        filled, empty = tf.sparse_fill_empty_rows(sparse, _fed(kind(1)))
        return (*_parts(filled), *empty.op.outputs)

    same(build)


def test_sparse_fill_empty_rows_of_an_element_outside():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\(1, 0\) is invalid: 4 >= 4"):
        _run(lambda: tf.sparse_fill_empty_rows(
            _sparse([[0, 0], [4, 0]], np.float32([1, 2]), [4, 6]), 0.0)[0].values)  # fmt: skip


def test_there_is_no_loop_for_what_is_not_contiguous():
    numbers = torch.arange(10)[::2]
    assert native_kernels.distinct(numbers, torch.int64) is None
    assert native_kernels.add_rows(torch.ones(3, 4).T, torch.arange(4), 4) is None


@pytest.mark.parametrize("how", ["add", "sub"])
@pytest.mark.parametrize("ids", [[], [0], [2, 0, 2, 2]])
def test_rows_are_added_to_in_turn(monkeypatch, how, ids):
    rng = np.random.RandomState(5)
    start, updates = rng.randn(3, 4).astype(np.float32), rng.randn(len(ids), 4)

    def changed() -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            variable = tf.Variable(start)
            rows = tf.placeholder_with_default(np.int32(ids), [None])
            change = getattr(tf, f"scatter_{how}")(variable, rows, _fed(np.float32(updates)))
            session.run(variable.initializer)
            return session.run(change)

    fast = changed()
    monkeypatch.setattr(native, "library", lambda: None)
    np.testing.assert_array_equal(fast, changed())


@pytest.mark.parametrize("wrong", [-1, 3])
def test_nothing_is_added_where_a_row_is_not_there(wrong):
    table, ids = torch.zeros(3, 2), torch.tensor([0, wrong])
    assert not native_kernels.add_to_rows(table, ids, torch.ones(2, 2), 1.0)
    assert not table.any()


@pytest.mark.parametrize(
    ("numbers", "expected"), [([], True), ([1, 2], True), ([0, 2], False), ([1, 3], False)]
)
@pytest.mark.parametrize("kind", _TYPES)
def test_numbers_are_within_bounds(kind, numbers, expected):
    if native.library() is None:
        pytest.skip("the loops in C were not built")
    assert native_kernels.are_within(torch.from_numpy(np.array(numbers, kind)), 1, 2) is expected


def test_tuples_index_a_part_of_a_larger_tensor(same):
    whole = np.arange(24, dtype=np.float32).reshape(4, 6)
    (found,) = same(lambda: tf.gather_nd(_fed(whole)[:, ::2], _fed([[1, 2], [3, 0]])))
    assert found.tolist() == [10, 18]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], True), ([[0, 0]], True), ([[0, 1], [0, 2], [1, 0]], True), ([[0, 1], [0, 1]], False),
        ([[1, 0], [0, 2]], False), ([[0, 2], [0, 1]], False), ([[0, 3]], False),
        ([[-1, 0]], False), ([[1, -1]], False), ([[2, 0]], False),
    ],
)  # fmt: skip
def test_order_of_indices(rows, expected):
    if native.library() is None:
        pytest.skip("the loops in C were not built")
    indices = torch.tensor(rows, dtype=torch.int64).reshape(-1, 2)
    assert native_kernels.are_in_order(indices, [2, 3]) is expected


def _parts(sparse: Any) -> tuple[Any, Any, Any]:
    return sparse.indices, sparse.values, sparse.dense_shape


@pytest.mark.parametrize("buckets", [0, 1, 100])
@pytest.mark.parametrize("rows", [0, 1, 9])
def test_crosses(same, rows, buckets):
    rng = np.random.RandomState(rows)

    def features(most, kind, order=True):
        counts = rng.randint(0, most + 1, rows)
        index = np.stack([np.repeat(np.arange(rows), counts), np.zeros(counts.sum())], 1)
        numbers = rng.randint(-(2**62), 2**62, len(index))
        index = index.astype(np.int64)
        if not order:
            index[:, 0] = rng.randint(-1, rows + 2, len(index))
        values = numbers if kind is np.int64 else np.array([b"%d" % n for n in numbers], object)
        return index, values, np.array([rows, most])

    columns = [features(4, bytes), features(3, np.int64), features(3, bytes, order=False)]
    dense = rng.randint(-9, 9, (rows, 2))

    def build():
        inputs = [tf.SparseTensor(*map(_fed, column)) for column in columns]
        crosses = [
            tf.sparse.cross_hashed([inputs[0], _fed(dense)], buckets),
            tf.sparse.cross_hashed([*inputs, _fed(dense)], buckets, hash_key=2**63 - 1),
            tf.sparse.cross_hashed([_fed(dense), _fed(dense[:, :0])], buckets),
        ]
        return tuple(part for cross in crosses for part in _parts(cross))

    hashes = same(build)[1]
    assert all(0 <= each < (buckets or 2**63) for each in hashes.tolist())


def test_crosses_of_columns_that_are_not_contiguous(same):
    index = np.array([[0, 0], [0, 1], [1, 0]], np.int64)

    def build():
        parts = tf.transpose(_fed(index.T)), _fed(np.arange(6))[::2], _fed([2, 2])
        return _parts(tf.sparse.cross_hashed([tf.SparseTensor(*parts)] * 2))

    assert len(same(build)[1]) == 5
