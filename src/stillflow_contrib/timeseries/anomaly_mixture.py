"""Autoregressive models of series some of whose values are anomalies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow_contrib.timeseries.ar_model import ARModel
from stillflow_contrib.timeseries.densities import cauchy_log_prob, log_add_exp, normal_log_prob
from stillflow_contrib.timeseries.prediction_networks import FlatPredictionModel


class AnomalyMixtureARModel(ARModel):
    """An autoregressive model with a second, wider distribution for anomalies.

    Args:
      anomaly_prior_probability: of a value to be one, between 0 and 1.
      anomaly_distribution: `GAUSSIAN_ANOMALY` or `CAUCHY_ANOMALY`.
      periodicities, input_window_size, ...: as of `ARModel`.
    """

    GAUSSIAN_ANOMALY = "gaussian"
    CAUCHY_ANOMALY = "cauchy"

    def __init__(
        self, periodicities: Any, anomaly_prior_probability: float, input_window_size: int,
        output_window_size: int, num_features: int,
        prediction_model_factory: Callable[..., Any] = FlatPredictionModel,
        anomaly_distribution: str | None = GAUSSIAN_ANOMALY, num_time_buckets: int = 10,
        exogenous_feature_columns: Any = None,
    ) -> None:  # fmt: skip
        assert 0.0 < anomaly_prior_probability < 1.0
        self._anomaly_prior_probability = anomaly_prior_probability
        assert anomaly_distribution in (self.GAUSSIAN_ANOMALY, self.CAUCHY_ANOMALY)
        self._anomaly_distribution = anomaly_distribution
        super().__init__(
            periodicities, input_window_size, output_window_size, num_features,
            prediction_model_factory, num_time_buckets, ARModel.NORMAL_LIKELIHOOD_LOSS,
            exogenous_feature_columns,
        )  # fmt: skip

    def _create_anomaly_ops(
        self, times: Any, values: Any, prediction_ops_dict: dict[str, Any]
    ) -> None:
        """Add the scale of anomalies to predictions."""
        logarithm = tf.get_variable(
            "anomaly_log_param", [], self.dtype, initializer=tf.zeros_initializer()
        )
        prediction_ops_dict["anomaly_params"] = tf.exp(logarithm)

    def prediction_ops(self, times: Any, values: Any, exogenous_regressors: Any) -> dict[str, Any]:
        """Those of `ARModel`, and "anomaly_params"."""
        predictions = super().prediction_ops(times, values, exogenous_regressors)
        self._create_anomaly_ops(times, values, predictions)
        return predictions

    def _anomaly_log_prob(self, targets: Any, prediction_ops: dict[str, Any]) -> Tensor:
        prediction, scale = prediction_ops["mean"], prediction_ops["anomaly_params"]
        if self._anomaly_distribution == self.GAUSSIAN_ANOMALY:
            sigma = tf.sqrt(tf.maximum(scale, 1e-5))
            return normal_log_prob(targets, sigma, prediction)
        return cauchy_log_prob(targets, scale, prediction)

    def loss_op(self, targets: Any, prediction_ops: dict[str, Any]) -> Tensor:
        """Return the loss of the mixture, a scalar."""
        sigma = tf.sqrt(tf.maximum(prediction_ops["covariance"], 1e-5))
        prior = self._anomaly_prior_probability
        usual = normal_log_prob(targets, sigma, prediction_ops["mean"]) + tf.log(1 - prior)
        anomaly = self._anomaly_log_prob(targets, prediction_ops) + tf.log(prior)
        total = tf.reduce_sum(log_add_exp(usual, anomaly))
        return -total / tf.cast(tf.reduce_prod(tf.shape(targets)), self.dtype)
