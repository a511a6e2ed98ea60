"""The centers that k-means clustering begins with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow_contrib.ops.clustering import (
    kmc2_chain_initialization,
    kmeans_plus_plus_initialization,
    nearest_neighbors,
)


class InitialClusters:
    """Choice of initial centers among the inputs, batch after batch if necessary.

    Args:
      inputs: points, a list of [n, width].
      num_clusters: how many centers there are.
      initial_clusters: how they are chosen: see `KMeans`.
      cosine: whether centers have unit length.
      random_seed, num_retries, chain_length: see `KMeans`.
      centers, moved: the variables of the centers, and of those that batches move.
      initialized: a variable that says whether all centers are chosen.
    """

    def __init__(
        self, inputs: list[Any], num_clusters: Any, initial_clusters: Any, cosine: bool,
        random_seed: int | None, num_retries: int, chain_length: int, centers: Any, moved: Any,
        initialized: Any,
    ) -> None:  # fmt: skip
        self._inputs = inputs
        self._num_clusters = num_clusters
        self._initial_clusters = initial_clusters
        self._cosine = cosine
        self._random_seed = random_seed
        self._num_retries = num_retries
        self._chain_length = chain_length
        self._centers, self._moved = centers, moved
        self._initialized = initialized
        self._num_selected = tf.shape(centers)[0]
        self._num_remaining = num_clusters - self._num_selected
        self._num_data = tf.add_n([tf.shape(each)[0] for each in inputs])

    def op(self) -> Any:
        """Return the operation that chooses centers."""
        return tf.cond(
            tf.equal(self._num_remaining, 0),
            lambda: tf.assert_equal(self._initialized, True),
            self._initialize,
        )

    def _initialize(self) -> Tensor:
        with tf.control_dependencies([tf.assert_positive(self._num_remaining)]):
            by_chains = isinstance(self._initial_clusters, str) and self._initial_clusters == "kmc2"
            remaining = self._add_by_chains() if by_chains else self._add()
            return tf.cond(
                tf.equal(remaining, 0), lambda: tf.assign(self._initialized, True), tf.no_op
            )

    def _unit_length(self, points: Any) -> Tensor:
        return tf.nn.l2_normalize(points, dim=1) if self._cosine else points

    def _assign(self, centers: Any) -> Tensor:
        """Set the centers."""
        assigned = tf.assign(self._centers, centers, validate_shape=False)
        if self._moved is not self._centers:
            assigned = tf.assign(self._moved, assigned, validate_shape=False)
        return assigned

    def _left(self, assigned: Any) -> Tensor:
        """Return the number of centers still to choose."""
        return self._num_clusters - tf.shape(assigned)[0]

    def _add(self) -> Tensor:
        new = self._unit_length(self._chosen())
        centers = tf.cond(
            tf.equal(self._num_selected, 0),
            lambda: new,
            lambda: tf.concat([self._centers, new], 0),
        )
        return self._left(self._assign(centers))

    def _chosen(self) -> Tensor:
        how = self._initial_clusters
        if callable(how):
            return how(self._inputs, self._num_remaining)
        if not isinstance(how, str):
            fits = tf.assert_equal(self._num_remaining, tf.shape(how)[0])
            return self._after(fits, lambda: how)
        if how == "random":
            return tf.cond(
                self._num_data <= self._num_remaining,
                lambda: tf.concat(self._inputs, 0),
                self._at_random,
            )
        enough = tf.assert_greater_equal(self._num_data, self._num_remaining)
        return self._after(enough, self._spread)

    @staticmethod
    def _after(assertion: Any, build: Callable[[], Any]) -> Any:
        with tf.control_dependencies([assertion]):
            return build()

    def _at_random(self) -> Tensor:
        indices = tf.random_uniform(
            tf.reshape(self._num_remaining, [-1]), minval=0,
            maxval=tf.cast(self._num_data, tf.int64), seed=self._random_seed, dtype=tf.int64,
        )  # fmt: skip
        return tf.nn.embedding_lookup(self._inputs, indices, partition_strategy="div")

    def _spread(self) -> Tensor:
        return kmeans_plus_plus_initialization(
            self._unit_length(self._inputs[0]), tf.cast(self._num_remaining, tf.int64),
            self._random_seed, self._num_retries,
        )  # fmt: skip

    def _add_by_chains(self) -> Tensor:
        """Add a center of each run of `chain_length` points."""
        points = self._inputs[0]
        runs = tf.cast(tf.shape(points)[0] / self._chain_length, dtype=tf.int32)
        number = tf.maximum(tf.minimum(self._num_remaining, runs), 1)

        def first() -> Any:
            return self._unit_length(tf.reshape(points[0], [1, -1]))

        def add(turn: Any, _: Any) -> Any:
            def next_one() -> Tensor:
                start = turn * self._chain_length
                run = points[start : start + self._chain_length]
                _, distances = nearest_neighbors(run, self._centers, 1)
                chosen = kmc2_chain_initialization(tf.squeeze(distances), self._random_seed)
                center = self._unit_length(tf.reshape(run[chosen], [1, -1]))
                return tf.concat([self._centers, center], 0)

            centers = tf.cond(tf.equal(self._num_selected, 0), first, next_one)
            assigned = self._assign(centers)
            return turn + 1, self._left(assigned)

        _, remaining = tf.while_loop(lambda turn, _: tf.less(turn, number), add, [0, 0])
        return remaining
