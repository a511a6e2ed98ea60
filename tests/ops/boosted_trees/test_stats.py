"""Sums by node and bucket, with the loop in C and without."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph", "either_way")


def aggregate(features):
    """Return random gradients and their sums: 3 nodes, 4 buckets."""
    rng = np.random.RandomState(0)
    nodes, gradients = rng.randint(0, 3, len(features)), rng.randn(len(features), 2)
    hessians = rng.rand(len(features), 1)
    with tf.Session() as session:
        sums = session.run(
            tf.raw_ops.BoostedTreesAggregateStats(
                node_ids=nodes.astype(np.int32),
                gradients=gradients.astype(np.float32),
                hessians=hessians.astype(np.float32),
                feature=features,
                max_splits=3,
                num_buckets=4,
            )
        )
    return nodes, np.concatenate([gradients, hessians], 1).astype(np.float32), sums  # fmt: skip


def test_values_are_added_to_their_buckets():
    features = np.random.RandomState(1).randint(-1, 5, (50, 6)).astype(np.int32)
    nodes, values, sums = aggregate(features)
    expected = np.zeros((3, 6, 5, 3))
    for node, value, row in zip(nodes, values, features, strict=True):
        for dimension, bucket in enumerate(row):
            expected[node, dimension, bucket] += value  # -1 is the last one
    np.testing.assert_array_equal(sums, expected.astype(np.float32))


@pytest.mark.parametrize("bucket", [-2, 5])
def test_other_buckets_raise(bucket):
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"Bucket {bucket} is not in"):
        aggregate(np.array([[0], [bucket], [9]], np.int32))
