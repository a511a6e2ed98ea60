"""Models of periods: one value for each of its times, or fewer that stand for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow_contrib.timeseries.state_space.state_space_model import (
    StateSpaceModel,
    StateSpaceModelConfiguration,
)


def _last_axis(vector: Any, length: int, leading: Any) -> Tensor:
    """Return a vector [length] as the last axis behind those of `leading`, to broadcast."""
    ones = tf.ones([tf.rank(leading)], dtype=tf.int32)
    return tf.reshape(vector, tf.concat([ones, [length]], axis=0))


class CycleStateSpaceModel(StateSpaceModel):
    """A value for each time of a period but one: all of them sum to zero.

    Args:
      periodicity: after how many times the series repeats itself.
      configuration: a `StateSpaceModelConfiguration`.
    """

    def __init__(
        self, periodicity: Any,
        configuration: StateSpaceModelConfiguration = StateSpaceModelConfiguration(),
    ) -> None:  # fmt: skip
        self._periodicity = periodicity
        super().__init__(configuration=configuration)

    def get_state_transition(self) -> Tensor:
        """[period - 1, period - 1]."""
        return self.transition_to_powers(tf.ones([], dtype=tf.int32))

    def get_noise_transform(self) -> Tensor:
        """[period - 1, 1]: noise is in the first value."""
        first = tf.ones([1], dtype=self.dtype)
        return tf.pad(first, paddings=[(0, self._periodicity - 2)])[..., None]

    def transition_to_powers(self, powers: Any) -> Tensor:
        """[..., period - 1, period - 1]: ones moved round, and a row of -1 where the sum stands."""
        period = self._periodicity
        powers %= period
        rows = _last_axis(tf.range(period - 1, dtype=powers.dtype), period - 1, powers)
        is_negative = tf.equal(rows + 1, powers[..., None])
        shape = tf.shape(is_negative)
        negative = tf.where(
            is_negative,
            -tf.ones(shape=shape, dtype=self.dtype),
            tf.zeros(shape, dtype=self.dtype),
        )
        difference = rows[..., None] - rows[..., None, :]
        is_one = tf.equal(difference % period, powers[..., None, None])
        positive = tf.where(
            is_one,
            tf.ones(tf.shape(is_one), dtype=self.dtype),
            tf.zeros(tf.shape(is_one), dtype=self.dtype),
        )
        return tf.cast(positive + negative[..., None], self.dtype)

    def transition_power_noise_accumulator(
        self, num_steps: Any, noise_addition_coefficient: Any = 1
    ) -> Tensor:
        """[..., period - 1, period - 1]: times have noise of themselves and the next.

        Args:
          num_steps: [...], integers.
          noise_addition_coefficient: a factor of the noise.
        """
        period = self._periodicity
        scalar = tf.squeeze(self.state_transition_noise_covariance, axis=[-1, -2])
        numbers = _last_axis(tf.range(period, dtype=num_steps.dtype), period, num_steps)
        remaining = (numbers - (num_steps[..., None] - 1)) % period
        coefficient: Any = tf.convert_to_tensor(noise_addition_coefficient, self.dtype)
        noise = (
            coefficient[..., None]
            * scalar
            * tf.cast((num_steps[..., None] + remaining) // period, dtype=self.dtype)
        )
        diagonal = tf.matrix_diag(noise)

        def shifted(axis: int) -> Tensor:
            """Return minus the diagonal, moved on by one along an axis."""

            def part(end: int) -> Any:
                index = [slice(None, -1), slice(None, -1)]
                index[axis] = slice(0, end)
                return diagonal[(..., *index)]

            return tf.concat([tf.zeros_like(part(1)), -part(-2)], axis=axis)

        upper, lower = shifted(-1), shifted(-2)
        rotated = tf.concat([noise[..., -1:], noise[..., :-2]], axis=-1)
        return tf.matrix_diag(noise[..., :-1] + rotated) + lower + upper

    def get_observation_model(self, times: Any) -> Tensor:
        """[period - 1]: the first value is seen."""
        first = tf.ones([1], dtype=self.dtype)
        return tf.concat([first, tf.zeros([self._periodicity - 2], dtype=self.dtype)], axis=0)


class ResolutionCycleModel(CycleStateSpaceModel):
    """A period told by fewer values than it has times, between which sines interpolate.

    Args:
      num_latent_values: how many values, odd.
      periodicity: after how many times the series repeats itself, any number.
      near_integer_threshold: how near a number has to be to an integer to count as one.
      configuration: a `StateSpaceModelConfiguration`.

    Raises:
      ValueError: for an even number of values.
    """

    def __init__(
        self, num_latent_values: int, periodicity: Any, near_integer_threshold: float = 1e-8,
        configuration: StateSpaceModelConfiguration = StateSpaceModelConfiguration(),
    ) -> None:  # fmt: skip
        if num_latent_values % 2 != 1:
            raise ValueError("Only odd numbers of latent values are supported.")
        self._num_latent_values = num_latent_values
        self._true_periodicity = periodicity
        self._near_integer_threshold = near_integer_threshold
        super().__init__(periodicity=num_latent_values, configuration=configuration)

    def _close_to_integer(self, value: Any) -> Tensor:
        value = tf.cast(value, self.dtype)
        return tf.less(tf.abs(value - tf.round(value)), self._near_integer_threshold)

    def _rate(self) -> tuple[Any, Any]:
        """Return the number of values, and by how many of them a step moves on."""
        count = tf.cast(self._num_latent_values, self.dtype)
        return count, count / tf.cast(self._true_periodicity, dtype=self.dtype)

    def _alternating(self, numbers: Any) -> Tensor:
        """Return 1 for even numbers, -1 for odd ones."""
        return tf.cast(1 - 2 * (numbers % 2), self.dtype)

    def transition_to_powers(self, powers: Any) -> Tensor:
        """[..., values - 1, values - 1]: turns by parts of a value, through sines."""
        count, values_per_step = self._rate()
        turns = tf.cast(powers, self.dtype) * values_per_step
        factor = (tf.sin(turns * np.pi) / count)[..., None, None]
        last = self._num_latent_values - 1
        numbers = _last_axis(tf.range(last), last, turns)
        floats = tf.cast(numbers, self.dtype)
        signs = self._alternating(numbers)
        by_row = 1.0 / tf.sin(np.pi / count * (turns[..., None] - floats - 1))
        offsets = floats[..., None, :] - floats[..., None]
        # The last value is minus the sum of the others: each entry has a part of its row, too.
        by_entry = signs[..., None, :]
        by_entry /= tf.sin(np.pi / count * (turns[..., None, None] + offsets))
        between = factor * signs[..., None] * (by_row[..., None] + by_entry)
        at_values = self._close_to_integer(turns)
        nearest = tf.cast(tf.round(turns), tf.int64)
        return tf.where(at_values, super().transition_to_powers(nearest), between)

    def transition_power_noise_accumulator(
        self, num_steps: Any, noise_addition_coefficient: Any = 1
    ) -> Tensor:
        """[..., values - 1, values - 1]: whole periods by a formula, the rest by sums."""

        def whole_periods() -> tuple[Any, Any]:
            per_value = tf.cast(self._true_periodicity, self.dtype) / tf.cast(
                self._num_latent_values, self.dtype
            )
            of_period = super(ResolutionCycleModel, self).transition_power_noise_accumulator(
                noise_addition_coefficient=per_value,
                num_steps=tf.convert_to_tensor(self._num_latent_values, dtype=num_steps.dtype),
            )
            period = tf.cast(self._true_periodicity, num_steps.dtype)
            periods = tf.cast(num_steps // period, self.dtype)
            factor = periods[..., None, None]
            ones = tf.ones([tf.rank(periods)], dtype=tf.int32)
            shape = tf.concat([ones, tf.shape(of_period)], axis=0)
            total = factor * tf.reshape(of_period, shape)
            return num_steps % period, total

        def no_periods() -> tuple[Any, Any]:
            size = self._num_latent_values - 1
            shape = tf.concat([tf.shape(num_steps), [size, size]], axis=0)
            return num_steps, tf.zeros(shape, dtype=self.dtype)

        rest, total = tf.cond(self._whole_period_folding(), whole_periods, no_periods)
        sums = self._power_sum_array(tf.reduce_max(rest))
        scalar = tf.squeeze(self.state_transition_noise_covariance, axis=[-1, -2])
        return total + scalar * tf.gather(sums, indices=rest)

    def _whole_period_folding(self) -> Tensor:
        """Return True if periods are integers, and not shorter than the values."""
        return tf.logical_and(
            self._close_to_integer(self._true_periodicity),
            tf.greater_equal(self._true_periodicity, self._num_latent_values),
        )

    def _power_sum_array(self, max_remaining_steps: Any) -> Tensor:
        """Return noise of variance one after so many steps, [steps + 1, values - 1, values - 1]."""
        count, values_per_step = self._rate()
        turns = tf.cast(tf.range(max_remaining_steps), self.dtype) * values_per_step
        numbers = tf.range(self._num_latent_values - 1)[None, ...]
        floats = tf.cast(numbers, self.dtype)
        distances = turns[..., None] - floats
        # Cosecants of the distances to a value, and to the one behind it.
        here = 1.0 / tf.sin(np.pi / count * distances)
        near = distances - 1.0
        kernel = here + 1.0 / tf.sin(np.pi / count * near)
        products = kernel[..., None, :] * kernel[..., None]
        signs = self._alternating(numbers[..., None, :] + numbers[..., None])
        singular, limits = self._discontinuities(turns, floats, count)
        is_limit = tf.logical_and(singular[..., None], singular[..., None, :])
        at_values = self._close_to_integer(turns)
        regular = tf.where(at_values, tf.zeros_like(products), products)
        scale = tf.sin(np.pi * turns) / count
        limit = limits[..., None] * limits[..., None, :]
        noise = signs * tf.where(is_limit, limit, regular * scale[..., None, None] ** 2)
        return tf.pad(tf.cumsum(noise), [(1, 0), (0, 0), (0, 0)])

    def _discontinuities(self, turns: Any, floats: Any, count: Any) -> tuple[Any, Any]:
        """Return where sines are zero, [steps, values - 1], and the signs there."""

        def at(value: Any) -> tuple[Any, Any]:
            normalized = value / count
            return self._close_to_integer(normalized), tf.cos(normalized * np.pi)

        here, sign_here = at(turns[..., None] - floats)
        before, sign_before = at(turns[..., None] - floats - 1)
        return tf.logical_or(here, before), tf.where(here, sign_here, sign_before)
