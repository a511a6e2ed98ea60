"""A model of a level that a trend adds to at every time."""

from __future__ import annotations

from typing import Any

import stillflow as tf
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
        configuration: StateSpaceModelConfiguration = StateSpaceModelConfiguration(),  # noqa: B008
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

    def transition_to_powers(self, powers: Any) -> Any:
        """[..., 2, 2]: the trend adds up."""
        paddings = tf.concat(
            [tf.zeros([tf.rank(powers), 2], dtype=tf.int32), [(0, 1), (1, 0)]], axis=0
        )
        padded = tf.pad(powers[..., None, None], paddings=paddings)
        identities = tf.eye(num_rows=2, batch_shape=tf.shape(powers), dtype=self.dtype)
        return identities + tf.cast(padded, self.dtype)

    def transition_power_noise_accumulator(self, num_steps: Any) -> Any:
        """[..., 2, 2]: sums in closed form."""
        steps = tf.cast(num_steps, self.dtype)
        earlier = steps - 1
        transform: Any = tf.convert_to_tensor(self.get_noise_transform(), self.dtype)
        noise = tf.matmul(
            tf.matmul(transform, self.state_transition_noise_covariance), transform, adjoint_b=True
        )
        a, b, c, d = tf.unstack(tf.reshape(noise, [-1, 4]), axis=1)
        first = earlier * (earlier + 1) / 2
        squares = first * (2 * earlier + 1) / 3
        entries = [
            steps * a + first * (b + c) + squares * d,
            steps * b + first * d,
            steps * c + first * d,
            steps * d,
        ]
        return tf.reshape(
            tf.stack(axis=1, values=entries), tf.concat([tf.shape(steps), [2, 2]], axis=0)
        )

    def get_state_transition(self) -> Any:
        """Return the trend is added to the level."""
        return [[1.0, 1.0], [0.0, 1.0]]

    def get_noise_transform(self) -> Any:
        """Return the noise's transformation: of both, or of the trend only."""
        return [[1.0, 0.0], [0.0, 1.0]] if self.use_level_noise else [[0.0], [1.0]]

    def get_observation_model(self, times: Any) -> Any:
        """Return the level is seen."""
        return tf.constant([1.0, 0.0], dtype=self.dtype)
