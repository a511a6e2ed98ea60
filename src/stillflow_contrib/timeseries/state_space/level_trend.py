"""A model of a level that a trend adds to at every time."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow_contrib.timeseries import matrices
from stillflow_contrib.timeseries.state_space.state_space_model import (
    StateSpaceModel,
    StateSpaceModelConfiguration,
)


class AdderStateSpaceModel(StateSpaceModel):
    """A level and a trend; the state is both.

    Args:
      use_level_noise: whether the level has noise of its own, besides that of the trend.
      configuration: a `StateSpaceModelConfiguration`.
    """

    def __init__(
        self, use_level_noise: bool = True,
        configuration: StateSpaceModelConfiguration = StateSpaceModelConfiguration(),
    ) -> None:  # fmt: skip
        self.use_level_noise = use_level_noise
        super().__init__(configuration=configuration)

    def get_prior_mean(self) -> Any:
        """Return [2]: the mean of the beginning, and no trend; plus the trained part."""
        with tf.variable_scope(self._variable_scope):
            if self._input_statistics is None:
                return super().get_prior_mean()
            start = self._scale_data(self._input_statistics.series_start_moments.mean)
            initial = tf.stack([tf.reduce_mean(start), 0.0])
            return initial + tf.get_variable(
                name="prior_state_mean",
                shape=initial.get_shape(),
                initializer=tf.zeros_initializer(),
                dtype=self.dtype,
                trainable=self._configuration.trainable_start_state,
            )

    def transition_to_powers(self, powers: Any) -> Tensor:
        """[..., 2, 2]: the trend adds up."""
        paddings = matrices.paddings_of_last_axes(tf.rank(powers), (0, 1), (1, 0))
        # The trend reaches the level as often as there are steps.
        above_diagonal = tf.pad(powers[..., None, None], paddings)
        unchanged = tf.eye(2, batch_shape=tf.shape(powers), dtype=self.dtype)
        return unchanged + tf.cast(above_diagonal, self.dtype)

    def transition_power_noise_accumulator(self, num_steps: Any) -> Tensor:
        """[..., 2, 2]: sums in closed form."""
        steps = tf.cast(num_steps, self.dtype)
        last = steps - 1
        level, level_trend, trend_level, trend = tf.unstack(
            tf.reshape(self._step_noise(), [-1, 4]), axis=1
        )
        # Sums of 0, ..., last, and of their squares.
        numbers = last * (last + 1) / 2
        squares = numbers * (2 * last + 1) / 3
        sums = [
            steps * level + numbers * (level_trend + trend_level) + squares * trend,
            *(steps * covariance + numbers * trend for covariance in (level_trend, trend_level)),
            steps * trend,
        ]
        flat = tf.stack(sums, axis=1)
        return tf.reshape(flat, tf.concat([tf.shape(steps), [2, 2]], axis=0))

    def get_state_transition(self) -> list[list[float]]:
        """Return the trend is added to the level."""
        return [[1.0, 1.0], [0.0, 1.0]]

    def get_noise_transform(self) -> list[list[float]]:
        """Return the noise's transformation: of both, or of the trend only."""
        return [[1.0, 0.0], [0.0, 1.0]] if self.use_level_noise else [[0.0], [1.0]]

    def get_observation_model(self, times: Any) -> Tensor:
        """Return the level is seen."""
        return tf.constant([1.0, 0.0], dtype=self.dtype)
