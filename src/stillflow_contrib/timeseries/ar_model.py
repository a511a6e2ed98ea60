"""Autoregressive models: a window of a series is predicted from the window before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.timeseries.ar_prediction import Rollout
from stillflow_contrib.timeseries.densities import normal_log_prob
from stillflow_contrib.timeseries.feature_keys import PredictionFeatures, TrainEvalFeatures
from stillflow_contrib.timeseries.model import ModelOutputs, TimeSeriesModel
from stillflow_contrib.timeseries.model_utils import fully_connected
from stillflow_contrib.timeseries.prediction_networks import FlatPredictionModel

if TYPE_CHECKING:
    from stillflow.ops.tensor_array.tensor_array import TensorArray


_TIMES, _VALUES = TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES
_Features = dict[str, Any]

# Every other feature is exogenous.
_OWN = (_TIMES, _VALUES, PredictionFeatures.STATE_TUPLE)


@export("contrib.timeseries.ARModel")
class ARModel(TimeSeriesModel):
    """An autoregressive model.

    Args:
      periodicities: after how many times the series repeats itself: an integer or a list, or None.
      input_window_size: how many times a prediction is made from; 0 for the time alone.
      output_window_size: how many times are predicted at once.
      num_features: how many values there are at each time.
      prediction_model_factory: makes the network, of `num_features`, `input_window_size` and
        `output_window_size`.
      num_time_buckets: in how many parts a period is divided.
      loss: `NORMAL_LIKELIHOOD_LOSS` or `SQUARED_LOSS`.
      exogenous_feature_columns: feature columns known at all times.
    """

    SQUARED_LOSS = "squared_loss"
    NORMAL_LIKELIHOOD_LOSS = "normal_likelihood_loss"

    def __init__(
        self, periodicities: Any, input_window_size: int, output_window_size: int,
        num_features: int, prediction_model_factory: Callable[..., Any] = FlatPredictionModel,
        num_time_buckets: int = 10, loss: str = NORMAL_LIKELIHOOD_LOSS,
        exogenous_feature_columns: Any = None,
    ) -> None:  # fmt: skip
        self._model_factory = prediction_model_factory
        self.input_window_size = input_window_size
        self.output_window_size = output_window_size
        self.window_size = self.input_window_size + self.output_window_size
        self.loss = loss
        super().__init__(num_features, exogenous_feature_columns)
        self.exogenous_size = 0
        if exogenous_feature_columns is not None:
            self.exogenous_size = self._get_exogenous_embedding_shape()[-1]
        assert num_time_buckets > 0
        self._buckets = int(num_time_buckets)
        if not periodicities:
            periodicities = []
        elif not isinstance(periodicities, (list, tuple)):
            periodicities = [periodicities]
        self._periodicities = [int(period) for period in periodicities]
        assert all(period > 0 for period in self._periodicities)
        assert self._periodicities or self.input_window_size
        assert output_window_size > 0

    def initialize_graph(self, input_statistics: Any = None) -> None:
        """Make the network."""
        super().initialize_graph(input_statistics=input_statistics)
        self._model_scope = tf.variable_scope("model/", use_resource=True)
        self._model_instance = self._model_factory(
            num_features=self.num_features,
            input_window_size=self.input_window_size,
            output_window_size=self.output_window_size,
        )

    def get_start_state(self) -> tuple[Any, Any, Any]:
        """Return times [input window], values [input window, features], and exogenous features."""
        size = self.input_window_size
        return (
            tf.zeros([size], dtype=tf.int64),
            tf.zeros([size, self.num_features], dtype=self.dtype),
            tf.zeros([size, self.exogenous_size], dtype=self.dtype),
        )

    def random_model_parameters(self, seed: int | None = None) -> None:
        """None: there are none to draw."""

    def generate(
        self, number_of_series: int, series_length: int, model_parameters: Any = None,
        seed: int | None = None,
    ) -> None:  # fmt: skip
        """None: it draws no series."""

    def _predicted_covariance_op(self, activations: Any, num_values: int) -> Any:
        """Variances [batch, output window, num_values] from the last of (activation, width)."""
        activation, width = activations[-1]
        size = self.output_window_size
        if self.loss == ARModel.NORMAL_LIKELIHOOD_LOSS:
            logarithm = fully_connected(
                activation, width, size * num_values, "log_sigma_square", activation=None
            )
            return tf.reshape(tf.exp(logarithm), [-1, size, num_values])
        shape = tf.stack([tf.shape(activation)[0], tf.constant(size), tf.constant(num_values)])
        return tf.ones(shape=shape, dtype=activation.dtype)

    def _predicted_mean_op(self, activations: Any) -> Any:
        """Means [batch, output window, features] from the last of (activation, width)."""
        activation, width = activations[-1]
        size, features = self.output_window_size, self.num_features
        mean = fully_connected(
            activation, width, size * features, "predicted_mean", activation=None
        )
        return tf.reshape(mean, [-1, size, features])

    def prediction_ops(self, times: Any, values: Any, exogenous_regressors: Any) -> _Features:
        """Predictions of the end of windows.

        Args:
          times: [batch, window].
          values: [batch, input window, features].
          exogenous_regressors: [batch, window, width], or None.

        Returns:
          {"mean", "covariance": [batch, output window, features]}.
        """
        times.get_shape().assert_is_compatible_with([None, self.window_size])
        batch = tf.shape(times)[0]
        if self.input_window_size:
            values.get_shape().assert_is_compatible_with(
                [None, self.input_window_size, self.num_features]
            )
        if exogenous_regressors is not None:
            exogenous_regressors.get_shape().assert_is_compatible_with(
                [None, self.window_size, self.exogenous_size]
            )
        inputs, outputs = self._network_inputs(times, values, exogenous_regressors, batch)
        assert inputs
        before: Any = tf.concat(inputs, axis=2)
        size = self.output_window_size
        after: Any = (
            tf.concat(outputs, axis=2) if outputs else tf.zeros([batch, size, 0], dtype=self.dtype)
        )
        known = self._buckets * len(self._periodicities) + self.exogenous_size
        static_batch = times.get_shape().dims[0].value
        width = known + (self.num_features if self.input_window_size else 0)
        before.set_shape([static_batch, self.input_window_size, width])
        after.set_shape([static_batch, size, known])
        return self._output_window_predictions(before, after)

    def _network_inputs(
        self, times: Any, values: Any, exogenous_regressors: Any, batch: Any
    ) -> tuple[list[Any], list[Any]]:
        """Return inputs of the times before, and of those to predict, [batch, size, width]s."""
        inputs, outputs = [], []
        sizes = (self.input_window_size, self.output_window_size)
        if self._periodicities:
            _, features = self._compute_time_features(times)
            width = self._buckets * len(self._periodicities)
            features = tf.reshape(features, [batch, self.window_size, width])
            before, after = tf.split(features, sizes, axis=1)
            inputs.append(before)
            outputs.append(after)
        if self.input_window_size:
            window = tf.slice(values, [0, 0, 0], [-1, self.input_window_size, -1])
            shape = [batch, self.input_window_size, self.num_features]
            inputs.append(tf.reshape(window, shape))
        if self.exogenous_size:
            before, after = tf.split(exogenous_regressors, sizes, axis=1)
            inputs.append(before)
            outputs.append(after)
        return inputs, outputs

    def _output_window_predictions(
        self, input_window_features: Any, output_window_features: Any
    ) -> _Features:
        with self._model_scope:
            predictions: _Features = self._model_instance(
                input_window_features, output_window_features
            )
            for prediction in predictions.values():
                prediction.set_shape([None, self.output_window_size, self.num_features])
            return predictions

    def loss_op(self, targets: Any, prediction_ops: _Features) -> Tensor:
        """Return the loss of predictions, a scalar, for values [batch, output window, features]."""
        prediction = prediction_ops["mean"]
        if self.loss == ARModel.NORMAL_LIKELIHOOD_LOSS:
            sigma = tf.sqrt(tf.maximum(prediction_ops["covariance"], 1e-5))
            loss = -tf.reduce_sum(normal_log_prob(targets, sigma, prediction))
        else:
            assert self.loss == ARModel.SQUARED_LOSS, self.loss
            loss = tf.reduce_sum(tf.squared_difference(prediction, targets))
        loss /= tf.cast(tf.reduce_prod(tf.shape(targets)), loss.dtype)
        return loss

    def _process_exogenous_features(self, times: Any, features: _Features) -> Tensor:
        embedded = super()._process_exogenous_features(times=times, features=features)
        if embedded is not None:
            return embedded
        assert self.exogenous_size == 0
        return tf.zeros(tf.concat([tf.shape(times), tf.constant([0])], axis=0))

    def _known_features(self, times: Any, features: _Features) -> Tensor:
        """Return the features besides times and values, [batch, window, width]."""
        known = {key: value for key, value in features.items() if key not in _OWN}
        return self._process_exogenous_features(times=times, features=known)

    def predict(self, features: _Features) -> _Features:
        """Predictions of any number of times, each window from the one predicted before it.

        Args:
          features: times [batch, times]; the state that they follow; known features.

        Returns:
          {"mean", "covariance": [batch, times, features]}.
        """
        if not self._graph_initialized:
            self.initialize_graph()
        times: Any = tf.cast(tf.convert_to_tensor(features[PredictionFeatures.TIMES]), tf.int32)
        regressors = self._known_features(times, features)
        same_length = tf.assert_equal(tf.shape(times)[1], tf.shape(regressors)[1])
        with tf.control_dependencies([same_length]):
            regressors = tf.identity(regressors)
        rollout = Rollout(self, times, regressors, features[PredictionFeatures.STATE_TUPLE])
        mean, covariance = rollout.predictions()
        if covariance is None:
            covariance = tf.ones_like(mean)
        mean = self._scale_back_data(mean)
        return {"mean": mean, "covariance": self._scale_back_variance(covariance)}

    def _process_window(
        self, features: _Features, mode: str, exogenous_regressors: Any
    ) -> ModelOutputs:
        """Return the loss and the predictions of the end of windows."""
        times = tf.cast(features[_TIMES], tf.int64)
        values = tf.cast(features[_VALUES], dtype=self.dtype)
        regressors = tf.cast(exogenous_regressors, dtype=self.dtype)
        observed, before = values, self.input_window_size
        self._check_window(times)
        values = self._scale_data(values)
        input_values = values[:, :before, :] if before > 0 else None
        predicted = self.prediction_ops(times, input_values, regressors)
        mean, covariance = predicted["mean"], predicted["covariance"]
        targets = tf.slice(values, [0, before, 0], [-1, -1, -1])
        targets.get_shape().assert_is_compatible_with(mean.get_shape())
        if mode == tf.estimator.ModeKeys.EVAL and self.loss == ARModel.SQUARED_LOSS:
            # Squares are comparable in the scale of the series only.
            scaled_back = self._scale_back_data(targets)
            loss = self.loss_op(scaled_back, {"mean": self._scale_back_data(mean)})
        else:
            loss = self.loss_op(targets, predicted)
        mean = self._scale_back_data(mean)
        covariance = self._scale_back_variance(covariance)
        end_state = (times[:, -before:], values[:, -before:, :], regressors[:, -before:, :])
        after = self.output_window_size
        predictions = {
            "mean": mean, "covariance": covariance, "observed": observed[:, -after:]
        }  # fmt: skip
        return ModelOutputs(loss, end_state, predictions, times[:, -after:])

    def _check_window(self, times: Any) -> None:
        if times.get_shape().is_compatible_with([None, self.window_size]):
            return
        raise ValueError(
            f"ARModel with input_window_size={self.input_window_size} and output_window_size="
            f"{self.output_window_size} expects feature '{_TIMES}' to have shape (batch_size, "
            f"{self.window_size}) (for any batch_size), but got shape {times.get_shape()}. If you "
            f"are using RandomWindowInputFn, set window_size={self.window_size} or adjust the "
            "input_window_size and output_window_size arguments to ARModel."
        )

    def get_batch_loss(self, features: _Features, mode: str, state: Any) -> ModelOutputs:
        """Return the loss of windows, in training of the model's size, in evaluation of any size.

        Raises:
          ValueError: for windows of another size, or another mode.
        """
        features = {name: tf.convert_to_tensor(value) for name, value in features.items()}
        times = features[_TIMES]
        regressors = self._known_features(times, features)
        if mode == tf.estimator.ModeKeys.TRAIN:
            # A state is of no use here: windows are whole.
            return self._process_window(features, mode=mode, exogenous_regressors=regressors)
        if mode == tf.estimator.ModeKeys.EVAL:
            return self._evaluate(features, regressors, state)
        raise ValueError(f"Unknown mode '{mode}' passed to get_batch_loss.")

    def _evaluate(self, features: _Features, regressors: Any, state: Any) -> ModelOutputs:
        """Predicts all windows of a series but the first, each from the values before it."""
        times = features[_TIMES]
        times.get_shape().assert_has_rank(2)
        self._check_evaluated(times)
        before, after = self.input_window_size, self.output_window_size
        count = (tf.shape(times)[1] - before) // after
        output_size = count * after
        crop = output_size + before
        features = {name: value[:, -crop:] for name, value in features.items()}

        def window(
            number: Any, losses: Any, means: Any, covariances: Any
        ) -> tuple[Tensor, TensorArray, TensorArray, TensorArray]:
            begin = number * after
            outputs = self._process_window(
                {name: value[:, begin : begin + self.window_size]
                 for name, value in features.items()},
                tf.estimator.ModeKeys.EVAL,
                regressors[:, begin : begin + self.window_size],
            )  # fmt: skip
            predicted = outputs.predictions
            return (
                number + 1,
                losses.write(number, outputs.loss),
                means.write(number, predicted["mean"]),
                covariances.write(number, predicted["covariance"]),
            )

        arrays = [tf.TensorArray(dtype=self.dtype, size=count) for _ in range(3)]
        _, losses, means, covariances = tf.while_loop(
            lambda number, *_: number < count, window, [0, *arrays]
        )
        values = tf.cast(features[_VALUES], dtype=self.dtype)
        shape = [tf.shape(times)[0], after * count, self.num_features]
        end_state = self._end_state(times, values, regressors, state)

        def joined(array: Any) -> Tensor:
            return tf.reshape(tf.transpose(array.stack(), [1, 0, 2, 3]), shape)

        return ModelOutputs(
            loss=tf.reduce_mean(losses.stack(), axis=0),
            end_state=end_state,
            predictions={
                "mean": joined(means),
                "covariance": joined(covariances),
                "observed": values[:, -output_size:],
            },
            prediction_times=times[:, -output_size:],
        )

    def _check_evaluated(self, times: Any) -> None:
        size = times.get_shape().dims[1].value
        if size is not None and size < self.window_size:
            raise ValueError(
                "ARModel requires a window of at least input_window_size + output_window_size to "
                f"evaluate on (input_window_size={self.input_window_size}, output_window_size="
                f"{self.output_window_size}, and got shape {times.get_shape()} for feature "
                f"'{_TIMES}' (batch size, window size))."
            )

    def _end_state(
        self, times: Any, values: Any, regressors: Any, state: Any
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the last times, their scaled values and exogenous features."""
        size = self.input_window_size
        if size == 0:
            return tuple(state)
        old_times, old_values, old_regressors = state
        new_times = tf.concat([old_times, tf.cast(times, dtype=tf.int64)], axis=1)[:, -size:]
        new_times.set_shape((None, size))
        scaled = tf.concat([old_values, self._scale_data(values)], axis=1)
        new_values = scaled[:, -size:, :]
        new_values.set_shape((None, size, self.num_features))
        known = tf.concat([old_regressors, regressors], axis=1)[:, -size:, :]
        known.set_shape((None, size, self.exogenous_size))
        return new_times, new_values, known

    def _compute_time_features(self, time: Any) -> tuple[Any, Any]:
        """Return the period of times [batch, window], and the phase in it.

        Returns:
          ([batch, window, periods, ...], [batch, window, periods, buckets]); the second is between
          0 and 1 in the bucket of the time.
        """
        number, buckets = len(self._periodicities), self._buckets
        shape = [tf.shape(time)[0], -1, 1, 1]
        periods = tf.constant(self._periodicities, shape=[1, 1, number, 1], dtype=time.dtype)
        time = tf.reshape(time, shape)
        offset = time / self._periodicities
        phase = tf.cast(time % periods, self.dtype) * buckets / tf.cast(periods, self.dtype)
        edges = tf.reshape(tf.range(buckets, dtype=self.dtype), [1, 1, 1, buckets])
        behind_edge = tf.nn.relu(phase - edges)
        return offset, tf.where_v2(behind_edge < 1.0, behind_edge, tf.zeros_like(behind_edge))
