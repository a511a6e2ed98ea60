"""Models that go through a series time by time, with a state that each value changes."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.operation import Tensor
from stillflow_contrib.timeseries.feature_keys import PredictionFeatures, TrainEvalFeatures
from stillflow_contrib.timeseries.model import ModelOutputs, TimeSeriesModel

_Features = dict[str, Any]


def _without(features: _Features, *names: str) -> _Features:
    return {key: value for key, value in features.items() if key not in names}


class SequentialTimeSeriesModel(TimeSeriesModel):
    """Model with a state; subclasses define a step.

    Args:
      train_output_names: keys of the result of `_filtering_step` besides "loss".
      predict_output_names: keys of the result of `_prediction_step`.
      num_features: how many values there are at each time.
      normalize_features: whether values are scaled by the statistics of the series.
      dtype: the type in which it computes.
      exogenous_feature_columns: feature columns known at all times.
      exogenous_update_condition: of `times` [batch] and `features` {name: [batch, ...]} of one
        time; gives whether known features change the state there, bool [batch].
      static_unrolling_window_size_threshold: windows of known size up to this are no loop in the
        graph, but so many copies of a step.
    """

    def __init__(
        self, train_output_names: Sequence[str], predict_output_names: Sequence[str],
        num_features: int, normalize_features: bool = False, dtype: Any = tf.float32,
        exogenous_feature_columns: Any = None,
        exogenous_update_condition: Callable[..., Any] | None = None,
        static_unrolling_window_size_threshold: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(num_features, exogenous_feature_columns, dtype)
        self._exogenous_update_condition = exogenous_update_condition
        self._train_output_names = list(train_output_names)
        self._predict_output_names = list(predict_output_names)
        self._normalize_features = normalize_features
        self._static_unrolling_window_size_threshold = static_unrolling_window_size_threshold

    def _scale_back_predictions(self, predictions: _Features) -> _Features:
        """Predictions of scaled values as those of the series."""
        raise NotImplementedError(
            "SequentialTimeSeriesModel normalized input data (normalize_features=True), but no "
            "method was provided to transform the predictions back to the input scale."
        )

    @abc.abstractmethod
    def _filtering_step(
        self, current_times: Any, current_values: Any, state: Any, predictions: _Features
    ) -> tuple[Any, _Features]:
        """Return the state after a value, and outputs of which "loss" [batch] is one.

        Args:
          current_times: [batch].
          current_values: [batch, features].
          state: that `_prediction_step` gave.
          predictions: of the same step.
        """

    @abc.abstractmethod
    def _prediction_step(self, current_times: Any, state: Any) -> tuple[Any, _Features]:
        """Return the state, and predictions {name: [batch, ...]} of a time [batch]."""

    @abc.abstractmethod
    def _imputation_step(self, current_times: Any, state: Any) -> Any:
        """Return the state advanced to times [batch], over missing ones."""

    @abc.abstractmethod
    def _exogenous_input_step(
        self, current_times: Any, current_exogenous_regressors: Any, state: Any
    ) -> Any:
        """Return the state changed by known features [batch, width]."""

    def _loss_additions(self, times: Any, values: Any, mode: str) -> Tensor | float:
        """Return the loss in addition to that of the values."""
        return 0.0

    def _window_initializer(self, times: Any, state: Any) -> None:
        """Compute the shared values of all steps of windows."""

    def get_batch_loss(self, features: _Features, mode: str, state: Any) -> ModelOutputs:
        """Return the loss of windows; see `TimeSeriesModel.define_loss`."""
        loss, states, outputs = self.per_step_batch_loss(features, mode, state)
        last = [element[:, -1] for element in nest.flatten(states)]
        end_state = nest.pack_sequence_as(states, last)
        outputs["observed"] = features[TrainEvalFeatures.VALUES]
        return ModelOutputs(loss, end_state, outputs, features[TrainEvalFeatures.TIMES])

    def _apply_exogenous_update(
        self, current_times: Any, step_number: Any, state: Any, raw_features: _Features,
        embedded_exogenous_regressors: Any,
    ) -> Any:  # fmt: skip
        """Return the state changed by the known features of a step, where the condition allows."""
        if embedded_exogenous_regressors is None:
            return state
        updated = self._exogenous_input_step(
            current_times=current_times,
            current_exogenous_regressors=embedded_exogenous_regressors[:, step_number, :],
            state=state,
        )
        condition = self._exogenous_update_condition
        if condition is None:
            return updated
        known = _without(
            raw_features,
            PredictionFeatures.STATE_TUPLE,
            TrainEvalFeatures.TIMES,
            TrainEvalFeatures.VALUES,
        )
        current = {key: value[:, step_number] for key, value in known.items()}
        chosen = [
            tf.where(condition(times=current_times, features=current), new, old)
            for new, old in zip(nest.flatten(updated), nest.flatten(state), strict=True)
        ]
        return nest.pack_sequence_as(state, chosen)

    def per_step_batch_loss(
        self, features: _Features, mode: str, state: Any
    ) -> tuple[Any, Any, _Features]:
        """Return the loss, and all states and outputs on the way.

        Args:
          features: times [batch, window], values [batch, window, features], and others.
          mode: one of `tf.estimator.ModeKeys`.
          state: [batch, ...], nested.

        Returns:
          (scalar loss, states [batch, window, ...], {name: [batch, window, ...]}).
        """
        self._check_graph_initialized()
        times = tf.cast(features[TrainEvalFeatures.TIMES], dtype=tf.int64)
        values = tf.cast(features[TrainEvalFeatures.VALUES], dtype=self.dtype)
        if self._normalize_features:
            values = self._scale_data(values)
        known = _without(features, TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES)
        regressors = self._process_exogenous_features(times=times, features=known)

        def step(step_number: Any, current_times: Any, state: Any) -> tuple[Any, _Features]:
            current_values = values[:, step_number, :]
            state = self._apply_exogenous_update(
                current_times, step_number, state, features, regressors
            )
            predicted, predictions = self._prediction_step(current_times=current_times, state=state)
            return self._filtering_step(
                current_times=current_times,
                current_values=current_values,
                state=predicted,
                predictions=predictions,
            )

        state, outputs = self._state_update_loop(
            times, state, step, ["loss", *self._train_output_names]
        )
        outputs["loss"].set_shape(times.get_shape())
        loss_sum = tf.reduce_sum(outputs["loss"])
        loss = loss_sum / tf.cast(tf.reduce_prod(tf.shape(times)), dtype=self.dtype)
        loss += self._loss_additions(times, values, mode)
        del outputs["loss"]
        if self._normalize_features:
            outputs = self._scale_back_predictions(outputs)
        return loss, state, outputs

    def predict(self, features: _Features) -> _Features:
        """Predictions {name: tensor [batch, times, ...]}; see `TimeSeriesModel.predict`."""
        times: Any = tf.convert_to_tensor(features[PredictionFeatures.TIMES], tf.int64)
        start_state = features[PredictionFeatures.STATE_TUPLE]
        known = _without(features, PredictionFeatures.TIMES, PredictionFeatures.STATE_TUPLE)
        regressors = self._process_exogenous_features(times=times, features=known)

        def step(step_number: Any, current_times: Any, state: Any) -> tuple[Any, _Features]:
            state = self._apply_exogenous_update(
                current_times, step_number, state, features, regressors
            )
            return self._prediction_step(current_times=current_times, state=state)

        _, predictions = self._state_update_loop(
            times, start_state, step, self._predict_output_names
        )
        if self._normalize_features:
            predictions = self._scale_back_predictions(predictions)
        return predictions

    def _state_update_loop(
        self, times: Any, state: Any, state_update_fn: Callable[..., Any], outputs: Sequence[str]
    ) -> tuple[Any, _Features]:
        """Goes through the times of windows.

        Args:
          times: [batch, window].
          state: [batch, ...], nested, to begin with.
          state_update_fn: of `step_number`, `current_times` and `state`; gives the next state, and
            outputs {name: [batch, ...]}.
          outputs: names of the outputs.

        Returns:
          (states [batch, window, ...], {name: [batch, window, ...]}).
        """
        times = tf.convert_to_tensor(times, dtype=tf.int64)
        size = tf.dimension_value(times.shape[1])
        threshold = self._static_unrolling_window_size_threshold
        unrolled = threshold is not None and size is not None and size <= threshold
        self._window_initializer(times, state)
        step = self._loop_step(times, state_update_fn, outputs)
        length = tf.shape(times)[1]

        def array(dtype: Any) -> Any:
            return _Values() if unrolled else tf.TensorArray(dtype=dtype, size=length)

        arguments: Any = [
            tf.zeros([], tf.int32),
            state,
            [array(element.dtype) for element in nest.flatten(state)],
            [array(self.dtype) for _ in outputs],
        ]
        if unrolled:
            for number in range(size):
                current = tf.constant(number, tf.int32)
                arguments = step(current, *arguments[1:], reuse=number > 0)
        else:
            arguments = tf.while_loop(
                cond=lambda number, *_: tf.less(number, length), body=step, loop_vars=arguments
            )
        _, _, states, results = arguments
        named = {name: _batch_first(result) for name, result in zip(outputs, results, strict=True)}
        return nest.pack_sequence_as(state, [_batch_first(each) for each in states]), named

    def _loop_step(
        self, times: Any, state_update_fn: Callable[..., Any], outputs: Sequence[str]
    ) -> Callable[..., Any]:
        """Return the body of the loop over times."""

        def step(
            number: Any, state: Any, states: Any, results: Any, reuse: bool = False
        ) -> tuple[Any, Any, list[Any], Any]:
            with tf.variable_scope("state_update_step", reuse=reuse):
                current_times = times[:, number]
                state = self._imputation_step(current_times=current_times, state=state)
                new_state, values = state_update_fn(
                    step_number=number, current_times=current_times, state=state
                )
                assert set(values) == set(outputs)
                results = [
                    array.write(number, values[name])
                    for name, array in zip(outputs, results, strict=True)
                ]
                flat, written = [], []
                for element, array, old in zip(
                    nest.flatten(new_state), states, nest.flatten(state), strict=True
                ):
                    element.set_shape(old.get_shape())
                    flat.append(element)
                    written.append(array.write(number, element))
                return number + 1, nest.pack_sequence_as(state, flat), written, results

        return step


class _Values:
    """Replacement of a `tf.TensorArray` where there is no loop."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def write(self, _: Any, value: Any) -> _Values:
        self.values.append(value)
        return self


def _batch_first(array: Any) -> Tensor:
    """Return the values that a loop has written, [batch, window, ...]."""
    if isinstance(array, _Values):
        return tf.stack(array.values, axis=1)
    stacked = array.stack()
    return tf.transpose(stacked, perm=tf.concat([[1, 0], tf.range(2, tf.rank(stacked))], 0))
