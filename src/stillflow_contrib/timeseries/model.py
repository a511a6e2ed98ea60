"""Base of models of series: a loss of windows, predictions, exogenous features."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow_contrib.timeseries.feature_keys import TrainEvalFeatures
from stillflow_contrib.timeseries.matrices import replicate_state


class ModelOutputs(NamedTuple):
    """Output of a model for a batch of windows.

    `loss` is a scalar, `end_state` the nested state after the last time, `predictions` are {name:
    tensor [batch, times, ...]} and `prediction_times` [batch, times].
    """

    loss: Any
    end_state: Any
    predictions: Any
    prediction_times: Any


def embedded_columns_shape(columns: Any) -> list[int | None]:
    """Return the shape, without the batch, of an input layer's result for feature columns."""
    with tf.Graph().as_default():
        embedded = tf.feature_column.input_layer(parsed_placeholders(columns), columns)
        shape: list[int | None] = embedded.get_shape().as_list()[1:]
        return shape


def parsed_placeholders(columns: Any) -> dict[str, Any]:
    """{name: tensor} as parsed of serialized examples for columns."""
    spec = tf.feature_column.make_parse_example_spec(columns)
    examples = tf.placeholder(shape=[None], dtype=tf.string)
    parsed: dict[str, Any] = tf.parse_example(serialized=examples, features=spec)
    return parsed


class TimeSeriesModel(abc.ABC):
    """A model of series, made into a graph by an estimator.

    Args:
      num_features: how many values there are at each time.
      exogenous_feature_columns: feature columns known at all times, predicted or not.
      dtype: the type in which it computes.
    """

    def __init__(
        self, num_features: int, exogenous_feature_columns: Any = None, dtype: Any = tf.float32
    ) -> None:
        self._exogenous_feature_columns = exogenous_feature_columns or []
        self.num_features = num_features
        self.dtype = dtype
        self._input_statistics: Any = None
        self._graph_initialized = False
        self._stats_means: Any = None
        self._stats_sigmas: Any = None

    @property
    def exogenous_feature_columns(self) -> Any:
        """The exogenous feature columns."""
        return self._exogenous_feature_columns

    def generate(
        self, number_of_series: int, series_length: int, model_parameters: Any = None,
        seed: int | None = None,
    ) -> Any:  # fmt: skip
        """Series drawn from the model, for those that can."""
        raise NotImplementedError("This model does not support generation.")

    def initialize_graph(self, input_statistics: Any = None) -> None:
        """Create variables in the graph.

        Args:
          input_statistics: an `InputStatistics` that values are scaled by.
        """
        self._graph_initialized = True
        self._input_statistics = input_statistics
        if self._input_statistics:
            self._stats_means, variances = self._input_statistics.overall_feature_moments
            self._stats_sigmas = tf.sqrt(variances)

    def _scale_data(self, data: Any) -> Tensor:
        """Values with the series' mean taken away, by its standard deviation."""
        if self._input_statistics is None:
            return data
        return (data - self._stats_means) / self._stats_sigmas

    def _scale_variance(self, variance: Any) -> Tensor:
        if self._input_statistics is None:
            return variance
        return variance / self._input_statistics.overall_feature_moments.variance

    def _scale_back_data(self, data: Any) -> Any:
        if self._input_statistics is None:
            return data
        return data * self._stats_sigmas + self._stats_means

    def _scale_back_variance(self, variance: Any) -> Any:
        if self._input_statistics is None:
            return variance
        return variance * self._input_statistics.overall_feature_moments.variance

    def _check_graph_initialized(self) -> None:
        if not self._graph_initialized:
            raise ValueError(
                "TimeSeriesModels require initialize_graph() to be called before use. This defines "
                "variables and ops in the default graph, and allows Tensor-valued input statistics "
                "to be specified."
            )

    def define_loss(self, features: dict[str, Any], mode: str) -> ModelOutputs:
        """Return the loss of windows that begin with the model's first state.

        Args:
          features: times [batch, window], values [batch, window, features], and others.
          mode: one of `tf.estimator.ModeKeys`.
        """
        self._check_graph_initialized()
        start_state = replicate_state(
            self.get_start_state(), tf.shape(features[TrainEvalFeatures.TIMES])[0]
        )
        return self.get_batch_loss(features=features, mode=mode, state=start_state)

    @abc.abstractmethod
    def get_start_state(self) -> Any:
        """Return a nested tuple of tensors, without a batch: where series begin."""

    @abc.abstractmethod
    def get_batch_loss(self, features: dict[str, Any], mode: str, state: Any) -> ModelOutputs:
        """Return the loss of windows that begin with a state [batch, ...]; see `define_loss`."""

    @abc.abstractmethod
    def predict(self, features: dict[str, Any]) -> dict[str, Any]:
        """Predictions {name: tensor [batch, times, ...]}.

        Args:
          features: times [batch, times], the state that they follow, and others.
        """

    def _get_exogenous_embedding_shape(self) -> Any:
        """Return the shape of the columns' result for the known features of one time."""
        columns = self._exogenous_feature_columns
        return embedded_columns_shape(columns) if columns else (0,)

    def _process_exogenous_features(self, times: Any, features: dict[str, Any]) -> Tensor | None:
        """Known features as numbers.

        Args:
          times: [batch, window].
          features: {name: tensor [batch, window, ...]}.

        Returns:
          [batch, window, width], or None if there are no columns.

        Raises:
          ValueError: for a tensor of unknown rank.
        """
        if not self._exogenous_feature_columns:
            return None
        flat = {name: _one_batch_dimension(name, value) for name, value in features.items()}
        embedded = tf.feature_column.input_layer(
            flat, self._exogenous_feature_columns, trainable=True
        )
        shape = tf.concat([tf.shape(times), tf.shape(embedded)[1:]], axis=0)
        regressors = tf.reshape(embedded, shape)
        regressors.set_shape(times.get_shape().concatenate(embedded.get_shape()[1:]))
        return tf.cast(regressors, dtype=self.dtype)


def _one_batch_dimension(name: str, tensor: Any) -> Tensor:
    """[batch, window, ...] as [batch * window, ...], with a column for numbers."""
    if tensor.get_shape().ndims is None:
        raise ValueError(
            "Features with unknown rank are not supported. Got shape "
            f"{tensor.get_shape()} for feature {name}."
        )
    shape = tf.shape(tensor)
    flat = tf.reshape(tensor, tf.concat([[shape[0] * shape[1]], shape[2:]], axis=0))
    if flat.get_shape().ndims == 1 and flat.dtype != tf.string:
        return flat[:, None]
    return flat
