"""Sparse tensors cut into rows for a dataset, and stacked to a batch again."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


def dense(rng, dtype):
    """Return a matrix [6, 5] with zeros, and a row without anything else."""
    found = rng.randint(0, 3, (6, 5)) * (np.arange(6)[:, None] != 2)
    return found.astype(str).astype(object) if dtype is tf.string else found.astype(dtype)


def sparse(matrix):
    rows = np.argwhere(matrix != ("0" if matrix.dtype == object else 0))
    return tf.SparseTensor(rows, matrix[tuple(rows.T)], matrix.shape)


def run(*fetches):
    with tf.Session() as session:
        return session.run(list(fetches))


@pytest.mark.parametrize("dtype", [tf.string, np.float32, np.int64])
@pytest.mark.parametrize("out_type", [tf.string, tf.variant])
def test_rows_are_cut_and_stacked_to_the_same_tensor(dtype, out_type):
    matrix = dense(np.random.RandomState(1), dtype)
    given = sparse(matrix)
    rows = tf.serialize_many_sparse(given, out_type=out_type)
    found = tf.SparseTensor(*tf.raw_ops.DeserializeSparse(
        serialized_sparse=rows, dtype=given.dtype))  # fmt: skip
    expected, back = run(given, found)
    for mine, theirs in zip(back, expected, strict=True):
        assert mine.tolist() == theirs.tolist()


def test_unordered_rows_are_cut_in_their_order():
    given = tf.SparseTensor([[1, 3], [0, 2], [1, 0]], [1, 2, 3], [3, 4])
    rows = tf.serialize_many_sparse(given)
    (found,) = run(tf.deserialize_many_sparse(rows, tf.int32))
    assert found.indices.tolist() == [[0, 2], [1, 3], [1, 0]]
    assert found.values.tolist() == [2, 1, 3] and found.dense_shape.tolist() == [3, 4]


def test_batches_of_slices_of_sparse_tensors_hold_their_rows():
    matrix = dense(np.random.RandomState(2), np.int64)
    data = tf.data.Dataset.from_tensor_slices(sparse(matrix)).batch(4)
    following = tf.data.make_one_shot_iterator(data).get_next()
    with tf.Session() as session:
        for part in (matrix[:4], matrix[4:]):
            found = session.run(following)
            back = np.zeros(found.dense_shape, np.int64)
            back[tuple(found.indices.T)] = found.values
            assert back.tolist() == part.tolist()


def parts(indices=((0,),), values=(1.0,), shape=(3,)):
    """One row as three strings, without a check that its parts fit."""
    dtypes = np.int64, np.float32, np.int64
    protos = [
        tf.make_tensor_proto(np.array(part, dtype))
        for part, dtype in zip((indices, values, shape), dtypes, strict=True)
    ]
    return [proto.SerializeToString() for proto in protos]


@pytest.mark.parametrize(
    "second, message",
    [
        (parts(indices=(0,)), r"serialized_sparse\[1, 0\] to represent an index matrix"),
        (parts(values=((1.0,),)), r"serialized_sparse\[1, 1\] to represent a values vector"),
        (parts(shape=(3, 2)), r"rank prior to SparseTensor\[1\] was: 1 but rank of .* is: 2"),
    ],
)
def test_a_row_unlike_the_others_is_named(second, message):
    rows = tf.constant([parts(), second])
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(tf.deserialize_many_sparse(rows, tf.float32))


def test_rows_of_another_type_are_named():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"but SparseTensor\[0\].values.dtype"):
        run(tf.deserialize_many_sparse(tf.constant([parts()] * 2), tf.int32))
