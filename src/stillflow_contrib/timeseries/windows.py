"""Input functions of series: all of it, random windows, and continuations."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.timeseries import limits
from stillflow_contrib.timeseries.feature_keys import (
    FilteringResults,
    PredictionFeatures,
    TrainEvalFeatures,
)
from stillflow_contrib.timeseries.model_utils import canonicalize_times_or_steps_from_output

_Features = dict[str, Any]


@export("contrib.timeseries.predict_continuation_input_fn")
def predict_continuation_input_fn(
    evaluation: _Features, steps: int | None = None, times: Any = None,
    exogenous_features: _Features | None = None,
) -> Callable[[], tuple[_Features, None]]:  # fmt: skip
    """Return an input function of predictions after an evaluation.

    Args:
      evaluation: the result of `evaluate`; there is a prediction for each of its windows.
      steps: how many times are predicted, from the next one on.
      times: instead of steps: [batch, times], or [times], integers after those evaluated.
      exogenous_features: {name: array [batch, times, ...]}, features that are known.

    Raises:
      ValueError: if both or neither of steps and times are given, or times are too early.
    """
    predict_times = canonicalize_times_or_steps_from_output(times, steps, evaluation)
    features = {
        PredictionFeatures.STATE_TUPLE: evaluation[FilteringResults.STATE_TUPLE],
        PredictionFeatures.TIMES: predict_times,
        **(exogenous_features or {}),
    }

    def predict_input_fn() -> tuple[_Features, None]:
        def once(value: Any) -> Tensor:
            return tf.train.limit_epochs(value, num_epochs=1)

        return {key: nest.map_structure(once, values) for key, values in features.items()}, None

    return predict_input_fn


class TimeSeriesInputFn:
    """An input function that subclasses say the features of."""

    def create_batch(self) -> tuple[_Features, None]:
        """({name: tensor [batch, window, ...]}, None)."""
        raise NotImplementedError

    def __call__(self) -> tuple[_Features, None]:
        return self.create_batch()


@export("contrib.timeseries.WholeDatasetInputFn")
class WholeDatasetInputFn(TimeSeriesInputFn):
    """The whole series as one window, to evaluate it and to go on from its end.

    Args:
      time_series_reader: a reader.
    """

    def __init__(self, time_series_reader: Any) -> None:
        self._reader = time_series_reader
        super().__init__()

    def create_batch(self) -> tuple[_Features, None]:
        """({name: tensor [1, times, ...]}, None)."""
        features = self._reader.read_full()
        return {name: value[None, ...] for name, value in features.items()}, None


@export("contrib.timeseries.RandomWindowInputFn")
class RandomWindowInputFn(TimeSeriesInputFn):
    """Batches of windows out of the series, in random order, forever.

    Args:
      time_series_reader: a reader.
      window_size: how many times a window has.
      batch_size: how many windows a batch has.
      queue_capacity_multiplier: how many batches the queues hold.
      shuffle_min_after_dequeue_multiplier: how many batches are kept to choose from.
      discard_out_of_order: whether windows in which a time is before that in front of it are left
        out; otherwise they are sorted.
      discard_consecutive_batches_limit: how many batches may be left out in sequence before it
        ends with an `OutOfRangeError`.
      jitter: whether windows begin at other times in every pass.
      num_threads: how many threads fill the queues; with one, and a seed, the order is fixed.
      shuffle_seed: of the order.

    Raises:
      ValueError: if the series is known to be shorter than a window.
    """

    def __init__(
        self, time_series_reader: Any, window_size: int, batch_size: int,
        queue_capacity_multiplier: int = 1000, shuffle_min_after_dequeue_multiplier: int = 2,
        discard_out_of_order: bool = True, discard_consecutive_batches_limit: int = 1000,
        jitter: bool = True, num_threads: int | None = 2, shuffle_seed: int | None = None,
    ) -> None:  # fmt: skip
        self._reader = time_series_reader
        self._window_size = window_size
        self._reader.check_dataset_size(minimum_dataset_size=window_size)
        self._batch_size = batch_size
        self._capacity = queue_capacity_multiplier
        self._min_after_dequeue = shuffle_min_after_dequeue_multiplier * batch_size
        self._discard_out_of_order = discard_out_of_order
        self._discard_limit = discard_consecutive_batches_limit
        self._jitter = jitter
        self._num_threads = batch_size if num_threads is None else num_threads
        self._shuffle_seed = shuffle_seed
        super().__init__()

    def create_batch(self) -> tuple[_Features, None]:
        """({name: tensor [batch, window, ...]}, None)."""
        features = self._windowed()
        if self._discard_out_of_order:
            keep: Any = self._in_order(features[TrainEvalFeatures.TIMES])
        else:
            features, keep = _sorted(features), True
        batch = tf.train.maybe_shuffle_batch(
            features,
            num_threads=self._num_threads,
            seed=self._shuffle_seed,
            batch_size=self._batch_size,
            capacity=self._capacity * self._batch_size,
            min_after_dequeue=self._min_after_dequeue,
            keep_input=keep,
            enqueue_many=True,
        )
        return batch, None

    def _windowed(self) -> _Features:
        """{name: tensor [batch, window, ...]}, one window after the other."""
        features = self._reader.read()
        jitter: Any = tf.random_uniform(shape=[], maxval=2, dtype=tf.int32) if self._jitter else 0
        windows, size = self._batch_size, self._window_size
        flat = tf.train.batch(
            features,
            batch_size=size * windows + jitter,
            enqueue_many=True,
            capacity=self._capacity * windows * size,
            num_threads=self._num_threads,
        )
        windowed = flat
        if self._jitter:
            windowed = {key: value[jitter:] for key, value in windowed.items()}
        windowed = {
            key: tf.reshape(value, tf.concat([[windows, size], tf.shape(value)[1:]], axis=0))
            for key, value in windowed.items()
        }
        front = tf.TensorShape([windows, size])
        for key, value in windowed.items():
            value.set_shape(front.concatenate(flat[key].get_shape()[1:]))
        return windowed

    def _in_order(self, times: Any) -> Any:
        """Return bool [batch], True for ordered windows.

        Raises an error if there was none for too long.
        """
        in_order = tf.reduce_all(times[:, 1:] >= times[:, :-1], axis=1)
        discarded = limits.counter("discarded_windows_limiter")

        def count() -> Any:
            return tf.cond(
                tf.reduce_any(in_order),
                true_fn=functools.partial(tf.assign, discarded, 0),
                false_fn=functools.partial(discarded.count_up_to, self._discard_limit),
            )

        with tf.control_dependencies([limits.once_initialized(discarded, count)]):
            return tf.identity(in_order)


def _sorted(features: _Features) -> _Features:
    times = features[TrainEvalFeatures.TIMES]
    _, descending = tf.nn.top_k(times, k=tf.shape(times)[-1], sorted=True)
    indices = tf.reverse(descending, axis=[0])
    return {key: tf.gather(value, indices) for key, value in features.items()}
