"""`tf.contrib.factorization.KMeansClustering`: an estimator of clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.estimator.estimator import Estimator
from stillflow.estimator.spec import EstimatorSpec
from stillflow.graph.arrays import Array
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ops.summary.numbers import scalar
from stillflow.saved_model import names
from stillflow.saved_model.export_outputs import PredictOutput
from stillflow.train.global_step import get_global_step
from stillflow_contrib.factorization import clustering
from stillflow_contrib.factorization.hooks import InitializeClustersHook, LossRelativeChangeHook


@export("contrib.factorization.KMeansClustering")
class KMeansClustering(Estimator):
    """Estimator of clusters of points.

    Args:
      num_clusters: how many clusters there are.
      model_dir: the folder of checkpoints and event files.
      initial_clusters: `RANDOM_INIT`, `KMEANS_PLUS_PLUS_INIT`, the centers, or a function of the
        inputs and the number of centers that gives them.
      distance_metric: `SQUARED_EUCLIDEAN_DISTANCE` or `COSINE_DISTANCE`.
      random_seed: of the initial centers.
      use_mini_batch: whether a step has a batch of the points, not all of them.
      mini_batch_steps_per_iteration: after how many batches the moved centers count.
      kmeans_plus_plus_num_retries: number of redraws of a center by `KMEANS_PLUS_PLUS_INIT`.
      relative_tolerance: training stops when the loss changes by less than this share.
      config: a `RunConfig`.
      feature_columns: columns that make points of features.

    Raises:
      ValueError: for other names.
    """

    SQUARED_EUCLIDEAN_DISTANCE = clustering.SQUARED_EUCLIDEAN_DISTANCE
    COSINE_DISTANCE = clustering.COSINE_DISTANCE
    RANDOM_INIT = clustering.RANDOM_INIT
    KMEANS_PLUS_PLUS_INIT = clustering.KMEANS_PLUS_PLUS_INIT
    SCORE = "score"
    CLUSTER_INDEX = "cluster_index"
    ALL_DISTANCES = "all_distances"
    CLUSTER_CENTERS_VAR_NAME = clustering.CLUSTERS_VAR_NAME
    _model = clustering.KMeans

    def __init__(
        self,
        num_clusters: int,
        model_dir: str | None = None,
        initial_clusters: Any = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        random_seed: int | None = 0,
        use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1,
        kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: float | None = None,
        config: Any = None,
        feature_columns: Any = None,
    ) -> None:
        known = (self.RANDOM_INIT, self.KMEANS_PLUS_PLUS_INIT)
        clustering.check_settings(initial_clusters, distance_metric, known)

        def model_fn(features: Any, mode: str, config: Any) -> EstimatorSpec:
            graph = self._model(
                _points(features, feature_columns),
                num_clusters,
                initial_clusters,
                distance_metric,
                use_mini_batch,
                mini_batch_steps_per_iteration,
                random_seed=random_seed,
                kmeans_plus_plus_num_retries=kmeans_plus_plus_num_retries,
            ).training_graph()
            return _spec(graph, mode, relative_tolerance, config.is_chief)

        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)

    def _predict_one_key(self, input_fn: Callable[[], Any], predict_key: str) -> Iterator[Any]:
        for result in self.predict(input_fn=input_fn, predict_keys=[predict_key]):
            yield result[predict_key]

    def predict_cluster_index(self, input_fn: Callable[[], Any]) -> Iterator[Any]:
        """Return the number of each point's cluster."""
        return self._predict_one_key(input_fn, self.CLUSTER_INDEX)

    def score(self, input_fn: Callable[[], Any]) -> np.float32:
        """Return the sum of the distances of points to their nearest centers."""
        return self.evaluate(input_fn=input_fn, steps=1)[self.SCORE]

    def transform(self, input_fn: Callable[[], Any]) -> Iterator[Any]:
        """Return the distances of each point to all centers."""
        return self._predict_one_key(input_fn, self.ALL_DISTANCES)

    def cluster_centers(self) -> Array:
        """Return the centers [clusters, width]."""
        return self.get_variable_value(self.CLUSTER_CENTERS_VAR_NAME)


@export("estimator.experimental.KMeans")
class KMeans(KMeansClustering):
    """`KMeansClustering` for `tf.estimator`.

    Args:
      seed: of the initial centers, in addition to the graph's own.
      num_clusters, model_dir, ...: as of `KMeansClustering`.
    """

    _model = clustering.SeededKMeans

    def __init__(
        self,
        num_clusters: int,
        model_dir: str | None = None,
        initial_clusters: Any = clustering.RANDOM_INIT,
        distance_metric: str = clustering.SQUARED_EUCLIDEAN_DISTANCE,
        seed: int | None = None,
        use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1,
        kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: float | None = None,
        config: Any = None,
        feature_columns: Any = None,
    ) -> None:
        self._squared = distance_metric == clustering.SQUARED_EUCLIDEAN_DISTANCE
        super().__init__(
            num_clusters, model_dir, initial_clusters, distance_metric, seed, use_mini_batch,
            mini_batch_steps_per_iteration, kmeans_plus_plus_num_retries, relative_tolerance,
            config, feature_columns,
        )  # fmt: skip

    def transform(self, input_fn: Callable[[], Any]) -> Iterator[Any]:
        """Return the distances of each point to all centers; not their squares."""
        for distances in super().transform(input_fn):
            yield np.sqrt(distances) if self._squared else distances


def _points(features: Any, feature_columns: Any) -> Tensor:
    """Return the points: features transformed by columns, or all features side by side."""
    if isinstance(features, dict) and feature_columns:
        return tf.feature_column.input_layer(features, feature_columns)
    return side_by_side(features)


def side_by_side(features: Any) -> Any:
    """All features as one tensor, in the order of their names."""
    if not isinstance(features, dict):
        return features
    parts = [features[key] for key in sorted(features)]
    with tf.colocate_with(parts[0]):
        return tf.concat(parts, axis=1)


def _spec(graph: Any, mode: str, tolerance: float | None, is_chief: bool) -> EstimatorSpec:
    all_distances, clusters, distances, initialized, init_op, train_op = graph
    loss = tf.reduce_sum(distances)
    scalar("loss/raw", loss)
    counted = tf.assign_add(get_global_step(), 1)
    train_op = with_dependencies([train_op, counted], loss)
    hooks: list[Any] = [InitializeClustersHook(init_op, initialized, is_chief)]
    if tolerance is not None:
        hooks.append(LossRelativeChangeHook(loss, tolerance))
    predictions = {
        KMeansClustering.ALL_DISTANCES: all_distances[0],
        KMeansClustering.CLUSTER_INDEX: clusters[0],
    }
    outputs = {key: PredictOutput(value) for key, value in predictions.items()}
    outputs[names.DEFAULT_SERVING_SIGNATURE_DEF_KEY] = PredictOutput(clusters[0])
    return EstimatorSpec(
        mode=mode, predictions=predictions, loss=loss, train_op=train_op,
        eval_metric_ops={KMeansClustering.SCORE: tf.metrics.mean(loss)}, training_hooks=hooks,
        export_outputs=outputs,
    )  # fmt: skip
