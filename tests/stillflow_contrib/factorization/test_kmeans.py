"""k-means clustering as its tutorial uses it."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow_contrib.ops.clustering import nearest_neighbors

ROWS = np.arange(60)
POINTS = np.array([[0, 0], [8, 0], [0, 8]], np.float32)[ROWS % 3]
POINTS = POINTS + np.stack([np.sin(ROWS), np.cos(ROWS)], 1).astype(np.float32)


def input_fn():
    return tf.train.limit_epochs(tf.convert_to_tensor(POINTS), num_epochs=1)


def test_clusters_are_found_epoch_by_epoch(tmp_path):
    kmeans = tf.contrib.factorization.KMeansClustering(
        3, str(tmp_path), initial_clusters="kmeans_plus_plus", use_mini_batch=False
    )
    for _ in range(4):
        kmeans.train(input_fn)
    centers = kmeans.cluster_centers()
    nearest = list(kmeans.predict_cluster_index(input_fn))
    assert all(len(set(nearest[start::3])) == 1 for start in range(3))
    np.testing.assert_allclose(np.sort(centers.max(1)), [0, 8, 8], atol=0.3)
    assert kmeans.score(input_fn) == pytest.approx(60, rel=0.2)


def test_batches_find_clusters(tmp_path):
    kmeans = tf.contrib.factorization.KMeansClustering(3, str(tmp_path), random_seed=3)

    def batches():
        return tf.data.Dataset.from_tensor_slices(POINTS).shuffle(60, seed=1).repeat().batch(20)

    kmeans.train(batches, steps=20)
    assert kmeans.score(input_fn) < 2000


def test_centers_equally_near_are_taken_in_order():
    centers = np.array([[1, 0], [-1, 0], [0, 1]], np.float32)
    with tf.Session() as session:
        indices, distances = session.run(nearest_neighbors(np.zeros((1, 2), "f"), centers, 2))
    assert indices.tolist() == [[0, 1]]
    assert distances.tolist() == [[1.0, 1.0]]
