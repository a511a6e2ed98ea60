"""Linear state space models with normal noise, filtered by `KalmanFilter`."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow_contrib.timeseries import matrices
from stillflow_contrib.timeseries.densities import log_noninformative_covariance_prior
from stillflow_contrib.timeseries.sequential import SequentialTimeSeriesModel
from stillflow_contrib.timeseries.state_space import generation
from stillflow_contrib.timeseries.state_space.kalman_filter import KalmanFilter


class _Configuration(NamedTuple):
    num_features: int
    use_observation_noise: bool
    dtype: Any
    covariance_prior_fn: Callable[[Any], Any]
    bayesian_prior_weighting: bool
    filtering_postprocessor: Any
    trainable_start_state: bool
    exogenous_noise_increases: bool
    exogenous_noise_decreases: bool
    exogenous_feature_columns: Any
    exogenous_update_condition: Any
    filtering_maximum_posterior_variance_ratio: float
    filtering_minimum_posterior_variance: float
    transition_covariance_initial_log_scale_bias: float
    static_unrolling_window_size_threshold: int | None


class StateSpaceModelConfiguration(_Configuration):
    """Configuration of state space models.

    Args:
      num_features: how many values there are at each time.
      use_observation_noise: True if observations have noise.
      dtype: the type in which it computes.
      covariance_prior_fn: the logarithm of a prior of a covariance.
      bayesian_prior_weighting: whether priors count once for the series, not once for a window.
      filtering_postprocessor: a `FilteringStepPostprocessor`.
      trainable_start_state: whether the state that series begin with is trained.
      exogenous_noise_increases: whether known features move the state and make it less certain.
      exogenous_noise_decreases: whether they say something of the state and make it more certain.
      exogenous_feature_columns: feature columns known at all times.
      exogenous_update_condition: says at which times known features change the state.
      filtering_maximum_posterior_variance_ratio: how often the largest variance of a state may
        hold another one.
      filtering_minimum_posterior_variance: none is below.
      transition_covariance_initial_log_scale_bias: logarithm of how much smaller than the noise of
        what is seen that of the state is in the beginning.
      static_unrolling_window_size_threshold: windows up to this size are no loop in the graph.
    """

    def __new__(
        cls, num_features: int = 1, use_observation_noise: bool = True, dtype: Any = tf.float32,
        covariance_prior_fn: Callable[[Any], Any] = log_noninformative_covariance_prior,
        bayesian_prior_weighting: bool = True, filtering_postprocessor: Any = None,
        trainable_start_state: bool = False, exogenous_noise_increases: bool = True,
        exogenous_noise_decreases: bool = False, exogenous_feature_columns: Any = None,
        exogenous_update_condition: Any = None,
        filtering_maximum_posterior_variance_ratio: float = 1e6,
        filtering_minimum_posterior_variance: float = 0.0,
        transition_covariance_initial_log_scale_bias: float = -5.0,
        static_unrolling_window_size_threshold: int | None = None,
    ) -> StateSpaceModelConfiguration:  # fmt: skip
        columns = [] if exogenous_feature_columns is None else exogenous_feature_columns
        return super().__new__(
            cls, num_features, use_observation_noise, dtype, covariance_prior_fn,
            bayesian_prior_weighting, filtering_postprocessor, trainable_start_state,
            exogenous_noise_increases, exogenous_noise_decreases, columns,
            exogenous_update_condition, filtering_maximum_posterior_variance_ratio,
            filtering_minimum_posterior_variance, transition_covariance_initial_log_scale_bias,
            static_unrolling_window_size_threshold,
        )  # fmt: skip


# Settings of sequential models that this configuration includes.
_OF_EVERY_MODEL = (
    "num_features", "dtype", "exogenous_feature_columns", "exogenous_update_condition",
    "static_unrolling_window_size_threshold",
)  # fmt: skip


class StateSpaceModel(SequentialTimeSeriesModel):
    """A model whose hidden state moves on linearly, and is seen linearly, both with noise.

    A state is (means [batch, d], covariances [batch, d, d], times [batch]). Subclasses give the
    matrices.

    Args:
      configuration: a `StateSpaceModelConfiguration`.
    """

    # Set by `initialize_graph`.
    prior_state_mean: Any = None
    prior_state_var: Any = None
    state_transition_noise_covariance: Any = None
    _observation_noise_covariance: Any = None
    _kalman_filter: Any = None

    def __init__(self, configuration: StateSpaceModelConfiguration) -> None:
        self._configuration = configuration
        postprocessor = configuration.filtering_postprocessor
        predicted = ["mean", "covariance"]
        added = [] if postprocessor is None else postprocessor.output_names
        super().__init__(
            [*predicted, "log_likelihood", *added], predicted, normalize_features=True,
            **{name: getattr(configuration, name) for name in _OF_EVERY_MODEL},
        )  # fmt: skip
        # Variables are in the scope in which the model was made.
        self._variable_scope = tf.get_variable_scope()

    @abc.abstractmethod
    def get_state_transition(self) -> Any:
        """[d, d], which moves a state on by one time."""

    @abc.abstractmethod
    def get_noise_transform(self) -> Any:
        """[d, noise dimension], which puts the noise of a step into the state."""

    @abc.abstractmethod
    def get_observation_model(self, times: Any) -> Any:
        """[d], [features, d] or [batch, features, d], what is seen of a state at times [batch]."""

    def _tensor(self, value: Any) -> Tensor:
        return tf.convert_to_tensor(value, dtype=self.dtype)

    def _step_noise(self) -> Tensor:
        """Return the covariance [d, d] of the noise that a step adds to the state."""
        transform = self._tensor(self.get_noise_transform())
        transformed = tf.matmul(transform, self.state_transition_noise_covariance)
        return tf.matmul(transformed, transform, transpose_b=True)

    def transition_power_noise_accumulator(self, num_steps: Any) -> Tensor:
        """Covariances [n, d, d] of the noise of so many steps, [n]."""
        noise, most = self._step_noise(), tf.reduce_max(num_steps) + 1
        sums = matrices.power_sums_tensor(most, self._tensor(self.get_state_transition()), noise)
        return tf.gather(sums, indices=num_steps)

    def transition_to_powers(self, powers: Any) -> Tensor:
        """[n, d, d], which move a state on by so many times, [n]."""
        return matrices.matrix_to_powers(self._tensor(self.get_state_transition()), powers)

    def _window_initializer(self, times: Any, state: Any) -> None:
        """Compute the transitions over all gaps of windows, once each."""
        times, start = (tf.convert_to_tensor(each) for each in (times, state[-1]))
        steps = tf.reshape(times[:, 1:] - times[:, :-1], [-1])
        first_steps = tf.maximum(times[:, 0] - start, 0)
        self._gaps, _ = tf.unique(tf.concat([steps, first_steps], axis=0))
        noise = self.transition_power_noise_accumulator(self._gaps)
        self._of_gaps = self.transition_to_powers(self._gaps), noise

    def _cached_transition_powers_and_sums(self, num_steps: Any) -> list[Any]:
        """Return transitions and noise [batch, d, d] over gaps [batch] of this window."""
        both = tf.concat([self._gaps, tf.cast(num_steps, self._gaps.dtype)], axis=0)
        # Numbers of distinct gaps: those behind the window's own ask for one of them.
        numbers = tf.unique(both)[1]
        rows = [tf.gather(each, numbers[-tf.shape(num_steps)[0] :]) for each in self._of_gaps]
        for row in rows:
            row.set_shape(num_steps.get_shape().concatenate(row.get_shape()[-2:]))
        return rows

    def _imputation_step(self, current_times: Any, state: Any) -> tuple[Tensor, Tensor, Tensor]:
        *belief, previous_times = state
        steps = tf.maximum(current_times - previous_times, 0)
        transitions, noise = self._cached_transition_powers_and_sums(steps)
        mean = self._kalman_filter.predict_state_mean(belief[0], transitions)
        covariance = self._kalman_filter.predict_state_var(belief[1], transitions, noise)
        return mean, covariance, previous_times + steps

    def _filtering_step(
        self, current_times: Any, current_values: Any, state: Any, predictions: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        mean, variance, previous_times = state
        observation_model = self.get_broadcasted_observation_model(current_times)
        is_current = tf.Assert(
            tf.reduce_all(tf.equal(current_times, previous_times)),
            ["Attempted to perform filtering without imputation/prediction"],
        )
        with tf.control_dependencies([is_current]):
            variance = matrices.clip_covariance(
                variance,
                self._configuration.filtering_maximum_posterior_variance_ratio,
                self._configuration.filtering_minimum_posterior_variance,
            )
            mean, variance, log_density = self._kalman_filter.do_filter(
                estimated_state=mean,
                estimated_state_covariance=variance,
                predicted_observation=predictions["mean"],
                predicted_observation_covariance=predictions["covariance"],
                observation=current_values,
                observation_model=observation_model,
                observation_noise=self._observation_noise_covariance,
            )
        filtered = (mean, variance, current_times)
        log_density.set_shape(current_times.get_shape())
        predictions["loss"] = -log_density
        predictions["log_likelihood"] = log_density
        postprocessor = self._configuration.filtering_postprocessor
        if postprocessor is None:
            return filtered, predictions
        processed: tuple[Any, dict[str, Any]] = postprocessor.process_filtering_step(
            current_times=current_times,
            current_values=current_values,
            predicted_state=state,
            filtered_state=filtered,
            outputs=predictions,
        )
        return processed

    def _scale_back_predictions(self, predictions: dict[str, Any]) -> dict[str, Any]:
        predictions["mean"] = self._scale_back_data(predictions["mean"])
        predictions["covariance"] = self._scale_back_variance(predictions["covariance"])
        return predictions

    def _prediction_step(self, current_times: Any, state: Any) -> tuple[Any, dict[str, Any]]:
        mean, variance, previous_times = state
        is_advanced = tf.Assert(
            tf.reduce_all(tf.less_equal(current_times, previous_times)),
            ["Attempted to predict without imputation"],
        )
        with tf.control_dependencies([is_advanced]):
            observation_model = self.get_broadcasted_observation_model(current_times)
            observed, observed_variance = self._kalman_filter.observed_from_state(
                state_mean=mean,
                state_var=variance,
                observation_model=observation_model,
                observation_noise=self._observation_noise_covariance,
            )
        batch, width = current_times.get_shape(), self.num_features
        observed.set_shape(batch.concatenate((width,)))
        observed_variance.set_shape(batch.concatenate((width, width)))
        predictions = {"mean": observed, "covariance": observed_variance}
        return (mean, variance, current_times), predictions

    def _exogenous_noise_decreasing(
        self, current_times: Any, exogenous_values: Any, state: Any
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Known features [batch, width] are like an observation of the state."""
        mean, variance, previous_times = state
        size = tf.dimension_value(self._tensor(self.get_state_transition()).shape[0])
        whole_state = tf.eye(size, batch_shape=tf.shape(exogenous_values)[:-1], dtype=self.dtype)
        with tf.variable_scope("exogenous_noise_decreasing_covariance"):
            noise = matrices.transform_to_covariance_matrices(exogenous_values, size)
        with tf.variable_scope("exogenous_noise_decreasing_observation"):
            seen = tf.contrib.layers.fully_connected(exogenous_values, size, activation_fn=None)
        expected = mean, noise + variance
        posterior = self._kalman_filter.posterior_from_prior_state(
            mean, variance, seen, whole_state, expected, noise
        )
        return *posterior, previous_times

    def _exogenous_noise_increasing(
        self, current_times: Any, exogenous_values: Any, state: Any
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Known features [batch, width] move the state, and add noise."""
        mean, variance, previous_times = state
        with tf.variable_scope("exogenous_noise_increasing_mean"):
            moved = tf.contrib.layers.fully_connected(
                exogenous_values, tf.dimension_value(mean.shape[1]), activation_fn=None
            )
        with tf.variable_scope("exogenous_noise_increasing_covariance"):
            noise = matrices.transform_to_covariance_matrices(
                exogenous_values, tf.dimension_value(variance.shape[1])
            )
        return mean + moved, variance + noise, previous_times

    def _exogenous_input_step(
        self, current_times: Any, current_exogenous_regressors: Any, state: Any
    ) -> tuple[Tensor, Tensor, Tensor]:
        if self._configuration.exogenous_noise_decreases:
            state = self._exogenous_noise_decreasing(
                current_times, current_exogenous_regressors, state
            )
        if self._configuration.exogenous_noise_increases:
            state = self._exogenous_noise_increasing(
                current_times, current_exogenous_regressors, state
            )
        return state

    def _loss_additions(self, times: Any, values: Any, mode: str) -> Tensor:
        """Priors of covariances, in training."""
        if mode != tf.estimator.ModeKeys.TRAIN:
            return tf.zeros([], dtype=self.dtype)
        statistics = self._input_statistics
        if statistics is not None and self._configuration.bayesian_prior_weighting:
            count = statistics.total_observation_count
        else:
            count = tf.shape(times)[1]
        weight = 1.0 / tf.cast(count, self.dtype)
        prior_fn = self._configuration.covariance_prior_fn
        total = self._tensor(prior_fn(self.state_transition_noise_covariance))
        noise = self._observation_noise_covariance
        if self._configuration.use_observation_noise and noise is not None:
            total = total + self._tensor(prior_fn(noise))
        return -weight * total

    def _variable_observation_transition_tradeoff_log(self) -> Any:
        """Return the logarithm of the ratio of the observation's noise to the state's."""
        bias = -self._configuration.transition_covariance_initial_log_scale_bias
        return tf.get_variable(
            "observation_transition_tradeoff_log_scale",
            initializer=tf.constant(bias, dtype=self.dtype),
            dtype=self.dtype,
        )

    def _define_parameters(self, observation_transition_tradeoff_log: Any = None) -> None:
        """Create the trained parameters besides the observation noise."""
        with tf.variable_scope(self._variable_scope):
            if observation_transition_tradeoff_log is None:
                observation_transition_tradeoff_log = (
                    self._variable_observation_transition_tradeoff_log()
                )
            self._observation_transition_tradeoff_log_scale = observation_transition_tradeoff_log
            self.state_transition_noise_covariance = self.get_state_transition_noise_covariance()

    def _set_input_statistics(self, input_statistics: Any = None) -> None:
        super().initialize_graph(input_statistics=input_statistics)

    def initialize_graph(self, input_statistics: Any = None) -> None:
        """Create variables: covariances of noise, and the state that series begin with."""
        self._set_input_statistics(input_statistics)
        self._define_parameters()
        with tf.variable_scope(self._variable_scope):
            noise = self._tensor(self.get_observation_noise_covariance())
        self._observation_noise_covariance = noise
        self._kalman_filter = KalmanFilter(dtype=self.dtype)
        self.prior_state_var = self.get_prior_covariance()
        self.prior_state_mean = self.get_prior_mean()

    def get_prior_covariance(self) -> Tensor:
        """[d, d], of the state that series begin with."""
        with tf.variable_scope(self._variable_scope):
            transition: Any = tf.convert_to_tensor(self.get_state_transition())
            dimension = transition.get_shape().dims[0].value
            if not self._configuration.trainable_start_state:
                return tf.eye(dimension, dtype=self.dtype)
            base = matrices.variable_covariance_matrix(
                dimension, "prior_state_var", dtype=self.dtype
            )
            if self._input_statistics is None:
                return base
            start_variance = self._input_statistics.series_start_moments.variance
            largest = tf.reduce_max(self._scale_variance(start_variance))
            return base * tf.maximum(largest, 1.0)

    def get_prior_mean(self) -> Any:
        """[d], of the state that series begin with."""
        with tf.variable_scope(self._variable_scope):
            transition = self._tensor(self.get_state_transition())
            return tf.get_variable(
                name="prior_state_mean",
                shape=[transition.get_shape().dims[0].value],
                dtype=self.dtype,
                trainable=self._configuration.trainable_start_state,
            )

    def random_model_parameters(self, seed: int | None = None) -> dict[Any, Any]:
        """Draw parameters: {tensor: value}.

        Raises:
          NotImplementedError: for models of several features.
        """
        return generation.random_parameters(self, seed)

    def generate(
        self, number_of_series: int, series_length: int, model_parameters: Any = None,
        seed: int | None = None, add_observation_noise: bool | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Series drawn from the model.

        Args:
          number_of_series, series_length: how many, and how many times each has.
          model_parameters: {tensor: value}; others are those of the default session.
          seed: of NumPy's generator.
          add_observation_noise: True if observations have noise; by default as the model has.

        Returns:
          Times and values.

        Raises:
          NotImplementedError: for models of several features.
        """
        noisy = add_observation_noise
        if noisy is None:
            noisy = self._configuration.use_observation_noise
        return generation.series(
            self, number_of_series, series_length, model_parameters or {}, seed, noisy
        )

    def get_broadcasted_observation_model(self, times: Any) -> Tensor:
        """Return [batch, features, d], the observation model at times [batch]."""
        model = self._tensor(self.get_observation_model(times))
        rank = model.get_shape().with_rank_at_least(1).with_rank_at_most(3).ndims
        if rank is None:
            check = tf.Assert(tf.equal(tf.rank(model), 3), [tf.shape(model)])
            with tf.control_dependencies([check]):
                return tf.identity(model)
        if rank == 1:
            row = tf.reshape(model, shape=[1, 1, -1])
            model = tf.tile(row, [tf.shape(times)[0], self.num_features, 1])
        elif rank == 2:
            model = tf.tile(tf.expand_dims(model, axis=0), [tf.shape(times)[0], 1, 1])
        model.get_shape().assert_has_rank(3)
        return model

    def get_state_transition_noise_covariance(
        self, minimum_initial_variance: float = 1e-5
    ) -> Tensor:
        """Return the covariance of the noise of a step, [noise dimension, noise dimension]."""
        transform = self._tensor(self.get_noise_transform())
        statistics = self._input_statistics
        scale: Any = 0.0
        if statistics is not None:
            variance = self._scale_variance(statistics.series_start_moments.variance)
            average = tf.reduce_mean(variance)
            count = tf.cast(statistics.total_observation_count, self.dtype)
            scale = tf.log(tf.maximum(average / count, minimum_initial_variance))
        scale -= self._observation_transition_tradeoff_log_scale
        return matrices.variable_covariance_matrix(
            int(transform.get_shape()[1]),
            "state_transition_noise",
            dtype=self.dtype,
            initial_overall_scale_log=scale,
        )

    def get_observation_noise_covariance(self, minimum_initial_variance: float = 1e-5) -> Tensor:
        """Return the covariance of the observation noise, [features, features]."""
        name, width = "observation_noise_covariance", self.num_features
        if not self._configuration.use_observation_noise:
            return tf.zeros(shape=[width, width], name=name, dtype=self.dtype)
        variance = None
        if self._input_statistics is not None:
            variance = self._scale_variance(self._input_statistics.series_start_moments.variance)
            variance = tf.maximum(variance, minimum_initial_variance)
        return matrices.variable_covariance_matrix(
            size=width,
            dtype=self.dtype,
            name=name,
            initial_diagonal_values=variance,
            initial_overall_scale_log=self._observation_transition_tradeoff_log_scale,
        )

    def get_start_state(self) -> tuple[Any, Any, Any]:
        """Means [d], covariances [d, d], and the time before the first."""
        if self._input_statistics is not None:
            start_time = self._input_statistics.start_time
        else:
            start_time = tf.zeros([], dtype=tf.int64)
        return self.prior_state_mean, self.prior_state_var, start_time - 1

    def get_features_for_timesteps(self, timesteps: Any) -> Any:
        """No features [times, 0]."""
        return tf.zeros([tf.shape(timesteps)[0], 0], dtype=self.dtype)
