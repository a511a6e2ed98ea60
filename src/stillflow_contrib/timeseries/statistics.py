"""Statistics of a series, from the batches seen in training."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import stillflow as tf
from stillflow import nest
from stillflow.graph.operation import Operation, Tensor
from stillflow_contrib.timeseries.feature_keys import TrainEvalFeatures

if TYPE_CHECKING:
    from stillflow.variables.resource_variable import UnreadVariable


class Moments(NamedTuple):
    """Means and variances [features]."""

    mean: Any
    variance: Any


class InputStatistics(NamedTuple):
    """Moments at the beginning and of all values; the first time; how many times there are."""

    series_start_moments: Any
    overall_feature_moments: Any
    start_time: Any
    total_observation_count: Any


class _Sums(NamedTuple):
    """Sums that the statistics are computed from."""

    max_time_seen: Any
    chunk_count: Any
    inter_observation_duration_sum: Any
    example_count: Any
    overall_feature_sum: Any
    overall_feature_sum_of_squares: Any


def _variable(name: str, shape: Any, dtype: Any, initializer: Any) -> Any:
    return tf.get_variable(
        name=name, shape=shape, dtype=dtype, initializer=initializer, trainable=False
    )


class InputStatisticsFromMiniBatch:
    """Statistics in variables.

    Args:
      num_features: how many values there are at each time.
      dtype: the type of moments.
      starting_variance_window_size: how many times count as the beginning.
    """

    def __init__(
        self, num_features: int, dtype: Any, starting_variance_window_size: int = 16
    ) -> None:
        self._starting_variance_window_size = starting_variance_window_size
        self._num_features = num_features
        self._dtype = dtype

    def initialize_graph(
        self, features: dict[str, Any], update_statistics: bool = True
    ) -> InputStatistics:
        """Create the variables, and add a batch to them.

        Args:
          features: times [batch, window] and values [batch, window, features].
          update_statistics: whether the batch is added.

        Returns:
          The statistics, after the batch was added.
        """
        times = features.get(TrainEvalFeatures.TIMES)
        values = features.get(TrainEvalFeatures.VALUES)
        with tf.variable_scope("input_statistics", use_resource=True):
            statistics = self._create_statistics()
        with tf.variable_scope("input_statistics_auxiliary", use_resource=True):
            sums = self._create_sums()
        if not update_statistics or times is None or values is None:
            return statistics
        update = self._update_statistics_from_mini_batch(statistics, sums, times, values)
        with tf.control_dependencies([update]):
            read = [tf.identity(each) for each in nest.flatten(statistics)]
            updated: Any = nest.pack_sequence_as(statistics, read)
            # Others may have seen an earlier time since; the loop needs one before this batch.
            start: InputStatistics = updated._replace(
                start_time=tf.minimum(updated.start_time, tf.reduce_min(times))
            )
            return start

    def _create_statistics(self) -> InputStatistics:
        def moments(mean: str, variance: str) -> Moments:
            width = [self._num_features]
            return Moments(
                _variable(mean, width, self._dtype, tf.zeros_initializer()),
                _variable(variance, width, self._dtype, tf.ones_initializer()),
            )

        return InputStatistics(
            moments("series_start_mean", "series_start_variance"),
            moments("overall_feature_mean", "overall_feature_var"),
            _variable("start_time", None, tf.int64, tf.int64.max),
            _variable("total_observation_count", [], tf.int64, tf.ones_initializer()),
        )

    def _create_sums(self) -> _Sums:
        zeros, width = tf.zeros_initializer, [self._num_features]
        return _Sums(
            _variable("max_time_seen", None, tf.int64, tf.int64.min),
            _variable("chunk_count", [], tf.int64, zeros()),
            _variable("inter_observation_duration_sum", [], self._dtype, zeros()),
            _variable("example_count", [], tf.int64, None),
            _variable("overall_feature_sum", width, self._dtype, zeros()),
            _variable("overall_feature_sum_of_squares", width, self._dtype, zeros()),
        )

    def _update_statistics_from_mini_batch(
        self, statistics: InputStatistics, sums: _Sums, times: Any, values: Any
    ) -> Operation:
        values = tf.cast(values, self._dtype)
        assigned = self._update_sums(sums, times, values)
        with tf.control_dependencies([tf.group(*assigned)]):
            count = tf.cast(sums.example_count, self._dtype)
            mean = sums.overall_feature_sum / count
            new_mean = tf.assign(statistics.overall_feature_moments.mean, mean)
            new_variance = tf.assign(
                statistics.overall_feature_moments.variance,
                count / (count - 1.0) * (sums.overall_feature_sum_of_squares / count - mean**2),
            )
            new_start, start_time = self._update_start(statistics, times, values)
            between = sums.inter_observation_duration_sum / tf.cast(sums.chunk_count, self._dtype)
            duration = tf.cast(assigned.max_time_seen - start_time + 1, self._dtype)
            total = tf.assign(
                statistics.total_observation_count,
                tf.cast(tf.round(duration / between), tf.int64),
            )
            return tf.group(new_mean, new_variance, new_start, start_time, total)

    def _update_sums(self, sums: _Sums, times: Any, values: Any) -> _Sums:
        """Add a batch; return the assigned values."""
        durations = tf.cast(
            tf.reduce_max(times, axis=1) - tf.reduce_min(times, axis=1), self._dtype
        ) / tf.cast(tf.shape(times)[1] - 1, self._dtype)
        add = tf.assign_add

        def on_its_device(assign: Callable[..., Any], variable: Any, value: Any) -> Any:
            with tf.device(variable.device):
                return assign(variable, value(variable))

        return _Sums(
            on_its_device(
                tf.assign, sums.max_time_seen, lambda seen: tf.maximum(seen, tf.reduce_max(times))
            ),
            on_its_device(add, sums.chunk_count, lambda _: tf.shape(times, out_type=tf.int64)[0]),
            on_its_device(
                add, sums.inter_observation_duration_sum, lambda _: tf.reduce_sum(durations)
            ),
            on_its_device(add, sums.example_count, lambda _: tf.size(times, out_type=tf.int64)),
            on_its_device(
                add, sums.overall_feature_sum, lambda _: tf.reduce_sum(values, axis=[0, 1])
            ),
            on_its_device(
                add,
                sums.overall_feature_sum_of_squares,
                lambda _: tf.reduce_sum(values**2, axis=[0, 1]),
            ),
        )

    def _update_start(
        self, statistics: InputStatistics, times: Any, values: Any
    ) -> tuple[Tensor, UnreadVariable]:
        """Moments of the first window, if it is the earliest so far, and the first time."""
        first = tf.cast(tf.argmin(times[:, 0]), tf.int32)

        def moments() -> Operation:
            window = values[first, : self._starting_variance_window_size]
            mean, variance = tf.nn.moments(window, axes=[0])
            start = statistics.series_start_moments
            return tf.group(tf.assign(start.mean, mean), tf.assign(start.variance, variance))

        with tf.device(statistics.start_time.device):
            is_earlier = tf.less_equal(times[first, 0], statistics.start_time)
            update = tf.cond(is_earlier, moments, tf.no_op)
            with tf.control_dependencies([update]):
                start_time = tf.assign(
                    statistics.start_time, tf.minimum(statistics.start_time, tf.reduce_min(times))
                )
        return update, start_time
