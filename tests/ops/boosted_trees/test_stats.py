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


def summarize(nodes, features):
    ones = np.ones((len(nodes), 1), np.float32)
    with tf.Session() as session:
        return session.run(
            tf.raw_ops.BoostedTreesMakeStatsSummary(
                node_ids=np.int32(nodes),
                gradients=ones,
                hessians=ones * 2,
                bucketized_features_list=[np.int32(each) for each in features],
                max_splits=2,
                num_buckets=3,
            )
        )


def test_summaries_count_buckets_beyond_the_last_in_the_next_node():
    sums = summarize([0, 1, 1, 0], [[0, 2, 2, 3], [1, 5, 0, 2]])
    assert sums[..., 0].tolist() == [[[1, 0, 0], [1, 0, 2]], [[0, 1, 1], [1, 0, 0]]]
    np.testing.assert_array_equal(sums[..., 1], sums[..., 0] * 2)


def test_summaries_of_no_examples_are_zero():
    assert not summarize([], [[], []]).any()


@pytest.mark.parametrize("nodes,features,text", [
    ([0, 2], [[0, 0]], "must be less than max_splits. Node 1 is 2"),
    ([-1, 0], [[0, 0]], "0th entry should be >=0, got: -1"),
    ([0, 0], [[0, 1], [0, -1]], "Bucket -1 of feature 1 should be >= 0"),
])  # fmt: skip
def test_summaries_of_other_places_raise(nodes, features, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        summarize(nodes, features)
