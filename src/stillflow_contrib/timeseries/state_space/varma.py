"""Vector autoregressive moving averages as state space models."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow_contrib.timeseries.matrices import variable_covariance_matrix
from stillflow_contrib.timeseries.state_space.state_space_model import (
    StateSpaceModel,
    StateSpaceModelConfiguration,
)


class VARMA(StateSpaceModel):
    """An autoregressive moving average of one feature or several.

    Args:
      autoregressive_order: how many values before are looked at.
      moving_average_order: how many errors before.
      configuration: a `StateSpaceModelConfiguration`.
    """

    def __init__(
        self, autoregressive_order: int, moving_average_order: int,
        configuration: StateSpaceModelConfiguration = StateSpaceModelConfiguration(),
    ) -> None:  # fmt: skip
        self.ar_order = autoregressive_order
        self.ma_order = moving_average_order
        self.state_num_blocks = max(autoregressive_order, moving_average_order + 1)
        super().__init__(configuration=configuration)
        self.state_dimension = self.state_num_blocks * self.num_features

    def _eye(self, blocks: int = 1) -> Tensor:
        return tf.eye(blocks * self.num_features, dtype=self.dtype)

    def _define_parameters(self, observation_transition_tradeoff_log: Any = None) -> None:
        width = self.num_features
        with tf.variable_scope(self._variable_scope):
            self.ar_coefs = tf.get_variable(
                name="ar_coefs",
                shape=[width, width, self.ar_order],
                dtype=self.dtype,
                initializer=tf.zeros_initializer(),
            )
            self.ma_coefs = tf.get_variable(
                name="ma_coefs",
                initializer=tf.tile(self._eye()[None, :, :], [self.ma_order, 1, 1]),
                dtype=self.dtype,
            )
        super()._define_parameters(observation_transition_tradeoff_log)

    def get_state_transition(self) -> Tensor:
        """[d, d]: coefficients in the first rows; the others move values on by one block."""
        missing = self.state_num_blocks - self.ar_order
        first = tf.reshape(
            tf.pad(self.ar_coefs, [[0, 0], [0, 0], [0, missing]]),
            [self.num_features, self.state_dimension],
        )
        shift = tf.pad(self._eye(self.state_num_blocks - 1), [[0, 0], [0, self.num_features]])
        return tf.concat([first, shift], axis=0)

    def get_noise_transform(self) -> Tensor:
        """[d, features]: an error counts in the last block now, in others with coefficients."""
        missing = self.state_num_blocks - 1 - self.ma_order
        coefficients = tf.reshape(
            tf.pad(self.ma_coefs, [[missing, 0], [0, 0], [0, 0]]),
            [(self.state_num_blocks - 1) * self.num_features, self.num_features],
            name="noise_transform",
        )
        return tf.concat([coefficients, self._eye()], axis=0)

    def get_observation_model(self, times: Any) -> Tensor:
        """[features, d]: the first block is seen, and the last one if errors count longer."""
        name, width = "observation_model", self.num_features
        if self.ar_order > self.ma_order or self.state_num_blocks < 2:
            behind = width * (self.state_num_blocks - 1)
            return tf.pad(self._eye(), [[0, 0], [0, behind]], name=name)
        first = tf.pad(self._eye(), [[0, 0], [0, width * (self.state_num_blocks - 2)]])
        return tf.concat([first, self._eye()], axis=1, name=name)

    def get_state_transition_noise_covariance(
        self, minimum_initial_variance: float = 1e-5
    ) -> Tensor:
        """Return the covariance of the errors, [features, features]."""
        scale: Any = 0.0
        if self._input_statistics is not None:
            variance = self._scale_variance(self._input_statistics.series_start_moments.variance)
            scale = tf.log(tf.maximum(tf.reduce_mean(variance), minimum_initial_variance))
        transform: Any = tf.convert_to_tensor(self.get_noise_transform(), dtype=self.dtype)
        return variable_covariance_matrix(
            tf.dimension_value(transform.shape[1]),
            "state_transition_noise",
            dtype=self.dtype,
            initial_overall_scale_log=scale,
        )
