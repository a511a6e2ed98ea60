"""`tf.contrib.learn.KMeansClustering`: the older estimator of clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.arrays import Array
from stillflow.graph.export import export
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ops.summary.numbers import scalar
from stillflow.train.global_step import get_global_step
from stillflow.util.deprecation import deprecated
from stillflow_contrib.factorization import clustering
from stillflow_contrib.factorization.hooks import InitializeClustersHook, LossRelativeChangeHook
from stillflow_contrib.factorization.kmeans import side_by_side
from stillflow_contrib.learn.estimator import Estimator
from stillflow_contrib.learn.model_fn_ops import ModelFnOps

_SUCCEEDED = deprecated(
    None,
    "Please use tf.contrib.factorization.KMeansClustering instead of "
    "tf.contrib.learn.KMeansClustering. It has a similar interface, but uses the "
    "tf.estimator.Estimator API instead of tf.contrib.learn.Estimator.",
)


@export("contrib.learn.KMeansClustering")
class KMeansClustering(Estimator):
    """Estimator of clusters of points; the arguments are those of `tf.contrib.factorization`'s."""

    SQUARED_EUCLIDEAN_DISTANCE = clustering.SQUARED_EUCLIDEAN_DISTANCE
    COSINE_DISTANCE = clustering.COSINE_DISTANCE
    RANDOM_INIT = clustering.RANDOM_INIT
    KMEANS_PLUS_PLUS_INIT = clustering.KMEANS_PLUS_PLUS_INIT
    SCORES = "scores"
    CLUSTER_IDX = "cluster_idx"
    CLUSTERS = "clusters"
    ALL_SCORES = "all_scores"
    LOSS_OP_NAME = "kmeans_loss"

    @_SUCCEEDED
    def __init__(
        self,
        num_clusters: int,
        model_dir: str | None = None,
        initial_clusters: Any = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        random_seed: int = 0,
        use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1,
        kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: float | None = None,
        config: Any = None,
    ) -> None:
        params = {
            "num_clusters": num_clusters,
            "training_initial_clusters": initial_clusters,
            "distance_metric": distance_metric,
            "random_seed": random_seed,
            "use_mini_batch": use_mini_batch,
            "mini_batch_steps_per_iteration": mini_batch_steps_per_iteration,
            "kmeans_plus_plus_num_retries": kmeans_plus_plus_num_retries,
            "relative_tolerance": relative_tolerance,
        }
        super().__init__(model_fn=_model_fn, params=params, model_dir=model_dir, config=config)

    @_SUCCEEDED
    def predict_cluster_idx(self, input_fn: Any = None) -> Iterator[Any]:
        """Return the number of each point's cluster."""
        for result in super().predict(input_fn=input_fn, outputs=[self.CLUSTER_IDX]):
            yield result[self.CLUSTER_IDX]

    @_SUCCEEDED
    def score(self, input_fn: Any = None, steps: int | None = None) -> np.float32:
        """Return the sum of the distances of points to their nearest centers."""
        return np.sum(self.evaluate(input_fn=input_fn, steps=steps)[self.SCORES])

    @_SUCCEEDED
    def transform(self, input_fn: Any = None, as_iterable: bool = False) -> Any:
        """Return points' distances to all centers, or {"all_scores": distances} point by point."""
        key = self.ALL_SCORES
        results = super().predict(input_fn=input_fn, outputs=[key], as_iterable=as_iterable)
        return results if as_iterable else results[key]

    @_SUCCEEDED
    def clusters(self) -> Array:
        """Return the centers [clusters, width]."""
        return self.get_variable_value(self.CLUSTERS)


def _model_fn(
    features: Any, labels: Any, mode: str, params: dict[str, Any], config: Any
) -> ModelFnOps:
    """Build the model of a `KMeansClustering`, whose arguments are `params`."""
    assert labels is None, labels
    scores, clusters, distances, initialized, init_op, train_op = clustering.KMeans(
        side_by_side(features),
        params["num_clusters"],
        initial_clusters=params["training_initial_clusters"],
        distance_metric=params["distance_metric"],
        use_mini_batch=params["use_mini_batch"],
        mini_batch_steps_per_iteration=params["mini_batch_steps_per_iteration"],
        random_seed=params["random_seed"],
        kmeans_plus_plus_num_retries=params["kmeans_plus_plus_num_retries"],
    ).training_graph()
    counted = tf.assign_add(get_global_step(), 1)
    loss = tf.reduce_sum(distances, name=KMeansClustering.LOSS_OP_NAME)
    scalar("loss/raw", loss)
    hooks: list[Any] = [InitializeClustersHook(init_op, initialized, config.is_chief)]
    if params["relative_tolerance"] is not None:
        hooks.append(LossRelativeChangeHook(loss, params["relative_tolerance"]))
    return ModelFnOps(
        mode=mode,
        predictions={
            KMeansClustering.ALL_SCORES: scores[0],
            KMeansClustering.CLUSTER_IDX: clusters[0],
        },
        eval_metric_ops={KMeansClustering.SCORES: loss},
        loss=loss,
        train_op=with_dependencies([train_op, counted], loss),
        training_hooks=hooks,
    )
