"""Kalman filters: updates of a hidden state's distribution by observations."""

from __future__ import annotations

import functools
from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow_contrib.timeseries.densities import mvn_tril_log_prob
from stillflow_contrib.timeseries.matrices import batch_times_matrix

_UNSTABLE = (
    "This may occur due to numerically unstable filtering when there is a large difference in "
    "posterior variances, or when inferences are near-deterministic. Considering tuning the "
    "'filtering_maximum_posterior_variance_ratio' or 'filtering_minimum_posterior_variance' "
    "parameters in your StateSpaceModelConfiguration, or tuning the transition matrix."
)


class KalmanFilter:
    """The steps of a filter; batches have their dimension in front.

    Args:
      dtype: the type in which it computes.
      simplified_posterior_covariance_computation: whether covariances are computed by a shorter
        formula, which rounding harms more.
    """

    def __init__(
        self, dtype: Any = tf.float32, simplified_posterior_covariance_computation: bool = False
    ) -> None:
        self._simplified = simplified_posterior_covariance_computation
        self.dtype = dtype

    def do_filter(
        self, estimated_state: Any, estimated_state_covariance: Any, predicted_observation: Any,
        predicted_observation_covariance: Any, observation: Any, observation_model: Any,
        observation_noise: Any,
    ) -> tuple[Any, Any, Any]:  # fmt: skip
        """Return the posterior after an observation.

        Args:
          estimated_state: [batch, d].
          estimated_state_covariance: [batch, d, d].
          predicted_observation: [batch, features].
          predicted_observation_covariance: [batch, features, features].
          observation: [batch, features].
          observation_model: [batch, features, d], the observation of a state.
          observation_noise: [features, features], or one for each of the batch.

        Returns:
          (state, covariance, logarithms of the observations' densities [batch]).
        """
        covariance = predicted_observation_covariance
        covariance = 0.5 * (covariance + tf.matrix_transpose(covariance))
        covariance = tf.verify_tensor_all_finite(
            covariance, f"Predicted observation covariance was not finite. {_UNSTABLE}"
        )
        smallest = tf.reduce_min(tf.matrix_diag_part(covariance))
        message = f"The predicted observation covariance has a negative diagonal entry. {_UNSTABLE}"
        non_negative = tf.Assert(smallest >= 0.0, [message, smallest])
        with tf.control_dependencies([non_negative]):
            cholesky = tf.cholesky(covariance)
        log_density = mvn_tril_log_prob(predicted_observation, cholesky, observation)
        state, state_covariance = self.posterior_from_prior_state(
            prior_state=estimated_state,
            prior_state_var=estimated_state_covariance,
            observation=observation,
            observation_model=observation_model,
            predicted_observations=(predicted_observation, predicted_observation_covariance),
            observation_noise=observation_noise,
        )
        return state, state_covariance, log_density

    def predict_state_mean(self, prior_state: Any, transition_matrices: Any) -> Tensor:
        """States [batch, d] moved on by [batch, d, d]."""
        return tf.squeeze(tf.matmul(transition_matrices, prior_state[..., None]), axis=[-1])

    def predict_state_var(
        self, prior_state_var: Any, transition_matrices: Any, transition_noise_sums: Any
    ) -> Tensor:
        """Covariances [batch, d, d] moved on, with noise [batch, d, d]."""
        moved = tf.matmul(
            tf.matmul(transition_matrices, prior_state_var), transition_matrices, adjoint_b=True
        )
        return moved + transition_noise_sums

    def posterior_from_prior_state(
        self, prior_state: Any, prior_state_var: Any, observation: Any, observation_model: Any,
        predicted_observations: tuple[Any, Any], observation_noise: Any,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Return the state [batch, d] and its covariance after an observation; see `do_filter`.

        Args:
          predicted_observations: (means [batch, features], covariances).
          prior_state, prior_state_var, ...: the prior, and as of `do_filter`.
        """
        mean, variance = predicted_observations
        residual = observation - mean
        gain = tf.matrix_solve(  # transposed
            matrix=variance,
            rhs=tf.matmul(observation_model, prior_state_var, adjoint_b=True),
            adjoint=True,
        )
        correction = tf.matmul(gain, tf.expand_dims(residual, -1), adjoint_a=True)
        state = prior_state + tf.squeeze(correction, axis=[-1])
        observed_gain = tf.matmul(gain, observation_model, adjoint_a=True)
        identity = tf.eye(tf.shape(observed_gain)[1], dtype=observed_gain.dtype)[None]
        factor = identity - observed_gain
        if self._simplified:
            return state, tf.matmul(factor, prior_state_var)
        noise: Any = tf.convert_to_tensor(observation_noise)
        left = tf.matmul(factor, prior_state_var)
        both = tf.matmul(factor, left, adjoint_b=True)

        def with_noise(one_for_all: bool) -> Tensor:
            if one_for_all:
                noise_gain = batch_times_matrix(gain, noise, adj_x=True)
            else:
                noise_gain = tf.matmul(gain, noise, adjoint_a=True)
            return both + tf.matmul(noise_gain, gain)

        rank = noise.get_shape().ndims
        if rank is not None:
            return state, with_noise(rank == 2)
        ways = (functools.partial(with_noise, one_for_all) for one_for_all in (True, False))
        return state, tf.cond(tf.equal(tf.rank(noise), 2), *ways)

    def observed_from_state(
        self, state_mean: Any, state_var: Any, observation_model: Any, observation_noise: Any
    ) -> tuple[Any, Any]:
        """Return the predicted observation: means [batch, features], covariances.

        See `do_filter`.
        """
        mean = tf.squeeze(
            tf.matmul(tf.expand_dims(state_mean, 1), observation_model, adjoint_b=True), axis=[1]
        )
        variance = tf.matmul(
            tf.matmul(observation_model, state_var), observation_model, adjoint_b=True
        )
        variance += observation_noise
        return mean, variance
