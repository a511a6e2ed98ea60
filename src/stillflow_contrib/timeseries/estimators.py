"""Estimators of series."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.estimator.canned.optimizers import get_optimizer_instance
from stillflow.estimator.estimator import Estimator
from stillflow.graph.export import export
from stillflow.train.adagrad import AdagradOptimizer
from stillflow.train.adam import AdamOptimizer
from stillflow_contrib.timeseries import serving
from stillflow_contrib.timeseries.anomaly_mixture import AnomalyMixtureARModel
from stillflow_contrib.timeseries.ar_model import ARModel
from stillflow_contrib.timeseries.head import OneShotPredictionHead, TimeSeriesRegressionHead
from stillflow_contrib.timeseries.prediction_networks import (
    FlatPredictionModel,
    LSTMPredictionModel,
)
from stillflow_contrib.timeseries.state_management import (
    ChainingStateManager,
    FilteringOnlyStateManager,
    PassthroughStateManager,
)
from stillflow_contrib.timeseries.state_space.filtering_postprocessor import (
    StateInterpolatingAnomalyDetector,
)
from stillflow_contrib.timeseries.state_space.state_space_model import (
    StateSpaceModel,
    StateSpaceModelConfiguration,
)
from stillflow_contrib.timeseries.state_space.structural_ensemble import (
    MultiResolutionStructuralEnsemble,
)
from stillflow_contrib.timeseries.statistics import InputStatisticsFromMiniBatch


@export("contrib.timeseries.TimeSeriesRegressor")
class TimeSeriesRegressor(Estimator):
    """Estimator of models of series: training, evaluation and prediction.

    Args:
      model: a `TimeSeriesModel`.
      state_manager: says where the states come from that windows begin with.
      optimizer: makes the steps; Adam with 0.02 if it is not given.
      model_dir: the folder of checkpoints and event files.
      config: a `RunConfig`.
      head_type: makes the head of model, state manager, optimizer and statistics.
    """

    def __init__(
        self, model: Any, state_manager: Any = None, optimizer: Any = None,
        model_dir: str | None = None, config: Any = None,
        head_type: Any = TimeSeriesRegressionHead,
    ) -> None:  # fmt: skip
        statistics = InputStatisticsFromMiniBatch(model.num_features, model.dtype)
        if state_manager is None:
            is_ar = isinstance(model, ARModel)
            state_manager = FilteringOnlyStateManager() if is_ar else PassthroughStateManager()
        if optimizer is None:
            optimizer = AdamOptimizer(0.02)
        self._model = model
        head = head_type(
            model=model,
            state_manager=state_manager,
            optimizer=optimizer,
            input_statistics_generator=statistics,
        )
        super().__init__(model_fn=head.create_estimator_spec, model_dir=model_dir, config=config)

    def build_one_shot_parsing_serving_input_receiver_fn(
        self, filtering_length: int, prediction_length: int, default_batch_size: int | None = None,
        values_input_dtype: Any = None, truncate_values: bool = False,
    ) -> Callable[[], Any]:  # fmt: skip
        """Return the receiver function for `OneShotPredictionHead`: serialized examples.

        Args:
          filtering_length: how many times have values.
          prediction_length: how many times come after them.
          default_batch_size: how many series there are; None for any number.
          values_input_dtype: the type of values in examples, float32 by default.
          truncate_values: whether examples have values of times to predict, too.
        """
        return lambda: serving.one_shot_receiver(
            self._model, filtering_length, prediction_length, default_batch_size,
            values_input_dtype or tf.float32, truncate_values,
        )  # fmt: skip

    def build_raw_serving_input_receiver_fn(
        self, default_batch_size: int | None = None, default_series_length: int | None = None
    ) -> Callable[[], Any]:
        """Return the receiver function of tensors: times, values, known features and the state.

        Args:
          default_batch_size: how many series there are; None for any number.
          default_series_length: how many times; None for any number.
        """
        return lambda: serving.raw_receiver(self._model, default_batch_size, default_series_length)


@export("contrib.timeseries.ARRegressor")
class ARRegressor(TimeSeriesRegressor):
    """Predicts a window of a series by a network of the window before it.

    Args:
      periodicities: after how many times the series repeats itself: an integer or a list.
      input_window_size: how many times a prediction is made from.
      output_window_size: how many times are predicted at once.
      num_features: how many values there are at each time.
      exogenous_feature_columns: feature columns known at all times.
      num_time_buckets: in how many parts a period is divided.
      loss: `ARModel.NORMAL_LIKELIHOOD_LOSS` or `ARModel.SQUARED_LOSS`.
      hidden_layer_sizes: widths of the network's layers.
      anomaly_prior_probability: of a value to be an anomaly; None for a model without them.
      anomaly_distribution: of anomalies: "gaussian" or "cauchy".
      optimizer: makes the steps; Adagrad with 0.1 if it is not given.
      model_dir: the folder of checkpoints and event files.
      config: a `RunConfig`.

    Raises:
      ValueError: for a distribution without a probability, or anomalies with a squared loss.
    """

    def __init__(
        self, periodicities: Any, input_window_size: int, output_window_size: int,
        num_features: int, exogenous_feature_columns: Any = None, num_time_buckets: int = 10,
        loss: str = ARModel.NORMAL_LIKELIHOOD_LOSS, hidden_layer_sizes: Any = None,
        anomaly_prior_probability: float | None = None, anomaly_distribution: str | None = None,
        optimizer: Any = None, model_dir: str | None = None, config: Any = None,
    ) -> None:  # fmt: skip
        if optimizer is None:
            optimizer = AdagradOptimizer(0.1)
        settings: dict[str, Any] = {
            "periodicities": periodicities,
            "input_window_size": input_window_size,
            "output_window_size": output_window_size,
            "num_features": num_features,
            "prediction_model_factory": functools.partial(
                FlatPredictionModel, hidden_layer_sizes=hidden_layer_sizes
            ),
            "exogenous_feature_columns": exogenous_feature_columns,
            "num_time_buckets": num_time_buckets,
        }
        model: ARModel
        if anomaly_prior_probability is None:
            if anomaly_distribution is not None:
                raise ValueError(
                    "anomaly_prior_probability is required if anomaly_distribution is specified."
                )
            model = ARModel(**settings, loss=loss)
        else:
            if loss != ARModel.NORMAL_LIKELIHOOD_LOSS:
                raise ValueError(
                    "AnomalyMixtureARModel only supports ar_model.ARModel.NORMAL_LIKELIHOOD_LOSS "
                    "for its loss argument."
                )
            model = AnomalyMixtureARModel(
                **settings,
                anomaly_prior_probability=anomaly_prior_probability,
                anomaly_distribution=anomaly_distribution,
            )
        super().__init__(model, FilteringOnlyStateManager(), optimizer, model_dir, config)


class LSTMAutoRegressor(TimeSeriesRegressor):
    """Predicts a window of a series by an LSTM that reads the window before it.

    Args:
      periodicities: after how many times the series repeats itself: an integer or a list.
      input_window_size, output_window_size: how many times are read, and predicted at once.
      model_dir: the folder of checkpoints and event files.
      num_features: how many values there are at each time.
      extra_feature_columns: feature columns known at all times.
      num_timesteps: in how many parts a period is divided.
      loss: `ARModel.NORMAL_LIKELIHOOD_LOSS` or `ARModel.SQUARED_LOSS`.
      num_units: the width of the LSTM.
      optimizer: an optimizer, or its name.
      config: a `RunConfig`.
    """

    def __init__(
        self, periodicities: Any, input_window_size: int, output_window_size: int,
        model_dir: str | None = None, num_features: int = 1, extra_feature_columns: Any = None,
        num_timesteps: int = 10, loss: str = ARModel.NORMAL_LIKELIHOOD_LOSS, num_units: int = 128,
        optimizer: Any = "Adam", config: Any = None,
    ) -> None:  # fmt: skip
        network = functools.partial(LSTMPredictionModel, num_units=num_units)
        optimizer = get_optimizer_instance(optimizer, learning_rate=0.01)
        model = ARModel(
            periodicities, input_window_size, output_window_size, num_features, network,
            num_timesteps, loss, extra_feature_columns,
        )  # fmt: skip
        super().__init__(
            model, FilteringOnlyStateManager(), optimizer, model_dir, config, OneShotPredictionHead
        )


class StateSpaceRegressor(TimeSeriesRegressor):
    """Estimator of a state space model; windows continue from the states of earlier ones.

    Args:
      model: a `StateSpaceModel`.
      state_manager, optimizer, model_dir, config, head_type: as of `TimeSeriesRegressor`.

    Raises:
      ValueError: for another model.
    """

    def __init__(
        self, model: Any, state_manager: Any = None, optimizer: Any = None,
        model_dir: str | None = None, config: Any = None,
        head_type: Any = TimeSeriesRegressionHead,
    ) -> None:  # fmt: skip
        if not isinstance(model, StateSpaceModel):
            raise ValueError(
                "StateSpaceRegressor only supports state space models (children of "
                f"StateSpaceModel) in its `model` argument, got {model}."
            )
        manager = ChainingStateManager() if state_manager is None else state_manager
        super().__init__(model, manager, optimizer, model_dir, config, head_type)


@export("contrib.timeseries.StructuralEnsembleRegressor")
class StructuralEnsembleRegressor(StateSpaceRegressor):
    """Estimator of a model of level, trend, periods and residuals.

    Args:
      periodicities: after how many times the series repeats itself: a number or a list.
      num_features: how many values there are at each time.
      cycle_num_latent_values: how many values a period is told by, odd: one number or a list.
      moving_average_order, autoregressive_order: of the transient part.
      exogenous_feature_columns: feature columns known at all times.
      exogenous_update_condition: says at which times known features change the state.
      dtype: the type in which it computes.
      anomaly_prior_probability: of a value to be an anomaly; None for a model without them.
      optimizer: makes the steps; Adam with 0.02 if it is not given.
      model_dir: the folder of checkpoints and event files.
      config: a `RunConfig`.
      head_type: makes the head.
    """

    def __init__(
        self, periodicities: Any, num_features: int, cycle_num_latent_values: Any = 11,
        moving_average_order: int = 4, autoregressive_order: int = 0,
        exogenous_feature_columns: Any = None, exogenous_update_condition: Any = None,
        dtype: Any = tf.float64, anomaly_prior_probability: float | None = None,
        optimizer: Any = None, model_dir: str | None = None, config: Any = None,
        head_type: Any = TimeSeriesRegressionHead,
    ) -> None:  # fmt: skip
        detector = None
        if anomaly_prior_probability is not None:
            detector = StateInterpolatingAnomalyDetector(
                anomaly_prior_probability=anomaly_prior_probability
            )
        model = MultiResolutionStructuralEnsemble(
            cycle_num_latent_values=cycle_num_latent_values,
            moving_average_order=moving_average_order,
            autoregressive_order=autoregressive_order,
            periodicities=periodicities,
            configuration=StateSpaceModelConfiguration(
                num_features=num_features,
                dtype=dtype,
                filtering_postprocessor=detector,
                exogenous_feature_columns=exogenous_feature_columns,
                exogenous_update_condition=exogenous_update_condition,
            ),
        )
        super().__init__(
            model, optimizer=optimizer, model_dir=model_dir, config=config, head_type=head_type
        )
