"""`tf.contrib.factorization.KMeans`: the graph of k-means clustering."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export, export_value
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.random_seed import get_seed
from stillflow_contrib.factorization.initial_clusters import InitialClusters
from stillflow_contrib.ops.clustering import nearest_neighbors

SQUARED_EUCLIDEAN_DISTANCE = export_value(
    "contrib.factorization.SQUARED_EUCLIDEAN_DISTANCE", "squared_euclidean"
)
COSINE_DISTANCE = export_value("contrib.factorization.COSINE_DISTANCE", "cosine")
RANDOM_INIT = export_value("contrib.factorization.RANDOM_INIT", "random")
KMEANS_PLUS_PLUS_INIT = export_value(
    "contrib.factorization.KMEANS_PLUS_PLUS_INIT", "kmeans_plus_plus"
)
KMC2_INIT = "kmc2"
CLUSTERS_VAR_NAME = "clusters"
# Keeps the mean of no points finite.
_EPSILON = 1e-6


def _beside(tensor: Any) -> Any:
    return tf.colocate_with(tensor, ignore_existing=True)


def check_settings(initial_clusters: Any, distance_metric: str, known: Any) -> None:
    """Raise an error for unknown initializations and distances."""
    if isinstance(initial_clusters, str) and initial_clusters not in known:
        raise ValueError(f"Unsupported initialization algorithm '{initial_clusters}'")
    if distance_metric not in (SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE):
        raise ValueError(f"Unsupported distance metric '{distance_metric}'")


@export("contrib.factorization.KMeans")
class KMeans:
    """Clusters of points around centers, which move to the means of their points.

    Args:
      inputs: points [n, width], or a list of such tensors.
      num_clusters: how many clusters there are.
      initial_clusters: "random", "kmeans_plus_plus", "kmc2", the centers, or a function of the
        inputs and the number of centers that gives them.
      distance_metric: "squared_euclidean" or "cosine".
      use_mini_batch: whether inputs are batches, whose points move centers by and by.
      mini_batch_steps_per_iteration: after how many batches the moved centers count.
      random_seed: of the initial centers.
      kmeans_plus_plus_num_retries: number of redraws of a center by "kmeans_plus_plus".
      kmc2_chain_length: how many points "kmc2" draws a center from.

    Raises:
      ValueError: for other names.
    """

    def __init__(
        self,
        inputs: Any,
        num_clusters: Any,
        initial_clusters: Any = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        use_mini_batch: bool = False,
        mini_batch_steps_per_iteration: int = 1,
        random_seed: int | None = 0,
        kmeans_plus_plus_num_retries: int = 2,
        kmc2_chain_length: int = 200,
    ) -> None:
        known = (RANDOM_INIT, KMEANS_PLUS_PLUS_INIT, KMC2_INIT)
        check_settings(initial_clusters, distance_metric, known)
        self._inputs = inputs if isinstance(inputs, list) else [inputs]
        self._num_clusters = num_clusters
        self._initial_clusters = initial_clusters
        self._cosine = distance_metric == COSINE_DISTANCE
        self._use_mini_batch = use_mini_batch
        self._steps = int(mini_batch_steps_per_iteration)
        self._random_seed = random_seed
        self._retries = kmeans_plus_plus_num_retries
        self._chain_length = kmc2_chain_length

    @property
    def _waits(self) -> bool:
        """True if moved centers count only after some batches."""
        return self._use_mini_batch and self._steps > 1

    @property
    def _keeps_unit_length(self) -> bool:
        return self._cosine and (not self._use_mini_batch or self._waits)

    def training_graph(self) -> tuple[Any, Any, Any, Any, Any, Any]:
        """Build the graph.

        Returns:
          The distances of each input's points to all centers, the numbers of their clusters, the
          distances to the nearest center (three tuples), a variable that says whether centers are
          initialized, the operation that initializes them, and the one that trains.
        """
        if isinstance(self._initial_clusters, str) or callable(self._initial_clusters):
            initial = self._initial_clusters
            count = tf.convert_to_tensor(self._num_clusters)
        else:
            initial = tf.convert_to_tensor(self._initial_clusters)
            count = tf.shape(initial)[0]
        inputs = self._inputs
        centers, initialized, counts, moved, steps_left = self._variables(count)
        init_op = InitialClusters(
            inputs, count, initial, self._cosine, self._random_seed, self._retries,
            self._chain_length, centers, moved, initialized,
        ).op()  # fmt: skip
        nearest_to = centers
        if self._cosine:
            inputs = [_unit_length(each) for each in inputs]
            if not self._keeps_unit_length:
                nearest_to = tf.nn.l2_normalize(nearest_to, dim=1)
        scores, distances, clusters = self._infer(inputs, nearest_to)
        if self._use_mini_batch:
            synchronize = self._synchronize(steps_left, centers, moved, counts)
            with tf.control_dependencies([synchronize]):
                train_op = _move(inputs, clusters, moved, counts)
        else:
            train_op = self._average(inputs, count, clusters, centers)
        return scores, clusters, distances, initialized, init_op, train_op

    def _no_centers(self) -> Tensor:
        return tf.constant([], dtype=tf.float32)

    def _variables(self, num_clusters: Any) -> tuple[Any, Any, Any, Any, Any]:
        empty = self._no_centers()
        centers = tf.Variable(empty, name=CLUSTERS_VAR_NAME, validate_shape=False)
        initialized = tf.Variable(False, dtype=tf.bool, name="initialized")
        if not self._waits:
            counts = None
            if self._use_mini_batch:
                counts = tf.Variable(tf.ones([num_clusters], dtype=tf.int64))
            return centers, initialized, counts, centers, None
        moved = tf.Variable(empty, name="clusters_updated", validate_shape=False)
        steps_left = tf.Variable(self._steps, dtype=tf.int64, name="update_in_steps")
        counts = tf.Variable(tf.zeros([num_clusters], dtype=tf.int64))
        return centers, initialized, counts, moved, steps_left

    def _infer(self, inputs: list[Any], centers: Any) -> Any:
        """Return the scores of each input, the nearest distances, and the clusters."""
        scores = [self._scores(each, centers) for each in inputs]
        if self._cosine and not self._keeps_unit_length:
            with _beside(centers):
                centers = tf.nn.l2_normalize(centers, dim=1)
        found = []
        for each, score in zip(inputs, scores):
            with _beside(each):
                indices, distances = nearest_neighbors(each, centers, 1)
                if self._cosine:
                    distances *= 0.5
                found.append((score, tf.squeeze(distances, [-1]), tf.squeeze(indices, [-1])))
        return zip(*found)

    def _scores(self, points: Any, centers: Any) -> Tensor:
        with _beside(points):
            if self._cosine:
                return 1 - tf.matmul(points, centers, transpose_b=True)
            return (
                tf.reduce_sum(tf.square(points), 1, keepdims=True)
                - 2 * tf.matmul(points, centers, transpose_b=True)
                + tf.transpose(tf.reduce_sum(tf.square(centers), 1, keepdims=True))
            )

    def _synchronize(
        self, steps_left: Any, centers: Any, moved: Any, counts: Any
    ) -> Tensor | Operation:
        """Make the moved centers count, once in some batches."""
        if not self._waits:
            return tf.no_op()

        def begin_anew() -> Tensor:
            with tf.control_dependencies([tf.assign(steps_left, self._steps - 1)]):
                with _beside(moved):
                    new = tf.nn.l2_normalize(moved, dim=1) if self._cosine else moved
                with _beside(centers):
                    assigned = tf.assign(centers, new)
                    with tf.control_dependencies([assigned]), _beside(None):
                        emptied = tf.assign(counts, tf.zeros_like(counts))
                        with tf.control_dependencies([emptied]):
                            return tf.identity(steps_left)

        with _beside(steps_left):
            return tf.cond(steps_left <= 0, begin_anew, lambda: tf.assign_sub(steps_left, 1))

    def _average(self, inputs: list[Any], num_clusters: Any, clusters: Any, centers: Any) -> Any:
        """Move each center to the mean of its points."""
        sums, counts = [], []
        epsilon = tf.constant(_EPSILON, dtype=inputs[0].dtype)
        for each, cluster in zip(inputs, clusters):
            with _beside(each):
                sums.append(tf.unsorted_segment_sum(each, cluster, num_clusters))
                ones = tf.ones(tf.reshape(tf.shape(each)[0], [-1]))
                counts.append(
                    tf.unsorted_segment_sum(tf.reshape(ones, [-1, 1]), cluster, num_clusters)
                )
        with _beside(centers):
            new = tf.add_n(sums) / (tf.cast(tf.add_n(counts), sums[0].dtype) + epsilon)
            if self._keeps_unit_length:
                new = tf.nn.l2_normalize(new, dim=1)
        return tf.assign(centers, new)


class SeededKMeans(KMeans):
    """The same for `tf.estimator`: the graph's seed is one of the seeds of initial centers."""

    def __init__(self, *args: Any, random_seed: int | None = None, **settings: Any) -> None:
        settings["random_seed"] = get_seed(random_seed)[0]
        super().__init__(*args, **settings)

    def _no_centers(self) -> Tensor:
        return tf.placeholder_with_default([], shape=None)


def _unit_length(points: Any) -> Tensor:
    with _beside(points):
        return tf.nn.l2_normalize(points, dim=1)


def _move(inputs: list[Any], clusters: Any, centers: Any, counts: Any) -> Operation:
    """Move centers towards the points of a batch, the less the more points they have had."""
    updates = []
    for points, cluster in zip(inputs, clusters):
        with _beside(points):
            ids, places = tf.unique(tf.reshape(cluster, [-1]))
            number = tf.size(ids)
            with _beside(counts):
                before = tf.gather(counts, ids)
            with _beside(centers):
                old = tf.gather(centers, ids)
            new = tf.unsorted_segment_sum(tf.ones_like(places, dtype=counts.dtype), places, number)
            shift = tf.unsorted_segment_sum(points, places, number)
            rows = tf.reshape(number, [1])
            ones = tf.ones(tf.reshape(tf.rank(points) - 1, [1]), dtype=tf.int32)
            columns = tf.concat([rows, ones], 0)
            shift -= tf.cast(tf.reshape(new, columns), points.dtype) * old
            rate = tf.reciprocal(tf.cast(before + new, points.dtype))
            shift *= tf.reshape(rate, columns)
        updates += [tf.scatter_add(counts, ids, new), tf.scatter_add(centers, ids, shift)]
    return tf.group(*updates)
