"""Postprocessing of a state after an update by a value that may be an anomaly."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.operation import Tensor
from stillflow_contrib.timeseries.densities import cauchy_log_prob, entropy_matched_cauchy_scale


class FilteringStepPostprocessor(abc.ABC):
    """Postprocessor of a step's state and outputs."""

    @abc.abstractmethod
    def process_filtering_step(
        self, current_times: Any, current_values: Any, predicted_state: Any, filtered_state: Any,
        outputs: dict[str, Any],
    ) -> tuple[Any, dict[str, Any]]:  # fmt: skip
        """Return the state and the outputs of a step.

        Args:
          current_times: [batch].
          current_values: [batch, features].
          predicted_state: before the value was seen.
          filtered_state: after it.
          outputs: {name: [batch, ...]}, with "mean", "covariance" and "log_likelihood".
        """

    @property
    @abc.abstractmethod
    def output_names(self) -> list[str]:
        """The names of outputs that it adds."""


def cauchy_alternative_to_gaussian(
    current_times: Any, current_values: Any, outputs: dict[str, Any]
) -> Tensor:
    """Logarithms [batch] of densities of wide distributions about the predictions."""
    scale = entropy_matched_cauchy_scale(outputs["covariance"])
    densities = cauchy_log_prob(loc=outputs["mean"], scale=scale, x=current_values)
    return tf.reduce_sum(densities, axis=1)


def _mixed(share: Any, first: Any, second: Any) -> Tensor:
    return share * first + (1.0 - share) * second


def _interpolated(first_state: Any, second_state: Any, share: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Interpolate two states: `share` [batch] of the first one.

    Other values than floats must be equal.
    """
    parts = []
    for first, second in zip(nest.flatten(first_state), nest.flatten(second_state), strict=True):
        assert first.dtype == second.dtype
        if first.dtype.is_floating:
            shape = tf.shape(share)
            ones = tf.ones([tf.rank(first) - 1], dtype=tf.int32)
            padded = tf.reshape(share, tf.concat([shape, ones], 0))
            part = _mixed(padded, first, second)
            part.set_shape(first.get_shape())
        else:
            with tf.control_dependencies([tf.assert_equal(first, second)]):
                part = tf.identity(first)
        parts.append(part)
    return nest.pack_sequence_as(first_state, parts)


class StateInterpolatingAnomalyDetector(FilteringStepPostprocessor):
    """Values count the less the more they look like anomalies.

    Args:
      anomaly_log_likelihood: of `current_times`, `current_values` and `outputs`; gives logarithms
        [batch] of densities of anomalies.
      anomaly_prior_probability: of a value to be one.
      responsibility_scaling: how sharply values are told apart.
    """

    output_names = ["anomaly_score"]

    def __init__(
        self, anomaly_log_likelihood: Callable[..., Any] = cauchy_alternative_to_gaussian,
        anomaly_prior_probability: float = 0.01, responsibility_scaling: float = 1.0,
    ) -> None:  # fmt: skip
        self._anomaly_log_likelihood = anomaly_log_likelihood
        self._responsibility_scaling = responsibility_scaling
        self._anomaly_prior_probability = anomaly_prior_probability

    def process_filtering_step(
        self, current_times: Any, current_values: Any, predicted_state: Any, filtered_state: Any,
        outputs: dict[str, Any],
    ) -> tuple[Any, dict[str, Any]]:  # fmt: skip
        """Return the state between both, a robust loss, and "anomaly_score" [batch]."""
        anomaly = self._anomaly_log_likelihood(
            current_times=current_times, current_values=current_values, outputs=outputs
        )
        prior: Any = self._anomaly_prior_probability
        prior = tf.convert_to_tensor(prior, dtype=current_values.dtype)
        anomaly += tf.log(prior)
        usual = outputs["log_likelihood"] + tf.log(1.0 - prior)
        odds = anomaly - usual
        share = tf.sigmoid(-self._responsibility_scaling * odds)
        state = _interpolated(filtered_state, predicted_state, share)
        outputs.update(loss=-_mixed(share, usual, anomaly), anomaly_score=odds)
        return state, outputs
