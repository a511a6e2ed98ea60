"""Predictions of autoregressive models, window after window."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor


class Rollout:
    """The loop that predicts windows from those that it predicted before.

    Args:
      model: an `ARModel`.
      times: int32 [batch, times], to be predicted.
      regressors: [batch, times, width], the exogenous features.
      state: times, values and exogenous features, [batch, input window or more, ...].
    """

    def __init__(self, model: Any, times: Any, regressors: Any, state: Any) -> None:
        self._model = model
        self._before, self._after = model.input_window_size, model.output_window_size
        self._batch = tf.shape(times)[0]
        self._length = tf.shape(times)[1]
        self._count = (self._length + self._after - 1) // self._after
        missing = self._count * self._after - self._length
        self._times = tf.pad(times, [[0, 0], [0, missing]])
        self._regressors = tf.pad(regressors, [[0, 0], [0, missing], [0, 0]])
        self._first = self._first_window(*self._converted(state))

    def _converted(self, state: Any) -> tuple[Any, Any, Any]:
        times, values, regressors = state
        return (
            tf.cast(tf.convert_to_tensor(times), tf.int32),
            tf.convert_to_tensor(values, dtype=self._model.dtype),
            tf.convert_to_tensor(regressors, dtype=self._model.dtype),
        )

    def _first_window(self, state_times: Any, state_values: Any, state_regressors: Any) -> Any:
        """Return times of the first window, the values before it, and exogenous features."""
        times = self._times[:, : self._after]
        regressors = self._regressors[:, : self._after, :]
        before = self._before
        if before == 0:
            return times, 0, regressors
        times = tf.concat([state_times[:, -before:], times], 1)
        values_size = tf.shape(state_values)[1]
        times_size = tf.shape(state_times)[1]
        checks = [
            tf.assert_greater_equal(values_size, before),
            tf.assert_equal(values_size, times_size),
        ]
        with tf.control_dependencies(checks):
            values = state_values[:, -before:, :]
            known = [state_regressors[:, -before:, :], regressors[:, : self._after, :]]
            return times, values, tf.concat(known, axis=1)

    def predictions(self) -> tuple[Any, Any]:
        """Return means and variances [batch, times, features]; None if the loss has no variance."""
        model = self._model
        covariances: Any = 0.0
        if model.loss != model.SQUARED_LOSS:
            covariances = tf.TensorArray(dtype=model.dtype, size=self._count)
        means = tf.TensorArray(dtype=model.dtype, size=self._count)
        *_, means, covariances = tf.while_loop(
            lambda number, *_: tf.less(number, self._count),
            self._predict_window,
            [0, *self._first, means, covariances],
        )
        return self._joined(means), self._joined(covariances)

    def _predict_window(
        self, number: Any, times: Any, values: Any, regressors: Any, means: Any, covariances: Any
    ) -> tuple[Any, ...]:
        predicted = self._model.prediction_ops(times, values, regressors)
        mean, covariance = predicted["mean"], predicted["covariance"]
        # After the last window there is no next one: the last one is taken again, for its shape.
        offset = self._after * tf.minimum(number + 1, self._count - 1)
        next_times, next_values, next_regressors = self._next_window(
            offset, times, values, regressors, mean
        )
        next_times.set_shape(self._first[0].get_shape())
        next_regressors.set_shape(self._first[2].get_shape())
        means = means.write(number, mean)
        if isinstance(covariances, tf.TensorArray):
            covariances = covariances.write(number, covariance)
        return number + 1, next_times, next_values, next_regressors, means, covariances

    def _next_window(
        self, offset: Any, times: Any, values: Any, regressors: Any, mean: Any
    ) -> tuple[Any, Any, Any]:
        """Return times, earlier values, and exogenous features of the window at `offset`."""
        before, after = self._before, self._after
        if before > 0 and after < before:
            next_values = tf.concat([values[:, after:, :], mean], 1)
            known = [regressors[:, -before:, :], self._regressors[:, offset : offset + after, :]]
            next_regressors = tf.concat(known, axis=1)
            joined = [times[:, -before:], self._times[:, offset : offset + after]]
            return tf.concat(joined, 1), next_values, next_regressors
        if before == 0:
            next_regressors = self._regressors[:, offset : offset + after, :]
            return self._times[:, offset : offset + after], values, next_regressors
        next_values = mean[:, -before:, :]
        next_regressors = self._regressors[:, offset - before : offset + after, :]
        return self._times[:, offset - before : offset + after], next_values, next_regressors

    def _joined(self, array: Any) -> Tensor | None:
        """Return the windows of an array as one, without padding."""
        if not isinstance(array, tf.TensorArray):
            return None
        length = self._count * self._after
        stacked = tf.transpose(array.stack(), [1, 0, 2, 3])
        return tf.reshape(stacked, tf.stack([self._batch, length, -1]))[:, : self._length, :]
