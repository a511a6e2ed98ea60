"""`tf.contrib.factorization.GMM`: an estimator of mixtures of normal distributions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.contrib.framework.variables import local_variable
from stillflow.graph.arrays import Array
from stillflow.graph.export import export
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.train.global_step import get_global_step
from stillflow_contrib.factorization.hooks import InitializeClustersHook
from stillflow_contrib.factorization.mixtures import GmmAlgorithm, gmm
from stillflow_contrib.framework.checkpoints import load_variable
from stillflow_contrib.learn.estimator import Estimator
from stillflow_contrib.learn.model_fn_ops import ModelFnOps


@export("contrib.factorization.GMM")
class GMM(Estimator):
    """Fits a mixture of normal distributions to points.

    Args:
      num_clusters: how many distributions there are.
      model_dir: the folder of checkpoints and event files.
      random_seed: of random means.
      params: what is trained, letters of "wmc": weights, means, covariances.
      initial_clusters: "random", or means [num_clusters, width].
      covariance_type: "full" or "diag".
      config: a `RunConfig` of `tf.contrib.learn`.
    """

    SCORES = "scores"
    LOG_LIKELIHOOD = "loss"
    ASSIGNMENTS = "assignments"

    def __init__(
        self,
        num_clusters: int,
        model_dir: str | None = None,
        random_seed: int = 0,
        params: str = "wmc",
        initial_clusters: Any = "random",
        covariance_type: str = "full",
        config: Any = None,
    ) -> None:
        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> ModelFnOps:
            assert labels is None, labels
            if isinstance(features, dict):
                features = tf.concat([features[key] for key in sorted(features)], 1)
            graph = gmm(
                features, initial_clusters, num_clusters, random_seed, covariance_type, params
            )
            return _model_ops(graph, mode, config.is_chief)

        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)

    def predict_assignments(
        self, input_fn: Any = None, batch_size: int | None = None, outputs: Any = None
    ) -> Iterator[Any]:
        """Return the most likely distribution of each point.

        The arguments are those of `predict`.
        """
        for result in self.predict(input_fn=input_fn, batch_size=batch_size, outputs=outputs):
            yield result[self.ASSIGNMENTS]

    def score(
        self, input_fn: Any = None, batch_size: int | None = None, steps: int | None = None
    ) -> np.float32:
        """Return the logarithm of the summed likelihoods of points.

        The arguments are `evaluate`'s.
        """
        results = self.evaluate(input_fn=input_fn, batch_size=batch_size, steps=steps)
        return np.log(np.sum(np.exp(results[self.SCORES])))

    def weights(self) -> Any:
        """Return the weights [num_clusters] of the last checkpoint."""
        return load_variable(self.model_dir, GmmAlgorithm.CLUSTERS_WEIGHT)

    def clusters(self) -> Array:
        """Return the means [num_clusters, width] of the last checkpoint."""
        return np.squeeze(load_variable(self.model_dir, GmmAlgorithm.CLUSTERS_VARIABLE), 1)

    def covariances(self) -> Array:
        """Return the last checkpoint's covariances [num_clusters, width, width], or variances."""
        return load_variable(self.model_dir, GmmAlgorithm.CLUSTERS_COVS_VARIABLE)


def _model_ops(graph: Any, mode: str, is_chief: bool) -> ModelFnOps:
    loss, scores, assignments, train_op, init_op, initialized = graph
    counted = tf.assign_add(get_global_step(), 1)
    train_op = with_dependencies([train_op, counted], loss)
    total = local_variable(tf.constant(0.0))
    return ModelFnOps(
        mode=mode,
        predictions={GMM.ASSIGNMENTS: assignments[0][0]},
        eval_metric_ops={
            GMM.SCORES: scores,
            GMM.LOG_LIKELIHOOD: (total, total.assign_add(loss)),
        },
        loss=loss,
        train_op=train_op,
        training_hooks=[InitializeClustersHook(init_op, initialized, is_chief)],
    )
