"""Feature columns of tf.contrib.layers, as programs of 2016 and 2017 use them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import stillflow as tf
from stillflow_contrib.layers.feature_columns.sparse import _SparseColumn
from stillflow_contrib.layers.scattered_embeddings import scattered_embedding_lookup
from stillflow_contrib.layers.sparse_conversion import (
    indicators_to_sparse_ids,
    sparse_row_envelope,
)

layers = tf.contrib.layers
PROGRAM = """
from tensorflow.contrib.layers.python.layers import feature_column, feature_column_ops
from tensorflow.contrib.layers.python.ops import sparse_feature_cross_op, sparse_ops
assert feature_column._RealValuedColumn and feature_column_ops._Transformer
assert sparse_ops.dense_to_sparse_tensor
print(sparse_feature_cross_op.SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY)
"""

pytestmark = pytest.mark.usefixtures("graph")


def run(fetches):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(fetches)


def test_a_missing_feature_is_told_by_name():
    age = layers.real_valued_column("age")
    with pytest.raises(KeyError, match="age"):
        layers.input_from_feature_columns({"size": tf.zeros([2, 1])}, [age])


def test_a_wide_model_learns():
    tf.set_random_seed(1)
    city = layers.sparse_column_with_keys("city", ["a", "b"])
    age = layers.bucketized_column(layers.real_valued_column("age"), [10.0, 20.0])
    columns = [city, age, layers.crossed_column([city, age], 50)]
    ids = tf.SparseTensor([[0, 0], [1, 0], [2, 0]], ["a", "b", "a"], [3, 1])
    features = {"city": ids, "age": tf.constant([[5.0], [15.0], [25.0]])}
    logits, _, _ = layers.weighted_sum_from_feature_columns(features, columns, 1)
    loss = tf.reduce_mean(tf.square(logits - [[1.0], [2.0], [3.0]]))
    train = tf.train.FtrlOptimizer(0.5).minimize(loss)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        first = session.run(loss)
        for _ in range(50):
            session.run(train)
        assert session.run(loss) < first / 50


def test_columns_of_one_key_are_refused():
    ids = layers.sparse_column_with_hash_bucket("a", 3)
    twice = [layers.embedding_column(ids, 2), layers.embedding_column(ids, 2)]
    with pytest.raises(ValueError, match="Duplicate feature column key"):
        layers.check_feature_columns(twice)


def test_parts_of_a_pool_have_the_sizes_of_a_division():
    parts = [tf.zeros([3]), tf.zeros([5])]
    with pytest.raises(ValueError, match="has size 3, expected 4"):
        scattered_embedding_lookup(parts, tf.constant(["a"]), 2)


def test_places_of_indicators():
    ids = indicators_to_sparse_ids([[0, 5, 0, 2], [7, 0, 0, 0]])
    got = run(ids)
    np.testing.assert_array_equal(got.indices, [[0, 0], [0, 1], [1, 0]])
    np.testing.assert_array_equal(got.values, [1, 3, 0])
    np.testing.assert_array_equal(got.dense_shape, [2, 2])


def test_the_width_that_each_row_needs():
    sparse = tf.SparseTensor([[0, 2], [2, 0]], [1, 1], [3, 4])
    np.testing.assert_array_equal(run(sparse_row_envelope(sparse)), [3, 0, 1])
    with pytest.raises(ValueError, match="same axis"):
        sparse_row_envelope(sparse, 1, 1)


def test_internal_modules_are_served():
    done = subprocess.run(
        [sys.executable, "-m", "stillflow", "-c", PROGRAM], capture_output=True, text=True
    )
    assert done.stdout.strip() == "956888297470", done.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"bucket_size": 10, "lookup_config": "x"}, "one and only one of bucket_size or lookup"),
        ({"lookup_config": "x", "dtype": tf.float32}, "dtype must be string or integer"),
    ],
)
def test_arguments_of_a_column_that_do_not_go_together_are_named_first(arguments, message):
    with pytest.raises(ValueError, match=message):
        _SparseColumn("a", **arguments)
